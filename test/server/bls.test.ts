import { appendFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Server } from '../../src/index.ts';
import { environment, hasPython } from '../backends/python/python-models.ts';
import { type Fields, GrpcClient } from '../frontends/grpc/support/client.ts';
import { until } from '../support/until.ts';
import { type ModelRepository, modelRepository } from './support/model-repository.ts';

const root = join(import.meta.dirname, '..', '..');
const local = { address: '127.0.0.1', port: 0 };
const parameter = (key: string, value: string): string => `\nparameters { key: "${key}" value: { string_value: "${value}" } }`;

interface Variant {
  readonly language: string;
  readonly source: string;
  /** What every config gets beside what the example has. */
  readonly config: string;
  /** Code and text of what a model that was called refuses: as in Triton, Python models are not told the code. */
  readonly refusal: { readonly code: number; readonly http: number };
  readonly missing: string;
}

const variants: readonly Variant[] = [
  {
    language: 'TypeScript',
    source: join(root, 'scripts', 'examples', 'models'),
    config: '',
    refusal: { code: status.INVALID_ARGUMENT, http: 400 },
    missing: "Request for unknown model: 'greet_nobody' is not found",
  },
  {
    language: 'Python',
    source: join(root, 'examples', 'python-models'),
    config: parameter('EXECUTION_ENV_PATH', environment),
    refusal: { code: status.INTERNAL, http: 500 },
    missing: "Model 'greet_nobody' is not ready.",
  },
];

/** The example, and for two languages more a model that takes for ever and one that is not there. */
const exampleOf = async ({ source, config }: Variant): Promise<ModelRepository> => {
  const repository = await modelRepository({});
  const fileOf = (name: string): string => join(repository.path, name, 'config.pbtxt');
  for (const name of ['bls', 'greet_english', 'greet_german']) {
    await cp(join(source, name), join(repository.path, name), { recursive: true, dereference: true });
    await appendFile(fileOf(name), config);
  }
  await appendFile(fileOf('bls'), parameter('model_for_slow', 'greet_slow') + parameter('model_for_none', 'greet_nobody'));
  await mkdir(join(repository.path, 'greet_slow', '1'), { recursive: true });
  const tensor = (name: string): string => `{ name: "${name}" data_type: TYPE_STRING dims: [ 1 ] }`;
  const never = parameter('execute_delay_ms', '600000');
  await writeFile(fileOf('greet_slow'), `backend: "identity" input ${tensor('NAME')} output ${tensor('GREETING')} ${never}`);
  return repository;
};

describe.each(variants.filter(({ language }) => hasPython || language !== 'Python'))(
  'the example that chooses a model, in $language',
  (variant) => {
    let repository: ModelRepository;
    let server: Server;
    let grpc: GrpcClient;

    beforeAll(async () => {
      repository = await exampleOf(variant);
      server = await Server.start({ modelRepository: repository.path, http: local, grpc: local, log: { info: false } });
      grpc = new GrpcClient(server.ports.grpc ?? 0);
    });

    afterAll(async () => {
      grpc.close();
      await server.close();
      await repository[Symbol.asyncDispose]();
    });

    const askHttp = async (language: string, name: string) => {
      const inputs = Object.entries({ LANGUAGE: language, NAME: name }).map(([key, value]) => ({
        name: key,
        datatype: 'BYTES',
        shape: [1],
        data: [value],
      }));
      const url = `http://127.0.0.1:${server.ports.http}/v2/models/bls/infer`;
      const response = await fetch(url, { method: 'POST', body: JSON.stringify({ id: 'q', inputs }) });
      const { error, outputs, id } = JSON.parse(await response.text());
      return { status: response.status, said: error ?? outputs[0].data[0], id };
    };

    const question = (language: string, name: string): Fields => ({
      model_name: 'bls',
      inputs: Object.entries({ LANGUAGE: language, NAME: name }).map(([key, value]) => ({
        name: key,
        datatype: 'BYTES',
        shape: [1],
        contents: { bytes_contents: [Buffer.from(value)] },
      })),
    });
    const askGrpc = async (language: string, name: string): Promise<string> => {
      const { raw_output_contents: contents } = await grpc.infer(question(language, name));
      return String((contents as readonly Buffer[])[0]?.subarray(4));
    };

    const running = (model: string): number | undefined =>
      server
        .graphs()
        .find((graph) => graph.model === model)
        ?.stages.find(({ name }) => name === 'run')?.running;
    const answers = async (model: string) => {
      const [{ inference_stats: stats } = expect.fail(`no statistics of ${model}`)] = await server.model(model).statistics();
      return stats.success.count;
    };

    it('calls the model of the language', async () => {
      expect(await askHttp('en', 'Ann')).toEqual({ status: 200, said: 'Hello, Ann!', id: 'q' });
      expect(await askGrpc('de', 'Jürgen')).toBe('Hallo, Jürgen!');
      expect([await answers('greet_english'), await answers('greet_german')]).toEqual([1, 1]);
      const many = await Promise.all(Array.from({ length: 20 }, (_, n) => askGrpc(n % 2 === 0 ? 'en' : 'de', `${n}`)));
      expect(many).toEqual(many.map((_, n) => `${n % 2 === 0 ? 'Hello' : 'Hallo'}, ${n}!`));
    });

    it('refuses a language that it does not know', async () => {
      const said = "expected LANGUAGE to be one of en, de, slow, none; got 'fr'";
      expect(await askHttp('fr', 'Ann')).toEqual({ status: 400, said, id: undefined });
      await expect(askGrpc('fr', 'Ann')).rejects.toMatchObject({ code: status.INVALID_ARGUMENT, details: said });
    });

    it('names the model that refuses, or is not there', async () => {
      const said = "no greeting from 'greet_english': expected NAME to be somebody";
      expect(await askHttp('en', '')).toEqual({ status: variant.refusal.http, said, id: undefined });
      await expect(askGrpc('en', '')).rejects.toMatchObject({ code: variant.refusal.code, details: said });
      const expected = new RegExp(`^no greeting from 'greet_nobody': .*${RegExp.escape(variant.missing)}$`);
      await expect(askGrpc('none', 'Ann')).rejects.toMatchObject({ details: expect.stringMatching(expected) });
      expect(await askGrpc('en', 'Ann')).toBe('Hello, Ann!');
    });

    it('cancels its call when the caller goes, and goes on', async () => {
      const { cancel, answer } = grpc.cancellable(question('slow', 'Ann'));
      const cancelled = expect(answer).rejects.toMatchObject({ code: status.CANCELLED });
      await until(() => running('greet_slow') === 1);
      cancel();
      await cancelled;
      await until(() => running('greet_slow') === 0 && running('bls') === 0);
      expect(await askGrpc('en', 'Ann')).toBe('Hello, Ann!');
    });
  },
);
