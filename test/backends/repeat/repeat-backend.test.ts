import { describe, expect, it } from 'vitest';
import { repeatBackend } from '../../../src/backends/repeat/repeat-backend.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { makePlacement } from '../../support/model.ts';
import { failureOf, inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { noFiles, openInstance, runBatchOf } from '../../support/run-backend.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const inputs = [inputSpec('IN', 'INT32', [-1]), inputSpec('DELAY', 'UINT32', [-1]), inputSpec('WAIT', 'UINT32', [1])];
const outputs = [outputSpec('OUT', 'INT32', [1]), outputSpec('IDX', 'UINT32', [1])];
const spec = modelSpec({ backend: 'repeat', decoupled: true, inputs, outputs });

const ask = (values: readonly number[], delays: readonly number[], wait = 0, fields: Partial<InferRequest> = {}): InferRequest =>
  inferRequest(
    {
      IN: tensorFrom('INT32', [values.length], values),
      DELAY: tensorFrom('UINT32', [delays.length], delays),
      WAIT: tensorFrom('UINT32', [1], [wait]),
    },
    fields,
  );

const run = (request: InferRequest) => {
  const time = new VirtualTime();
  return { time, ...runBatchOf(openInstance(repeatBackend({ scheduler: time }), spec), [request], time) };
};

describe('a repeat model', () => {
  it('answers once for each element after its delay, and then tells that nothing follows', () => {
    const { time, heard, batch } = run(ask([4, -2, 7], [10, 0, 5]));
    expect(heard).toEqual(['0: released']);
    time.advance(100);
    expect(heard).toEqual(['0: released', '10: 0 OUT=4 IDX=0', '10: 0 OUT=-2 IDX=1', '15: 0 OUT=7 IDX=2', '15: 0 last', '15: complete']);
    expect(batch.times.outputStartMs).toBe(0);
  });

  it('answers nothing to no elements', () => {
    expect(run(ask([], [])).heard).toEqual(['0: 0 last', '0: released', '0: complete']);
  });

  it('takes the next request after its wait, whatever is still to come or has been', () => {
    const long = run(ask([1, 2], [30, 30], 40));
    long.time.advance(100);
    expect(long.heard).toEqual(['30: 0 OUT=1 IDX=0', '40: released', '60: 0 OUT=2 IDX=1', '60: 0 last', '60: complete']);
    const short = run(ask([1], [0], 40));
    short.time.advance(100);
    expect(short.heard).toEqual(['0: 0 OUT=1 IDX=0', '0: 0 last', '40: released', '40: complete']);
  });

  it('makes no answers while there is no room for them', () => {
    const demand = { isOpen: false, onOpen: undefined as (() => void) | undefined };
    const { time, heard } = run(ask([1, 2], [0, 0], 0, { demand }));
    time.advance(100);
    expect(heard).toEqual(['0: released']);
    demand.isOpen = true;
    demand.onOpen?.();
    expect(heard.slice(1)).toEqual(['100: 0 OUT=1 IDX=0', '100: 0 OUT=2 IDX=1', '100: 0 last', '100: complete']);
  });

  it('stops when nobody waits any more', () => {
    const { time, heard, subscription } = run(ask([1, 2, 3], [10, 10, 10], 100));
    time.advance(15);
    subscription.unsubscribe();
    time.advance(1000);
    expect([heard, time.pending]).toEqual([['10: 0 OUT=1 IDX=0'], 0]);
  });

  it('refuses a request whose delays are not as many as its values', () => {
    expect(run(ask([1, 2], [1])).heard).toEqual([
      '0: 0 INVALID_ARGUMENT expected IN and DELAY shape to match, got [2] and [1] last',
      '0: 0 last',
      '0: released',
      '0: complete',
    ]);
  });

  it.each<[string, Partial<ModelSpec>]>([
    ['repeat backend only supports models with max_batch_size == 0', { maxBatchSize: 1 }],
    ["unable to load model 'm' of the repeat backend: expected 3 inputs, got 2", { inputs: inputs.slice(1) }],
    [
      "unable to load model 'm' of the repeat backend: expected first input tensor name to be IN, got DELAY",
      { inputs: [...inputs.slice(1), ...inputs.slice(0, 1)] },
    ],
    [
      "unable to load model 'm' of the repeat backend: expected WAIT shape to be [1], got [2]",
      { inputs: [...inputs.slice(0, 2), inputSpec('WAIT', 'UINT32', [2])] },
    ],
    [
      "unable to load model 'm' of the repeat backend: expected IDX datatype to be UINT32, got INT32",
      { outputs: [...outputs.slice(0, 1), outputSpec('IDX', 'INT32', [1])] },
    ],
    ['expected IN and DELAY shape to match, got [2] and [-1]', { inputs: [inputSpec('IN', 'INT32', [2]), ...inputs.slice(1)] }],
  ])('does not load: %s', (text, fields) => {
    expect(failureOf(repeatBackend().open(noFiles, { ...spec, ...fields }, makePlacement()))).toBe(`INVALID_ARGUMENT: ${text}`);
  });
});
