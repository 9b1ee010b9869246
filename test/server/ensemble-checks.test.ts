import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensembleModel, identityModel, type ModelText, type StepText } from '../repository/support/ensembles.ts';
import type { Files } from '../repository/support/folders.ts';
import { repeatConfig } from './support/decoupled-models.ts';
import { EnsembleServer } from './support/ensemble-server.ts';

const one = 'TYPE_FP32 dims: 4';
const first: StepText = { model: 'a', in: { X: 'IN' }, out: { Y: 't' } };
const second: StepText = { model: 'b', in: { X: 't' }, out: { Y: 'OUT' } };
const chain = [first, second];
const repeatIn = { IN: 'TYPE_INT32 dims: -1', DELAY: 'TYPE_UINT32 dims: -1', WAIT: 'TYPE_UINT32 dims: 1' };
const repeat = (to: string): StepText => ({ model: 'repeat', in: { IN: 'IN', DELAY: 'DELAY', WAIT: 'WAIT' }, out: { OUT: to } });
const int = 'TYPE_INT32 dims: 1';

interface Wrong {
  readonly steps: readonly StepText[];
  readonly text?: ModelText;
  /** What the reason begins with, behind the code. */
  readonly reason: string;
}

/** By the name of the ensemble; `E` in a reason stands for it. */
const wrong: Readonly<Record<string, Wrong>> = {
  no_step: { steps: [], reason: "must specify 'step' for ensemble 'E'" },
  no_model: { steps: [{ ...first, model: '' }, second], reason: "must specify 'model_name' in step 0 of ensemble 'E'" },
  no_inputs: { steps: [first, { ...second, in: {} }], reason: "must specify 'input_map' in step 1 of ensemble 'E'" },
  no_outputs: { steps: [{ ...first, out: {} }, second], reason: "must specify 'output_map' in step 0 of ensemble 'E'" },
  two_writers: {
    steps: [first, { ...first, model: 'b' }, second],
    reason: "ensemble tensor 't' can appear in an output map only once for ensemble 'E' step 1",
  },
  input_unused: { steps: chain, text: { in: { IN: one, MORE: one } }, reason: "ensemble input 'MORE' for ensemble E' is not used" },
  output_unused: { steps: chain, text: { out: { OUT: one, MORE: one } }, reason: "ensemble output 'MORE' for ensemble E' is not used" },
  unconnected: {
    steps: [first, { ...second, in: { X: 'u' } }],
    reason: "output 'OUT' for ensemble 'E' is not written: at least one of its depending tensors, 'u', is not connected",
  },
  tensor_unused: {
    steps: [...chain, { model: 'a', in: { X: 't' }, out: { Y: 'u' } }],
    reason: "ensemble tensor 'u' is unused in ensemble 'E'",
  },
  with_backend: {
    steps: chain,
    text: { rest: 'backend: "identity"' },
    reason: "Ensemble model 'E' must have platform type 'ensemble' and empty backend type",
  },
  with_instances: {
    steps: chain,
    text: { rest: 'instance_group { count: 1 }' },
    reason: "instance group should not be specified for ensemble 'E'",
  },
  with_optimization: {
    steps: chain,
    text: { rest: 'optimization { }' },
    reason: "optimization should not be specified for ensemble 'E'",
  },
  with_warm_up: {
    steps: chain,
    text: { rest: 'model_warmup { name: "w" batch_size: 1 }' },
    reason: "model_warmup can not be specified for ensemble 'E'",
  },
  types: {
    steps: [{ ...first, model: 'ints' }, second],
    reason:
      'in ensemble E, ensemble tensor IN: inconsistent data type: TYPE_FP32 is inferred from model E while TYPE_INT32 is inferred from model ints',
  },
  shapes: {
    steps: [first, { ...second, model: 'wide' }],
    reason: 'in ensemble E, ensemble tensor t: inconsistent shape: [4] is inferred from model a while [5] is inferred from model wide',
  },
  input_name: {
    steps: [first, { ...second, in: { X: 't', Q: 't' } }],
    reason: 'in ensemble E, ensemble tensor t is mapping to non-existing input Q in model b',
  },
  output_name: {
    steps: [{ ...first, out: { Q: 't' } }, second],
    reason: 'in ensemble E, ensemble tensor t is mapped from non-existing output Q in model a',
  },
  input_unmapped: {
    steps: [{ ...first, model: 'two' }, second],
    reason: 'in ensemble E, input Z in model two is not mapped to any ensemble tensors',
  },
  rows: {
    steps: [{ ...first, model: 'four' }, second],
    text: { rest: 'max_batch_size: 8' },
    reason: 'ensemble E allows maximum batch size 8, but it contains model four which only allows maximum batch size to be 4',
  },
  mixed_step: {
    steps: [repeat('n'), { model: 'pair', in: { X: 'n', Z: 'WAIT' }, out: { Y: 'OUT' } }],
    text: { in: repeatIn, out: { OUT: int } },
    reason: "in ensemble E, step of model 'pair' receives inputs originated from different decoupled models",
  },
  mixed_branches: {
    steps: [repeat('n'), repeat('m'), { model: 'ints_pair', in: { X: 'n', Z: 'm' }, out: { Y: 'OUT' } }],
    text: { in: repeatIn, out: { OUT: int } },
    reason: "in ensemble E, step of model 'ints_pair' receives inputs originated from different decoupled models",
  },
  mixed_outputs: {
    steps: [repeat('OUT')],
    text: { in: repeatIn, out: { OUT: int, IN: 'TYPE_INT32 dims: -1' } },
    reason: "in ensemble E, step of model 'E' receives inputs originated from different decoupled models",
  },
  itself: {
    steps: [{ model: 'itself', in: { IN: 'IN' }, out: { OUT: 'OUT' } }],
    reason: 'circular dependency between ensembles: E -> ... -> E -> E',
  },
  ring_a: {
    steps: [{ model: 'ring_b', in: { IN: 'IN' }, out: { OUT: 'OUT' } }],
    reason: 'circular dependency between ensembles: E -> ... -> ring_b -> E',
  },
  ring_b: {
    steps: [{ model: 'ring_a', in: { IN: 'IN' }, out: { OUT: 'OUT' } }],
    reason: 'circular dependency between ensembles: E -> ... -> ring_a -> E',
  },
  nobody: {
    steps: [
      { ...first, model: 'y_missing' },
      { ...second, model: 'x_missing' },
    ],
    reason: 'ensemble E contains models that are not available or ambiguous: x_missing, y_missing',
  },
  version: { steps: [{ ...first, version: 7 }, second], reason: "ensemble 'E' depends on 'a' whose required version 7 is not loaded." },
  version_unset: {
    steps: [{ ...first, version: 0 }, second],
    reason: "ensemble 'E' depends on 'a' whose required version 0 is not loaded.",
  },
  broken: {
    steps: [{ ...first, model: 'bad' }, second],
    reason:
      "ensemble 'E' depends on 'bad' which has no loaded version. Model 'bad' loading failed with error: version 1 is at UNAVAILABLE state: ",
  },
  invalid: {
    steps: [{ model: 'no_step', in: { IN: 'IN' }, out: { OUT: 'OUT' } }],
    reason:
      "ensemble 'E' depends on 'no_step' which is not valid. Model 'no_step' failed with error: must specify 'step' for ensemble 'no_step'",
  },
};

const pairOf = (z: string) => ({ in: { X: int, Z: z }, out: { Y: int, V: z } });

const files: Files = {
  ...identityModel('a'),
  ...identityModel('b'),
  ...identityModel('bad', { rest: 'max_batch_size: -1' }),
  ...identityModel('four', { rest: 'max_batch_size: 4' }),
  ...identityModel('wide', { in: { X: 'TYPE_FP32 dims: 5' }, out: { Y: 'TYPE_FP32 dims: 5' } }),
  ...identityModel('ints', { in: { X: 'TYPE_INT32 dims: 4' }, out: { Y: 'TYPE_INT32 dims: 4' } }),
  ...identityModel('two', { in: { X: one, Z: one }, out: { Y: one, V: one } }),
  ...identityModel('pair', pairOf('TYPE_UINT32 dims: 1')),
  ...identityModel('ints_pair', pairOf(int)),
  'repeat/config.pbtxt': repeatConfig(),
  'repeat/1/': '',
  ...Object.fromEntries(Object.entries(wrong).flatMap(([name, { steps, text }]) => Object.entries(ensembleModel(name, steps, text)))),
  ...ensembleModel('good', chain),
};

let ensembles: EnsembleServer;

beforeAll(async () => {
  ensembles = await EnsembleServer.start(files);
});

afterAll(() => ensembles.close());

interface IndexRow {
  readonly name: string;
  readonly reason?: string;
}

/** By name; of both protocols that have an index. */
const reasons = async (): Promise<readonly ReadonlyMap<string, string>[]> => {
  const response = await fetch(`${ensembles.url}/v2/repository/index`, { method: 'POST', body: '{}' });
  const overHttp: readonly IndexRow[] = JSON.parse(await response.text());
  const { models } = await ensembles.grpc.call('RepositoryIndex', {});
  const overGrpc = models as readonly IndexRow[];
  return [overHttp, overGrpc].map((rows) => new Map(rows.map(({ name, reason = '' }) => [name, reason])));
};

describe('an ensemble that is wrong', () => {
  it('is told of in the index, whatever is wrong with it', async () => {
    for (const index of await reasons()) {
      const told = Object.keys(wrong).map((name) => [name, (index.get(name) ?? '').replace(/^Invalid argument: /, '')] as const);
      const expected = Object.entries(wrong).map(([name, { reason }]) => [name, reason.replaceAll(/\bE\b/g, name)] as const);
      expect(told.map(([name, reason], at) => [name, reason.slice(0, expected[at]?.[1].length)])).toEqual(expected);
    }
  });

  it.each(Object.keys(wrong))('answers nobody: %s', async (model) => {
    const text = `Request for unknown model: '${model}' has no available versions`;
    const question = { model, id: 'q', inputs: [] };
    const said = await Promise.all(ensembles.ways.slice(0, 2).map((way) => way.ask(question).said));
    expect(said).toEqual(Array(2).fill({ code: 'NOT_FOUND', error: text }));
    ensembles.socket.send({ model_name: model, id: 'w', inputs: [] });
    expect((await ensembles.socket.receive()).json).toMatchObject({ id: 'w', code: 'NOT_FOUND', error: text });
    expect((await fetch(`${ensembles.url}/v2/models/${model}/graph`)).status).toBe(404);
    await expect(ensembles.grpc.call('ModelMetadata', { name: model })).rejects.toMatchObject({ code: status.NOT_FOUND });
  });
});

it('others are served beside them', async () => {
  const response = await fetch(`${ensembles.url}/v2/models/good/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [4], data: [1, 2, 3, 4] }] }),
  });
  expect(JSON.parse(await response.text()).outputs[0].data).toEqual([1, 2, 3, 4]);
});
