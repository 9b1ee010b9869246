import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { floatsConfig, type ServedModels, serveModels } from './serve-models.ts';

const head = `import { defineModel, ModelError, perRequest } from 'weir/backend';\n`;

/** Refuses by the first value of IN. */
const inner = `${head}export default defineModel({ execute(requests) {
  const [value] = requests[0].input('IN').data;
  if (value === 1) throw new ModelError('one is wrong', 'INVALID_ARGUMENT');
  if (value === 2) throw new ModelError('two is too much now', 'UNAVAILABLE');
  if (value === 3) throw new ModelError('three is not there', 'NOT_FOUND');
  if (value === 4) throw new TypeError('four is a bug');
  if (value === 5) return [new ModelError('five is no', 'UNIMPLEMENTED')];
  if (value === 6) throw new ModelError('x'.repeat(1_000_000), 'INVALID_ARGUMENT');
  return [{ outputs: { OUT: requests[0].input('IN') } }];
} });`;

const calling = (call: string): string => `${head}export default defineModel({
  execute: perRequest(async (request, context) => {
    const answer = await context.infer(${call}, { request });
    return { outputs: { OUT: answer.output('OUT') } };
  }),
});`;

const bug = (code: string): string =>
  `${head}export default defineModel({ execute: perRequest(async (request, context) => { ${code} }) });`;

const mixed = `${head}export default defineModel({ async execute(requests, context) {
  const answer = await context.infer({ model: 'inner', inputs: { IN: requests[0].input('IN') } });
  return [{ outputs: { OUT: answer.output('OUT') } }];
} });`;

const saying = `${head}export default defineModel({
  execute: perRequest(async (request, context) => {
    try {
      return { outputs: { OUT: (await context.infer({ model: 'inner', inputs: { IN: request.input('IN') } }, { request })).output('OUT') } };
    } catch (error) {
      throw new ModelError('the inner model said: ' + error.message, 'INTERNAL', { cause: error });
    }
  }),
});`;

const models = {
  inner,
  // What is thrown by a call goes on as it is: by a handler of one request, and out of a whole execution.
  outer: calling(`{ model: 'inner', inputs: { IN: request.input('IN') } }`),
  outer_batch: mixed,
  saying,
  ensemble: {
    'config.pbtxt': `platform: "ensemble"
      input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
      output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
      ensemble_scheduling { step { model_name: "inner" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } }`,
    '1/nothing': '',
  },
  nobody: calling(`{ model: 'no_such_model', inputs: { IN: request.input('IN') } }`),
  wrong_shape: calling(`{ model: 'inner', inputs: { IN: { datatype: 'FP32', shape: [1, 1], data: [1] } } }`),
  wrong_type: calling(`{ model: 'inner', inputs: { IN: { datatype: 'INT8', shape: [1], data: [1] } } }`),
  no_type: calling(`{ model: 'inner', inputs: { IN: { shape: [1], data: [1] } } }`),
  no_output: bug(`const answer = await context.infer({ model: 'inner', inputs: { IN: request.input('IN') } }); answer.output('NONE');`),
  no_input: bug(`request.input('NONE');`),
  no_such_type: bug(`request.input('IN', 'INT64');`),
  optional: {
    'config.pbtxt': floatsConfig('input { name: "MAYBE" data_type: TYPE_FP32 dims: [ 1 ] optional: true }'),
    '1/model.ts': bug(`request.input('MAYBE');`),
  },
  metric: bug(`await context.metrics.counter('no name', '');`),
  nothing: bug(``),
  itself: calling(`{ model: 'itself', inputs: { IN: request.input('IN') } }`),
  ring_a: calling(`{ model: 'ring_b', inputs: { IN: request.input('IN') } }`),
  ring_b: calling(`{ model: 'ring_c', inputs: { IN: request.input('IN') } }`),
  ring_c: calling(`{ model: 'ring_a', inputs: { IN: request.input('IN') } }`),
  many: {
    'config.pbtxt': floatsConfig('model_transaction_policy { decoupled: true }'),
    '1/model.ts': `${head}export default defineModel({ *execute([request]) { yield { outputs: { OUT: request.input('IN') } }; } });`,
  },
  calls_many: calling(`{ model: 'many', inputs: { IN: request.input('IN') } }`),
  late: calling(`{ model: 'inner', inputs: { IN: request.input('IN') } }, { request, signal: AbortSignal.abort() }`),
};

describe('errors of JavaScript models', () => {
  let served: ServedModels;
  beforeAll(async () => {
    served = await serveModels(models);
  });
  afterAll(() => served[Symbol.asyncDispose]());

  const bugText = "Failed to process the request(s) for model 'inner_0', message: TypeError: four is a bug";
  const cut = `${'x'.repeat(16_384)}…`;

  it.each([
    ['what a model refuses', 'inner', 1, 400, status.INVALID_ARGUMENT, 'one is wrong'],
    ['not now', 'inner', 2, 503, status.UNAVAILABLE, 'two is too much now'],
    ['not there', 'inner', 3, 404, status.NOT_FOUND, 'three is not there'],
    ['a bug', 'inner', 4, 500, status.INTERNAL, bugText],
    ['an error in the place of an answer', 'inner', 5, 501, status.UNIMPLEMENTED, 'five is no'],
    ['what a called model refuses', 'outer', 1, 400, status.INVALID_ARGUMENT, 'one is wrong'],
    ['not now, of a called model', 'outer', 2, 503, status.UNAVAILABLE, 'two is too much now'],
    ['not there, of a called model', 'outer', 3, 404, status.NOT_FOUND, 'three is not there'],
    ['a bug of a called model', 'outer', 4, 500, status.INTERNAL, bugText],
    ['an error in the place of a called model’s answer', 'outer', 5, 501, status.UNIMPLEMENTED, 'five is no'],
    ['what goes out of an execution', 'outer_batch', 1, 400, status.INVALID_ARGUMENT, 'one is wrong'],
    [
      'the same in an ensemble',
      'ensemble',
      1,
      400,
      status.INVALID_ARGUMENT,
      "in ensemble 'ensemble', one is wrong (step 0, model 'inner')",
    ],
    ['what a model makes of it', 'saying', 1, 500, status.INTERNAL, 'the inner model said: one is wrong'],
    ['a model that is not there', 'nobody', 1, 404, status.NOT_FOUND, "Request for unknown model: 'no_such_model' is not found"],
    [
      'a call whose shape the server refuses',
      'wrong_shape',
      1,
      400,
      status.INVALID_ARGUMENT,
      expect.stringContaining("unexpected shape for input 'IN' for model 'inner'"),
    ],
    [
      'a call whose datatype the server refuses',
      'wrong_type',
      1,
      400,
      status.INVALID_ARGUMENT,
      expect.stringContaining("inference input 'IN' data-type is 'INT8'"),
    ],
    ['a call that is none', 'no_type', 1, 500, status.INTERNAL, "input 'IN' of a call has no datatype"],
    ['an output that there is not', 'no_output', 7, 500, status.INTERNAL, "the answer of model 'inner' has no output 'NONE'"],
    ['an input that there is not', 'no_input', 7, 500, status.INTERNAL, "the model has no input 'NONE'"],
    ['an input that the caller has left out', 'optional', 7, 400, status.INVALID_ARGUMENT, "the request has no input 'MAYBE'"],
    ['an input of another datatype', 'no_such_type', 7, 500, status.INTERNAL, "tensor 'IN' is FP32, not INT64"],
    ['a metric that cannot be', 'metric', 7, 500, status.INTERNAL, "'no name' is no name of a metric"],
    ['a model that calls itself', 'itself', 7, 400, status.INVALID_ARGUMENT, 'models call each other in a cycle: itself -> itself'],
    [
      'three that call each other',
      'ring_b',
      7,
      400,
      status.INVALID_ARGUMENT,
      'models call each other in a cycle: ring_b -> ring_c -> ring_a -> ring_b',
    ],
    [
      'one answer of a model of many',
      'calls_many',
      7,
      500,
      status.INTERNAL,
      "model 'many' is decoupled and may answer any number of times: call it with inferMany",
    ],
    ['a call that is cancelled', 'late', 7, 400, status.CANCELLED, 'the call was cancelled'],
  ])('%s has its code over HTTP and gRPC', async (_what, model, value, http, grpc, text) => {
    const spoken = (answer: string): readonly [number, string] => [Number.parseInt(answer, 10), answer.slice(answer.indexOf(' ') + 1)];
    expect(spoken(await served.askHttp(model, value))).toEqual([http, text]);
    expect(spoken(await served.askGrpc(model, value))).toEqual([grpc, text]);
    expect(await served.askGrpc('outer', 7)).toBe('0 7');
  });

  it('cuts off a message that goes on and on', async () => {
    expect(await served.askHttp('outer', 6)).toBe(`400 ${cut}`);
    expect(await served.askGrpc('outer', 6)).toMatch(/^3 x{7168}…$/);
  });

  it('says that a model has not answered', async () => {
    expect(await served.askHttp('nothing', 7)).toMatch(/^500 /);
  });
});
