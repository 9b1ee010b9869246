import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Server } from '../../../src/index.ts';
import { type Fields, GrpcClient } from '../../frontends/grpc/support/client.ts';

/** One FP32 IN to one FP32 OUT, of any length. */
export const floatsConfig = (more = ''): string => `backend: "javascript"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
${more}`;

export const parameter = (key: string, value: string): string => `parameters { key: "${key}" value: { string_value: "${value}" } }\n`;

/** A model's files by their paths in its folder; `config.pbtxt` is that of `floatsConfig` where it is left out. A text is `1/model.ts`. */
export type Files = string | Readonly<Record<string, string>>;

export interface ServedModels extends AsyncDisposable {
  readonly server: Server;
  readonly grpc: GrpcClient;
  readonly path: string;
  /** `200 1,2`, or `400 words`. */
  readonly askHttp: (model: string, ...values: readonly number[]) => Promise<string>;
  /** `0 1,2`, or gRPC's code and the details. */
  readonly askGrpc: (model: string, ...values: readonly number[]) => Promise<string>;
}

const writeModels = async (models: Readonly<Record<string, Files>>): Promise<string> => {
  const path = await mkdtemp(join(tmpdir(), 'weir-javascript-'));
  for (const [name, given] of Object.entries(models)) {
    const files = typeof given === 'string' ? { '1/model.ts': given } : given;
    for (const [file, text] of Object.entries({ 'config.pbtxt': floatsConfig(), ...files })) {
      await mkdir(dirname(join(path, name, file)), { recursive: true });
      await writeFile(join(path, name, file), text);
    }
  }
  return path;
};

export const question = (model: string, ...values: readonly number[]): Fields => ({
  model_name: model,
  inputs: [{ name: 'IN', datatype: 'FP32', shape: [values.length] }],
  raw_input_contents: [Buffer.from(Float32Array.from(values).buffer)],
});

const floatsIn = (bytes: Buffer): string => Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index)).join();

/** The elements of the only output. */
export const outputOf = (answer: Fields): string =>
  Array.isArray(answer.raw_output_contents) ? answer.raw_output_contents.map((bytes) => floatsIn(Buffer.from(bytes))).join(';') : '';

/** A server of these models. */
export const serveModels = async (models: Readonly<Record<string, Files>>): Promise<ServedModels> => {
  const path = await writeModels(models);
  const local = { address: '127.0.0.1', port: 0 };
  const server = await Server.start({ modelRepository: path, http: local, grpc: local, log: { error: false, warning: false } });
  const grpc = new GrpcClient(server.ports.grpc ?? 0);
  return {
    server,
    grpc,
    path,
    askHttp: async (model, ...values) => {
      const body = JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [values.length], data: values }] });
      const response = await fetch(`http://127.0.0.1:${server.ports.http}/v2/models/${model}/infer`, { method: 'POST', body });
      const { error, outputs } = JSON.parse(await response.text());
      return `${response.status} ${error ?? outputs.map(({ data }: { readonly data: readonly number[] }) => data.join()).join(';')}`;
    },
    askGrpc: (model, ...values) =>
      grpc.infer(question(model, ...values)).then(
        (answer) => `0 ${outputOf(answer)}`,
        ({ code, details }) => `${code} ${details}`,
      ),
    [Symbol.asyncDispose]: async () => {
      grpc.close();
      await server.close();
      await rm(path, { recursive: true });
    },
  };
};
