import { serveHttp } from '../../../src/frontends/http/serve.ts';
import { serveWebSocket } from '../../../src/frontends/websocket/serve.ts';
import type { DataPlane } from '../../../src/streams/inference/data-plane.ts';
import type { Listening } from '../../../src/streams/inference/front-end.ts';
import { isDatatype } from '../../../src/streams/tensors/datatype.ts';
import {
  type Begun,
  type FrontEndClient,
  frontEndContract,
  type Outcome,
  type Question,
  type QuestionTensor,
} from '../../contracts/front-end-contract.ts';
import { makeLog } from '../../support/model.ts';
import { httpConfig } from '../http/support/serving.ts';
import { type Client, connectClient, type Received } from './support/client.ts';

/** As a server has it: on the port of HTTP. */
const open = async (dataPlane: DataPlane): Promise<Listening> => {
  const webSocket = serveWebSocket(dataPlane, { log: makeLog() });
  const http = await serveHttp(dataPlane, httpConfig({ onUpgrade: webSocket.onUpgrade }));
  const close = async (deadline: AbortSignal): Promise<void> => {
    await Promise.all([webSocket.close(deadline), http.close(deadline)]);
  };
  return { ...http, close };
};

const connectTo = ({ port }: Listening): Promise<Client> => connectClient(`ws://127.0.0.1:${port}/v2/stream`, ['weir.v2.binary']);

const ask = (client: Client, id: string, { model, inputs }: Question): void => {
  const described = inputs.map(({ bytes, ...input }) => ({ ...input, parameters: { binary_data_size: bytes.length } }));
  client.send({ model_name: model, id, inputs: described, parameters: { binary_data_output: true } }, ...inputs.map(({ bytes }) => bytes));
};

const outcomeOf = ({ json: { error = '', code = 'OK', outputs = [] }, tail }: Received): Outcome => {
  let at = 0;
  const tensors = outputs.map(({ name, datatype, shape, parameters }): QuestionTensor => {
    const bytes = tail.subarray(at, at + parameters.binary_data_size);
    at += bytes.length;
    if (!isDatatype(datatype)) throw new Error(datatype);
    return { name, datatype, shape, bytes };
  });
  return { status: code, message: error, outputs: tensors };
};

/** Many requests on one connection; answers find theirs by their ids. */
class WebSocketClient implements FrontEndClient {
  readonly #client: Client;
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  #asked = 0;

  constructor(client: Client) {
    this.#client = client;
    void this.#read();
  }

  begin(question: Question): Begun {
    const id = String(this.#asked++);
    const outcome = new Promise<Outcome>((resolve) => this.#waiting.set(id, resolve));
    ask(this.#client, id, question);
    return { outcome, cancel: () => this.#client.send({ cancel: id }) };
  }

  close(): void {
    this.#client.webSocket.terminate();
  }

  async #read(): Promise<void> {
    for (;;) {
      const message = await this.#client.receive();
      this.#waiting.get(message.json.id)?.(outcomeOf(message));
    }
  }
}

frontEndContract({
  name: 'WebSocket',
  statusOf: (code) => code,
  open,
  connect: async (listening) => new WebSocketClient(await connectTo(listening)),
  sendGarbage: async (listening) => {
    const client = await connectTo(listening);
    for (const garbage of ['', 'garbage', '\u0009\0\0\0{"inputs"', '\u0002\0\0\0[]']) {
      client.webSocket.send(Buffer.from(garbage));
      await client.receive();
    }
    client.webSocket.send('text');
    await client.closed;
  },
  readNothing: async (listening, question, count) => {
    const client = await connectTo(listening);
    client.webSocket.pause();
    for (let index = 0; index < count; index++) ask(client, String(index), question);
    return { leave: () => client.webSocket.terminate() };
  },
});
