import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { identityBackend } from '../../../src/backends/identity/identity-backend.ts';
import { repeatBackend } from '../../../src/backends/repeat/repeat-backend.ts';
import { LocalCache } from '../../../src/caches/local/local-cache.ts';
import { makeLog } from '../../support/model.ts';
import { chain, ensembleModel, identityModel, type ModelText, type StepText } from '../support/ensembles.ts';
import type { Files } from '../support/folders.ts';
import { folderOf } from '../support/folders.ts';
import { openRepository } from '../support/open-repository.ts';
import { ask, failureOf, fp32, requestTo } from '../support/requests.ts';

const backends = new Map([
  ['identity', identityBackend()],
  ['repeat', repeatBackend()],
]);

const open = async (files: Files) => {
  const opened = await openRepository([await folderOf(files)], { backends });
  const reasons = Object.fromEntries(opened.report.models.map(({ name, state, reason }) => [name, reason ?? state]));
  return { ...opened, reasons };
};

const ab = { ...identityModel('a'), ...identityModel('b') };

/** Why an ensemble `e` does not load. */
const reasonOf = async (steps: readonly StepText[], text: ModelText = {}, others: Files = ab): Promise<string> =>
  (await open({ ...others, ...ensembleModel('e', steps, text) })).reasons.e ?? 'nothing';

const [first, second] = chain;
if (first === undefined || second === undefined) throw new Error('the chain has two steps');

describe('an ensemble whose config is wrong by itself', () => {
  it.each<[string, readonly StepText[], ModelText]>([
    ["must specify 'step' for ensemble 'e'", [], {}],
    ["must specify 'model_name' in step 1 of ensemble 'e'", [first, { ...second, model: '' }], {}],
    ["must specify 'input_map' in step 0 of ensemble 'e'", [{ ...first, in: {} }, second], {}],
    ["must specify 'output_map' in step 1 of ensemble 'e'", [first, { ...second, out: {} }], {}],
    [
      "ensemble tensor 't' can appear in an output map only once for ensemble 'e' step 1",
      [first, { model: 'b', in: { X: 'IN' }, out: { Y: 't' } }, { model: 'b', in: { X: 't' }, out: { Y: 'OUT' } }],
      {},
    ],
    ["ensemble input 'MORE' for ensemble e' is not used", chain, { in: { IN: 'TYPE_FP32 dims: 4', MORE: 'TYPE_FP32 dims: 4' } }],
    ["ensemble output 'MORE' for ensemble e' is not used", chain, { out: { OUT: 'TYPE_FP32 dims: 4', MORE: 'TYPE_FP32 dims: 4' } }],
    [
      "output 'OUT' for ensemble 'e' is not written: at least one of its depending tensors, 'u', is not connected",
      [first, { ...second, in: { X: 'u' } }],
      {},
    ],
    ["ensemble tensor 'u' is unused in ensemble 'e'", [...chain, { model: 'a', in: { X: 't' }, out: { Y: 'u' } }], {}],
    [
      "output 'OUT' for ensemble 'e' is not written: at least one of its depending tensors, 't', is not connected",
      [
        { model: 'a', in: { X: 'IN', Z: 'u' }, out: { Y: 't' } },
        { model: 'a', in: { X: 't' }, out: { Y: 'u' } },
        { model: 'b', in: { X: 't' }, out: { Y: 'OUT' } },
      ],
      {},
    ],
    ["instance group should not be specified for ensemble 'e'", chain, { rest: 'instance_group { count: 1 }' }],
    ["optimization should not be specified for ensemble 'e'", chain, { rest: 'optimization { }' }],
    ["model_warmup can not be specified for ensemble 'e'", chain, { rest: 'model_warmup { name: "w" batch_size: 1 }' }],
    ['scheduling_choice: multiple values', chain, { rest: 'dynamic_batching { }' }],
    ["batch_input can not be specified for ensemble 'e'", chain, { rest: 'batch_input { }' }],
    ["Ensemble model 'e' must have platform type 'ensemble' and empty backend type", chain, { rest: 'backend: "identity"' }],
  ])('is refused: %s', async (text, steps, config) => {
    const reason = await reasonOf(steps, config);
    expect(reason).toContain(text);
    expect(reason).toMatch(/^Invalid argument: .*e\/config\.pbtxt:\d+:\d+, field /);
  });

  it('names both writers of a tensor', async () => {
    expect(await reasonOf([first, { ...second, in: { X: 'IN' }, out: { Y: 't' } }])).toMatch(
      /config\.pbtxt:7:\d+, field ensemble_scheduling\.step\[1\]\.output_map\["Y"\], wanted one writer, got step 0, model 'a', and step 1, model 'b'/,
    );
    expect(await reasonOf([first, { ...second, out: { Y: 'IN' } }])).toContain("got an input of ensemble 'e', and step 1, model 'b'");
  });

  it('tells of a key that stands twice in a map, of which only the last would count', async () => {
    const twice = ensembleModel('e', chain)['e/config.pbtxt']?.toString() ?? '';
    const config = twice.replace(
      'input_map { key: "X" value: "t" }',
      'input_map { key: "X" value: "IN" } input_map { key: "X" value: "t" }',
    );
    const { reasons } = await open({ ...ab, 'e/config.pbtxt': config, 'e/1/': '' });
    expect(reasons.e).toContain("input 'X' in model 'b' is mapped to multiple ensemble tensors for ensemble 'e' step 1");
  });

  it('tells all that is wrong together', async () => {
    const reason = await reasonOf(
      [
        { ...first, model: '' },
        { ...second, in: {} },
      ],
      { rest: 'instance_group { }' },
    );
    for (const field of ['instance_group', 'step[0].model_name', 'step[1].input_map'])
      expect(reason).toContain(`field ${field.startsWith('step') ? 'ensemble_scheduling.' : ''}${field}`);
  });
});

const wide = identityModel('wide', { in: { X: 'TYPE_FP32 dims: 5' }, out: { Y: 'TYPE_FP32 dims: 5' } });
const whole = identityModel('whole', { in: { X: 'TYPE_INT32 dims: 4' }, out: { Y: 'TYPE_INT32 dims: 4' } });
const two = identityModel('two', {
  in: { X: 'TYPE_FP32 dims: 4', Z: 'TYPE_FP32 dims: 4' },
  out: { Y: 'TYPE_FP32 dims: 4', V: 'TYPE_FP32 dims: 4' },
});
const repeat: Files = {
  'repeat/config.pbtxt': `backend: "repeat" model_transaction_policy { decoupled: true }
    input { name: "IN" data_type: TYPE_INT32 dims: -1 } input { name: "DELAY" data_type: TYPE_UINT32 dims: -1 } input { name: "WAIT" data_type: TYPE_UINT32 dims: 1 }
    output { name: "OUT" data_type: TYPE_INT32 dims: 1 } output { name: "IDX" data_type: TYPE_UINT32 dims: 1 }`,
  'repeat/1/': '',
};
const repeatIn = { IN: 'TYPE_INT32 dims: -1', DELAY: 'TYPE_UINT32 dims: -1', WAIT: 'TYPE_UINT32 dims: 1' };
const repeatStep: StepText = { model: 'repeat', in: { IN: 'IN', DELAY: 'DELAY', WAIT: 'WAIT' }, out: { OUT: 'n' } };
const int = identityModel('int', { in: { X: 'TYPE_INT32 dims: 1' }, out: { Y: 'TYPE_INT32 dims: 1' } });
const intPair = identityModel('pair', {
  in: { X: 'TYPE_INT32 dims: 1', Z: 'TYPE_UINT32 dims: 1' },
  out: { Y: 'TYPE_INT32 dims: 1', V: 'TYPE_UINT32 dims: 1' },
});

describe('an ensemble that does not fit its models', () => {
  it.each<[string, readonly StepText[], ModelText, Files]>([
    [
      'in ensemble e, ensemble tensor t: inconsistent data type: TYPE_FP32 is inferred from model a while TYPE_INT32 is inferred from model whole',
      [first, { ...second, model: 'whole' }],
      {},
      { ...ab, ...whole },
    ],
    [
      'in ensemble e, ensemble tensor IN: inconsistent shape: [4] is inferred from model e while [5] is inferred from model wide',
      [{ ...first, model: 'wide' }, second],
      {},
      { ...ab, ...wide },
    ],
    [
      'in ensemble e, ensemble tensor t is mapping to non-existing input Q in model b',
      [first, { ...second, in: { X: 't', Q: 't' } }],
      {},
      ab,
    ],
    ['in ensemble e, ensemble tensor t is mapped from non-existing output Q in model a', [{ ...first, out: { Q: 't' } }, second], {}, ab],
    [
      'in ensemble e, input Z in model two is not mapped to any ensemble tensors',
      [{ ...first, model: 'two' }, second],
      {},
      { ...ab, ...two },
    ],
    [
      'ensemble e allows maximum batch size 8, but it contains model a which only allows maximum batch size to be 4',
      chain,
      { rest: 'max_batch_size: 8' },
      { ...identityModel('a', { rest: 'max_batch_size: 4' }), ...identityModel('b', { rest: 'max_batch_size: 8' }) },
    ],
    [
      "in ensemble e, step of model 'pair' receives inputs originated from different decoupled models",
      [repeatStep, { model: 'pair', in: { X: 'n', Z: 'WAIT' }, out: { Y: 'OUT' } }],
      { in: repeatIn, out: { OUT: 'TYPE_INT32 dims: 1' } },
      { ...repeat, ...intPair },
    ],
    [
      "in ensemble e, step of model 'e' receives inputs originated from different decoupled models",
      [repeatStep, { model: 'pair', in: { X: 'WHOLE', Z: 'WAIT' }, out: { Y: 'OUT' } }],
      { in: { ...repeatIn, WHOLE: 'TYPE_INT32 dims: 1' }, out: { OUT: 'TYPE_INT32 dims: 1', n: 'TYPE_INT32 dims: 1' } },
      { ...repeat, ...intPair },
    ],
  ])('is refused: %s', async (text, steps, config, others) => {
    const reason = await reasonOf(steps, config, others);
    expect(reason).toContain(text);
    expect(reason).toMatch(/^Invalid argument: .*e\/config\.pbtxt:\d+/);
  });

  it('compares shapes as clients see them, with and without the batch dimension', async () => {
    const batching = identityModel('a', {
      in: { X: 'TYPE_FP32 dims: 1 reshape { }' },
      out: { Y: 'TYPE_FP32 dims: 1 reshape { }' },
      rest: 'max_batch_size: 8',
    });
    const plain = identityModel('b', { in: { X: 'TYPE_FP32 dims: [ -1, 1 ]' }, out: { Y: 'TYPE_FP32 dims: [ -1, 1 ]' } });
    const text = { in: { IN: 'TYPE_FP32 dims: 1' }, out: { OUT: 'TYPE_FP32 dims: 1' }, rest: 'max_batch_size: 8' };
    const { repository, reasons } = await open({ ...batching, ...plain, ...ensembleModel('e', chain, text) });
    expect(reasons.e).toBe('READY');
    const answer = await ask(repository.dataPlane, requestTo('e', { IN: fp32([3, 1], [1, 2, 3]) }));
    expect(answer.outputs).toEqual({ OUT: { shape: [3, 1], values: [1, 2, 3] } });
  });
});

describe('what an ensemble depends on', () => {
  it.each<[string, Files]>([
    ['ensemble e contains models that are not available or ambiguous: a, b', {}],
    [
      "ensemble 'e' depends on 'a' which has no loaded version. Model 'a' loading failed with error: version 1 is at UNAVAILABLE state: Invalid argument: 'max_batch_size' must be",
      { ...ab, ...identityModel('a', { rest: 'max_batch_size: -1' }) },
    ],
    [
      "ensemble 'e' depends on 'b' which is not valid. Model 'b' failed with error: ensemble b contains models that are not available or ambiguous: c",
      {
        ...identityModel('a'),
        ...ensembleModel('b', [{ model: 'c', in: { X: 'X' }, out: { Y: 'Y' } }], {
          in: { X: 'TYPE_FP32 dims: 4' },
          out: { Y: 'TYPE_FP32 dims: 4' },
        }),
      },
    ],
  ])('must be there: %s', async (text, others) => {
    expect(await reasonOf(chain, {}, others)).toContain(`Invalid argument: ${text}`);
  });

  it('must have the version that a step names, or any', async () => {
    const { reasons } = await open({
      ...ab,
      ...ensembleModel('old', [{ ...first, version: 7 }, second]),
      ...ensembleModel('below', [{ ...first, version: -2 }, second]),
      ...ensembleModel('zero', [{ ...first, version: 0 }, second]),
      ...ensembleModel('one', [{ ...first, version: 1 }, second]),
    });
    expect(reasons.old).toContain("ensemble 'old' depends on 'a' whose required version 7 is not loaded. (");
    expect(reasons.old).toContain('field ensemble_scheduling.step[0].model_version, wanted -1, or one of 1, got 7)');
    expect(reasons.below).toContain('whose required version -2 is not loaded.');
    expect(reasons.zero).toContain('whose required version 0 is not loaded.');
    expect(reasons.one).toBe('READY');
  });

  it('must not be itself', async () => {
    const through = (name: string, model: string): Files =>
      ensembleModel(name, [{ model, in: { X: 'X' }, out: { Y: 'Y' } }], {
        in: { X: 'TYPE_FP32 dims: 4' },
        out: { Y: 'TYPE_FP32 dims: 4' },
      });
    const { reasons } = await open({ ...through('p', 'q'), ...through('q', 'p'), ...through('s', 's'), ...through('t', 'p') });
    expect(reasons.p).toContain('circular dependency between ensembles: p -> ... -> q -> p');
    expect(reasons.q).toContain('circular dependency between ensembles: q -> ... -> p -> q');
    expect(reasons.s).toContain('circular dependency between ensembles: s -> ... -> s -> s');
    expect(reasons.t).toContain(
      "ensemble 't' depends on 'p' which is not valid. Model 'p' failed with error: circular dependency between ensembles: p",
    );
  });

  it('is loaded before, whatever the names say', async () => {
    const inner = { in: { X: 'TYPE_FP32 dims: 4' }, out: { Y: 'TYPE_FP32 dims: 4' } };
    const { repository, reasons } = await open({
      ...identityModel('z'),
      ...ensembleModel('y', [{ model: 'z', in: { X: 'X' }, out: { Y: 'Y' } }], inner),
      ...ensembleModel('a', [{ model: 'b', in: { X: 'X' }, out: { Y: 'Y' } }], inner),
      ...ensembleModel('b', [{ model: 'y', in: { X: 'X' }, out: { Y: 'Y' } }], inner),
    });
    expect(reasons).toEqual({ a: 'READY', b: 'READY', y: 'READY', z: 'READY' });
    expect((await ask(repository.dataPlane, requestTo('a', { X: fp32([4], [1, 2, 3, 4]) }))).outputs).toEqual({
      Y: { shape: [4], values: [1, 2, 3, 4] },
    });
    const wrong = { ...requestTo('z', {}), modelName: 'a' };
    expect(await failureOf(repository.dataPlane, wrong)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    // Three names for one model: each of them has answered once.
    for (const name of ['a', 'b', 'y', 'z']) {
      expect(await repository.dataPlane.statistics(name, '')).toMatchObject([
        { execution_count: 1, inference_stats: { success: { count: 1 } } },
      ]);
    }
  });
});

it('loads what only looks wrong, and warns', async () => {
  const optional = identityModel('b', {
    in: { X: 'TYPE_FP32 dims: 4', Z: 'TYPE_FP32 dims: 4 optional: true' },
    out: { Y: 'TYPE_FP32 dims: 4', V: 'TYPE_FP32 dims: 4' },
  });
  const text = { rest: 'max_batch_size: 8 model_transaction_policy { decoupled: true }', in: { IN: 'TYPE_FP32 dims: 4 optional: true' } };
  const { repository, reasons, log } = await open({ ...identityModel('a'), ...optional, ...ensembleModel('e', chain, text) });
  expect(reasons.e).toBe('READY');
  expect(log.lines.filter((line) => line.startsWith('warning')).map((line) => line.replace(/ \(.*/, ''))).toEqual([
    'warning ensemble e allows maximum batch size 8, but it contains model a which does not batch: it gets whole batches',
    'warning optional input IN of ensemble e feeds input X of model a, which is required: requests without it fail',
    'warning ensemble e allows maximum batch size 8, but it contains model b which does not batch: it gets whole batches',
    'warning no step of ensemble e is decoupled: neither is the ensemble',
  ]);
  const { spec } = repository.dataPlane.model('e', '');
  expect([spec.decoupled, spec.config.model_transaction_policy]).toEqual([false, { decoupled: false }]);
  expect(await failureOf(repository.dataPlane, requestTo('e', {}))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining("in ensemble 'e', [request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'a'"),
  });
});

it('is what its models make of it: decoupled, and labelled', async () => {
  const labelled = identityModel('b', { out: { Y: 'TYPE_FP32 dims: 4 label_filename: "labels.txt"' } });
  const { repository } = await open({
    ...repeat,
    ...int,
    ...identityModel('a'),
    ...labelled,
    'b/labels.txt': 'north\nsouth\n',
    ...ensembleModel('e', chain),
    ...ensembleModel('many', [repeatStep, { model: 'int', in: { X: 'n' }, out: { Y: 'OUT' } }], {
      in: repeatIn,
      out: { OUT: 'TYPE_INT32 dims: 1' },
    }),
  });
  const many = repository.dataPlane.model('many', '').spec;
  expect([many.decoupled, many.platform, many.config.instance_group, many.config.optimization]).toEqual([true, 'ensemble', [], undefined]);
  expect(repository.dataPlane.model('e', '').spec.outputs[0]?.labels).toEqual(['north', 'south']);
  expect(repository.dataPlane.modelMetadata('many', '')).toMatchObject({ name: 'many', platform: 'ensemble', versions: ['1'] });
});

it('counts a failed request twice on the ensemble, under OTHER, and once on the model', async () => {
  const { repository } = await open({
    ...ab,
    ...ensembleModel('e', chain, { in: { IN: 'TYPE_FP32 dims: 4 optional: true' } }),
  });
  await failureOf(repository.dataPlane, requestTo('e', {}));
  const [statistics] = await repository.dataPlane.statistics('e', '');
  expect([statistics?.inference_stats.fail.count, statistics?.inference_stats.success.count, statistics?.execution_count]).toEqual([
    2, 0, 0,
  ]);
});

it('loads what docs/ensembles.md shows', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/ensembles.md'), 'utf8');
  const [, config = ''] = /```protobuf\n([\s\S]*?)```/.exec(page) ?? [];
  const image = 'TYPE_FP32 dims: [ 3, 8, 8 ]';
  const rest = 'max_batch_size: 8';
  const { reasons, log } = await open({
    ...identityModel('scale', { in: { X: image }, out: { Y: image }, rest }),
    ...identityModel('classify', {
      in: { X: image, MORE: 'TYPE_FP32 dims: 4 optional: true' },
      out: { Z: image, Y: 'TYPE_FP32 dims: 4' },
      rest,
    }),
    'e/config.pbtxt': config,
    'e/1/': '',
  });
  expect(reasons.e).toBe('READY');
  expect(log.lines.filter((line) => line.startsWith('warning'))).toEqual([]);
});

it('answers from the cache as a whole, without its models', async () => {
  const cache = new LocalCache({ sizeBytes: 2 ** 20, log: makeLog() });
  const rest = 'response_cache { enable: true }';
  const root = await folderOf({ ...ab, ...ensembleModel('e', chain, { rest }) });
  const { repository } = await openRepository([root], { backends, cache });
  const question = requestTo('e', { IN: fp32([4], [1, 2, 3, 4]) });
  for (let round = 0; round < 2; round++) {
    expect((await ask(repository.dataPlane, question)).outputs).toEqual({ OUT: { shape: [4], values: [1, 2, 3, 4] } });
  }
  expect(await repository.dataPlane.statistics('a', '')).toMatchObject([{ execution_count: 1 }]);
  const counts = { success: { count: 2 }, cache_hit: { count: 1 }, cache_miss: { count: 1 } };
  expect(await repository.dataPlane.statistics('e', '')).toMatchObject([{ execution_count: 1, inference_stats: counts }]);
  const { stages, edges } = repository.dataPlane.graph('e', '');
  expect(stages.map(({ name, in: entered, out }) => [name, entered, out])).toEqual([
    ['cache', 2, 2],
    ['0:a', 1, 1],
    ['1:b', 1, 1],
  ]);
  expect(edges.slice(0, 2)).toEqual([
    { from: 'request', to: 'cache' },
    { from: 'cache', to: '0:a', tensor: 'IN' },
  ]);
});

it('finishes what it has begun while everything drains', async () => {
  const slow = { rest: 'parameters { key: "execute_delay_ms" value: { string_value: "30" } }' };
  const { repository } = await open({ ...identityModel('a', slow), ...identityModel('b', slow), ...ensembleModel('e', chain) });
  const question = requestTo('e', { IN: fp32([4], [1, 2, 3, 4]) });
  const answer = ask(repository.dataPlane, question);
  const drained = repository.drain();
  expect(await failureOf(repository.dataPlane, question)).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('Server is stopping'),
  });
  expect((await answer).outputs).toEqual({ OUT: { shape: [4], values: [1, 2, 3, 4] } });
  await drained;
});
