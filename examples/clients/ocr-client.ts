import { WebSocket } from 'ws';

/** A line of text and how sure the model is of it. */
export interface Line {
  readonly text: string;
  readonly score: number;
}

interface AnswerDocument {
  readonly error?: string;
  readonly outputs?: readonly { readonly name: string; readonly data: readonly unknown[] }[];
  readonly parameters?: { readonly triton_final_response?: boolean };
}

/** The one element of IMAGE as it goes over the wire: its length, its bytes. */
const binaryImage = (image: Uint8Array): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(image.length);
  return Buffer.concat([length, image]);
};

const askFor = (size: number) => ({
  inputs: [{ name: 'IMAGE', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: size } }],
  outputs: [{ name: 'TEXT' }, { name: 'SCORE' }],
});

const linesOf = ({ error, outputs = [] }: AnswerDocument): readonly Line[] => {
  if (error !== undefined) throw new Error(error);
  const data = (wanted: string): readonly unknown[] => outputs.find(({ name }) => name === wanted)?.data ?? [];
  const scores = data('SCORE');
  return data('TEXT').map((text, index) => ({ text: String(text), score: Number(scores[index]) }));
};

/** All lines of an image at once, from `ocr` over HTTP. */
export const readPage = async (url: string, image: Uint8Array): Promise<readonly Line[]> => {
  const tensor = binaryImage(image);
  const head = Buffer.from(JSON.stringify(askFor(tensor.length)));
  const response = await fetch(`${url}/v2/models/ocr/infer`, {
    method: 'POST',
    headers: { 'Inference-Header-Content-Length': String(head.length) },
    body: Buffer.concat([head, tensor]),
  });
  return linesOf(JSON.parse(await response.text()));
};

/** Each line of an image as soon as it is read, from `ocr_stream` over a WebSocket. */
export async function* readLines(url: string, image: Uint8Array): AsyncGenerator<Line> {
  const socket = new WebSocket(`${url}/v2/models/ocr_stream/stream`, 'weir.v2.binary', { perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const received: (AnswerDocument | Error)[] = [];
  let onReceived = (): void => {};
  const keep = (answer: AnswerDocument | Error): void => {
    received.push(answer);
    onReceived();
  };
  socket.on('message', (data: Buffer) => keep(JSON.parse(data.toString('utf8', 4, 4 + data.readUInt32LE(0)))));
  socket.on('close', (code) => keep(new Error(`the server closed the connection (${code})`)));

  const tensor = binaryImage(image);
  const head = Buffer.from(JSON.stringify(askFor(tensor.length)));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  socket.send(Buffer.concat([length, head, tensor]));
  try {
    for (;;) {
      const answer = received.shift();
      if (answer instanceof Error) throw answer;
      if (answer === undefined) {
        await new Promise<void>((resolve) => {
          onReceived = resolve;
        });
        continue;
      }
      yield* linesOf(answer);
      if (answer.parameters?.triton_final_response === true) return;
    }
  } finally {
    socket.close();
  }
}
