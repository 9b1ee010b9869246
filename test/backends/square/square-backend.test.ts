import { describe, expect, it } from 'vitest';
import { squareBackend } from '../../../src/backends/square/square-backend.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { makePlacement } from '../../support/model.ts';
import { failureOf, inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { noFiles, openInstance, runBatchOf } from '../../support/run-backend.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

const specOf = (parameters: Readonly<Record<string, string>> = {}) =>
  modelSpec({
    backend: 'square',
    decoupled: true,
    inputs: [inputSpec('IN', 'INT32', [1])],
    outputs: [outputSpec('OUT', 'INT32', [1])],
    parameters: new Map(Object.entries(parameters)),
  });

const ask = (...values: readonly number[]): InferRequest => inferRequest({ IN: tensorFrom('INT32', [values.length], values) });

const run = (requests: readonly InferRequest[], parameters: Readonly<Record<string, string>> = {}) => {
  const time = new VirtualTime();
  return { time, ...runBatchOf(openInstance(squareBackend({ scheduler: time }), specOf(parameters)), requests, time) };
};

describe('a square model', () => {
  it('answers n times with n, each request of a batch beside the others, and takes the next batch at once', () => {
    const { time, heard } = run([ask(2), ask(0), ask(1)], { CUSTOM_INFER_DELAY_NS: '2000000', CUSTOM_OUTPUT_DELAY_NS: '1000000' });
    time.advance(100);
    expect(heard).toEqual(['0: 1 last', '0: released', '3: 0 OUT=2', '3: 2 OUT=1', '3: 2 last', '6: 0 OUT=2', '6: 0 last', '6: complete']);
  });

  it('makes errors of its last answers, and leaves the very last ones out, though they take their time', () => {
    const parameters = { CUSTOM_FAIL_COUNT: '2', CUSTOM_EMPTY_COUNT: '1', CUSTOM_INFER_DELAY_NS: '1000000' };
    const { time, heard } = run([ask(4)], parameters);
    time.advance(100);
    expect(heard).toEqual([
      '0: released',
      '1: 0 OUT=4',
      '2: 0 UNKNOWN simulated failure',
      '3: 0 UNKNOWN simulated failure',
      '4: 0 last',
      '4: complete',
    ]);
  });

  it('stops the request whose caller goes, and all when nobody is left', () => {
    const { time, heard, batch, subscription } = run([ask(3), ask(3)], { CUSTOM_INFER_DELAY_NS: '1000000' });
    time.advance(1);
    batch.onCancelled?.(0);
    time.advance(1);
    subscription.unsubscribe();
    time.advance(100);
    expect(heard).toEqual(['0: released', '1: 0 OUT=3', '1: 1 OUT=3', '2: 1 OUT=3']);
    expect(time.pending).toBe(0);
  });

  it.each([
    [ask(1, 2), 'unexpected shape for IN input'],
    [ask(-1), 'expected IN to be the number of answers, got -1'],
  ])('refuses a request alone', (request, text) => {
    const { heard } = run([request, ask(0)]);
    expect(heard).toEqual([`0: 0 INVALID_ARGUMENT ${text} last`, '0: 0 last', '0: 1 last', '0: complete']);
  });

  it('does not load with a parameter that is no number', () => {
    expect(failureOf(squareBackend().open(noFiles, specOf({ CUSTOM_FAIL_COUNT: 'two' }), makePlacement()))).toBe(
      "INVALID_ARGUMENT: failed to convert CUSTOM_FAIL_COUNT 'two' to integral number",
    );
  });
});
