import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ServiceError, status } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { Server } from '../../../src/index.ts';
import { type Fields, GrpcClient, type StreamClient } from '../../frontends/grpc/support/client.ts';
import { type Client, connectClient } from '../../frontends/websocket/support/client.ts';
import type { Files } from '../../repository/support/folders.ts';
import { until } from '../../support/until.ts';

type Value = number | string | boolean;

interface InputDocument {
  readonly name: string;
  readonly datatype: 'INT32' | 'UINT32';
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** A request, as its JSON has it. */
export interface Question {
  readonly model: string;
  readonly id: string;
  readonly inputs: readonly InputDocument[];
  readonly parameters?: Readonly<Record<string, Value>>;
}

/** What came back: one number for each output, or what went wrong. */
export interface Said {
  readonly outputs?: Readonly<Record<string, number>>;
  readonly code?: string;
  readonly error?: string;
}

export interface Asked {
  /** Never rejects; of a cancelled one it says anything. */
  readonly said: Promise<Said>;
  cancel(): void;
}

/** One protocol. */
export interface Way {
  readonly name: string;
  ask(question: Question): Asked;
}

const httpCodes: Readonly<Record<number, string>> = { 400: 'INVALID_ARGUMENT', 404: 'NOT_FOUND', 500: 'INTERNAL', 503: 'UNAVAILABLE' };

const parameterOf = (value: Value): Fields => {
  if (typeof value === 'boolean') return { bool_param: value };
  return typeof value === 'number' ? { int64_param: value } : { string_param: value };
};

export const grpcRequest = ({ model, id, inputs, parameters = {} }: Question): Fields => ({
  model_name: model,
  id,
  parameters: Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, parameterOf(value)])),
  inputs: inputs.map(({ data, datatype, ...input }) => ({
    ...input,
    datatype,
    contents: datatype === 'INT32' ? { int_contents: data } : { uint_contents: data },
  })),
});

const numbersOf = (contents: unknown): readonly number[] =>
  (contents as readonly Buffer[]).map((bytes) => (bytes.length === 0 ? Number.NaN : bytes.readInt32LE()));

const saidByGrpc = ({ outputs, raw_output_contents: contents }: Fields): Said => {
  const names = (outputs as readonly { readonly name: string }[]).map(({ name }) => name);
  const numbers = numbersOf(contents);
  return { outputs: Object.fromEntries(names.map((name, index) => [name, numbers[index] ?? Number.NaN])) };
};

/** Answers of a stream to one request, as `3`, and its errors as they are; `end` for an empty last one. */
export const saidByStream = async (stream: StreamClient, id: string): Promise<readonly string[]> => {
  const isLast = (message: Fields): boolean => {
    const { id: of, parameters } = message.infer_response as { id: string; parameters: Readonly<Record<string, { bool_param: boolean }>> };
    return of === id && parameters.triton_final_response?.bool_param === true;
  };
  for (let count = stream.messages.length; !stream.messages.some(isLast); count++) await stream.received(count + 1);
  return stream.messages.flatMap(({ error_message: error, infer_response: response }) => {
    const { id: of, raw_output_contents: contents } = response as { id: string; raw_output_contents: unknown };
    if (of !== id) return [];
    if (error !== '') return [String(error)];
    const numbers = numbersOf(contents);
    return [numbers.length === 0 ? 'end' : numbers.join()];
  });
};

/** A server of its own repository, asked by clients of all three protocols. */
export class EnsembleServer {
  readonly server: Server;
  readonly grpc: GrpcClient;
  readonly socket: Client;
  readonly #path: string;

  private constructor(server: Server, grpc: GrpcClient, socket: Client, path: string) {
    this.server = server;
    this.grpc = grpc;
    this.socket = socket;
    this.#path = path;
  }

  static async start(files: Files): Promise<EnsembleServer> {
    const path = await mkdtemp(join(tmpdir(), 'weir-ensembles-'));
    for (const [file, content] of Object.entries(files)) {
      const target = join(path, file);
      await mkdir(file.endsWith('/') ? target : dirname(target), { recursive: true });
      if (!file.endsWith('/')) await writeFile(target, content);
    }
    const local = { address: '127.0.0.1', port: 0 };
    const server = await Server.start({
      modelRepository: path,
      http: local,
      grpc: local,
      models: { exitOnError: false },
      log: { info: false, warning: false, error: false },
    });
    const socket = await connectClient(`ws://127.0.0.1:${server.ports.http}/v2/stream`);
    return new EnsembleServer(server, new GrpcClient(server.ports.grpc ?? 0), socket, path);
  }

  async close(): Promise<void> {
    this.grpc.close();
    await this.socket.close();
    await this.server.close();
    await rm(this.#path, { recursive: true });
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.ports.http}`;
  }

  /** A stream that is cancelled with the test. */
  openStream(): StreamClient {
    const stream = this.grpc.stream();
    onTestFinished(() => stream.call.cancel());
    return stream;
  }

  readonly http: Way = {
    name: 'HTTP',
    ask: ({ model, ...body }) => {
      const stop = new AbortController();
      const ask = async (): Promise<Said> => {
        const options = { method: 'POST', body: JSON.stringify(body), signal: stop.signal };
        const response = await fetch(`${this.url}/v2/models/${model}/infer`, options);
        const { outputs, error } = JSON.parse(await response.text());
        if (response.status !== 200) return { code: httpCodes[response.status] ?? String(response.status), error };
        return { outputs: Object.fromEntries(outputs.map(({ name, data }: { name: string; data: number[] }) => [name, data[0]])) };
      };
      return { said: ask().catch((error) => ({ code: 'CANCELLED', error: String(error) })), cancel: () => stop.abort() };
    },
  };

  readonly unary: Way = {
    name: 'gRPC',
    ask: (question) => {
      const { answer, cancel } = this.grpc.cancellable(grpcRequest(question));
      return { said: answer.then(saidByGrpc, ({ code, details }: ServiceError) => ({ code: status[code], error: details })), cancel };
    },
  };

  /** Its questions must have ids of their own. */
  readonly webSocket: Way = {
    name: 'WebSocket',
    ask: ({ model, ...body }) => {
      let onCancel = (): void => {};
      const said = connectClient(`ws://127.0.0.1:${this.server.ports.http}/v2/models/${model}/stream`).then(
        async (client): Promise<Said> => {
          onCancel = () => client.send({ cancel: body.id });
          client.send(body);
          const { json } = await client.receive();
          await client.close();
          if (json.error !== undefined) return { code: json.code ?? '', error: json.error };
          return { outputs: Object.fromEntries(json.outputs.map(({ name, data }) => [name, data[0] ?? Number.NaN])) };
        },
      );
      return { said, cancel: () => onCancel() };
    },
  };

  get ways(): readonly Way[] {
    return [this.http, this.unary, this.webSocket];
  }

  stages(model: string) {
    return this.server.graphs().find((graph) => graph.model === model)?.stages ?? [];
  }

  /** Requests in each stage of a model. */
  inside(model: string): readonly number[] {
    return this.stages(model).map(({ queued, running }) => queued + running);
  }

  /** Nothing is anywhere, and everything that went in came out. */
  async settled(): Promise<void> {
    await until(() =>
      this.server.graphs().every(({ stages, queues = [], instances }) => {
        const isEven = stages.every(({ in: entered, out, failed, queued, running }) => queued + running === 0 && entered === out + failed);
        return isEven && instances.busy === 0 && queues.every(({ queued }) => queued === 0);
      }),
    );
  }
}
