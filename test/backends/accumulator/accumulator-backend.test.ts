import { describe, expect, it } from 'vitest';
import { dynaSequenceBackend, sequenceBackend } from '../../../src/backends/accumulator/accumulator-backend.ts';
import type { ControlInput, ModelSpec, SequenceBatching } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { makePlacement } from '../../support/model.ts';
import { failureOf, inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { noFiles, openInstance, runBatchOf } from '../../support/run-backend.ts';
import { VirtualTime } from '../../support/virtual-time.ts';

type FlagKind = 'START' | 'END' | 'READY';

const flag = (kind: FlagKind): ControlInput => ({ kind, name: kind, datatype: 'INT32', whenFalse: 0, whenTrue: 1 });
const idOf = (datatype: 'UINT64' | 'UINT32' | 'BYTES'): ControlInput => ({ kind: 'CORRID', name: 'CORRID', datatype });

const batching = (controls: readonly ControlInput[], maxCandidateSequences = 2): SequenceBatching => ({
  strategy: { kind: 'oldest', maxCandidateSequences, preferredBatchSizes: [], maxQueueDelayMs: 0, preserveOrdering: false },
  maxIdleMs: 1000,
  controls,
  states: [],
  isIterative: false,
  endsIdleWithStep: false,
});

const specOf = (controls: readonly ControlInput[], fields: Partial<ModelSpec> = {}): ModelSpec =>
  modelSpec({
    maxBatchSize: 4,
    inputs: [inputSpec('INPUT', 'INT32', [-1])],
    outputs: [outputSpec('OUTPUT', 'INT32', [-1])],
    sequenceBatching: batching(controls),
    ...fields,
  });

const rowControls = [flag('START'), flag('READY')];
const idControls = [flag('START'), flag('END'), flag('READY'), idOf('UINT64')];

interface Step {
  readonly values: readonly number[];
  readonly start?: true;
  readonly end?: true;
  readonly id?: bigint | string;
}

const stepOf = ({ values, start, end, id = 1n }: Step): InferRequest =>
  inferRequest({
    INPUT: tensorFrom('INT32', [1, values.length], values),
    START: tensorFrom('INT32', [1, 1], [start ? 1 : 0]),
    END: tensorFrom('FP32', [1, 1], [end ? 1 : 0]),
    READY: tensorFrom('BOOL', [1, 1], [true]),
    CORRID: typeof id === 'string' ? tensorFrom('BYTES', [1, 1], [id]) : tensorFrom('UINT64', [1, 1], [id]),
  });

const filler = inferRequest({ INPUT: tensorFrom('INT32', [1, 1], [9]), READY: tensorFrom('BOOL', [1, 1], [false]) });

/** OUTPUT of each row in each batch. */
const play = (instance: ReturnType<typeof openInstance>, batches: readonly (readonly InferRequest[])[]): readonly string[] =>
  batches.flatMap((requests) =>
    runBatchOf(instance, requests, new VirtualTime())
      .heard.slice(0, -1)
      .map((line) => line.slice(3)),
  );

describe('sequence', () => {
  it('sums by row, in every element of the output, and leaves rows alone that only fill up', () => {
    const instance = openInstance(sequenceBackend(), specOf(rowControls));
    const heard = play(instance, [
      [stepOf({ values: [1, 2], start: true }), filler, stepOf({ values: [5], start: true })],
      [filler, filler, stepOf({ values: [-6] })],
      [stepOf({ values: [4] }), stepOf({ values: [3] })],
      [stepOf({ values: [2_147_483_647], start: true }), stepOf({ values: [1, 1] })],
      [stepOf({ values: [1] })],
    ]);
    expect(heard).toEqual([
      '0 OUTPUT=3,3 last',
      '1 last',
      '2 OUTPUT=5 last',
      '0 last',
      '1 last',
      '2 OUTPUT=-1 last',
      '0 OUTPUT=7 last',
      '1 OUTPUT=3 last',
      '0 OUTPUT=2147483647 last',
      '1 OUTPUT=5,5 last',
      '0 OUTPUT=-2147483648 last',
    ]);
  });

  it('takes its time, and ends with the request', () => {
    const time = new VirtualTime();
    const spec = specOf(rowControls, { parameters: new Map([['execute_delay_ms', '20']]) });
    const instance = openInstance(sequenceBackend({ scheduler: time }), spec);
    const { heard } = runBatchOf(instance, [stepOf({ values: [1], start: true })], time);
    runBatchOf(instance, [stepOf({ values: [5], start: true })], time).subscription.unsubscribe();
    time.advance(100);
    expect([heard, time.pending]).toEqual([['20: 0 OUTPUT=1 last', '20: complete'], 0]);
  });
});

describe('dyna_sequence', () => {
  it('sums by correlation id in whatever row, and adds the id at the end', () => {
    const instance = openInstance(dynaSequenceBackend(), specOf(idControls));
    const heard = play(instance, [
      [stepOf({ values: [1], start: true, id: 7n }), stepOf({ values: [2], start: true, id: 8n })],
      [stepOf({ values: [10], id: 8n }), stepOf({ values: [20], id: 7n })],
      [stepOf({ values: [100], end: true, id: 8n })],
      [stepOf({ values: [1], start: true, end: true, id: 2n ** 32n + 5n })],
      [stepOf({ values: [0], end: true, id: 7n })],
    ]);
    expect(heard.map((line) => line.split(' ')[1])).toEqual([
      'OUTPUT=1',
      'OUTPUT=2',
      'OUTPUT=12',
      'OUTPUT=21',
      'OUTPUT=120',
      'OUTPUT=6',
      'OUTPUT=28',
    ]);
  });

  it('takes strings for ids: a number counts as itself, any other for nothing', () => {
    const instance = openInstance(dynaSequenceBackend(), specOf([...idControls.slice(0, 3), idOf('BYTES')]));
    const heard = play(instance, [
      [stepOf({ values: [1], start: true, id: 'a' }), stepOf({ values: [2], start: true, id: '40' })],
      [stepOf({ values: [1], end: true, id: 'a' }), stepOf({ values: [1], end: true, id: '40' })],
    ]);
    expect(heard.map((line) => line.split(' ')[1])).toEqual(['OUTPUT=1', 'OUTPUT=2', 'OUTPUT=2', 'OUTPUT=43']);
  });

  it('forgets sequences that never end, and none that goes on', () => {
    const instance = openInstance(dynaSequenceBackend(), specOf(idControls));
    const idle = Array.from({ length: 1000 }, (_, n) => [
      [stepOf({ values: [1], start: true, id: BigInt(n + 10) })],
      [stepOf({ values: [1], id: 1n })],
    ]).flat();
    const heard = play(instance, [[stepOf({ values: [0], start: true, id: 1n })], ...idle, [stepOf({ values: [1], id: 10n })]]);
    expect(heard.at(-2)).toBe('0 OUTPUT=1000 last');
    // Its sum is gone.
    expect(heard.at(-1)).toBe('0 OUTPUT=1 last');
  });
});

describe('a config that is no accumulator', () => {
  const failure = (backend: ReturnType<typeof sequenceBackend>, spec: ModelSpec): string =>
    failureOf(backend.open(noFiles, spec, makePlacement()));

  it.each([
    ['no sequences', modelSpec({})],
    ['other controls', specOf([flag('START'), flag('END')])],
    ['one too many', specOf([...rowControls, flag('END')])],
  ])('has %s', (_, spec) => {
    expect(failure(sequenceBackend(), spec)).toBe("INVALID_ARGUMENT: 'START' and 'READY' must be configured as the control inputs");
  });

  it('has a short id, or an output unlike its input', () => {
    expect(failure(dynaSequenceBackend(), specOf([...idControls.slice(0, 3), idOf('UINT32')]))).toBe(
      'INVALID_ARGUMENT: model CORRID control input must have TYPE_UINT64 or TYPE_STRING data-type',
    );
    expect(failure(dynaSequenceBackend(), specOf(rowControls))).toBe(
      "INVALID_ARGUMENT: 'START', 'END', 'READY' and 'CORRID' must be configured as the control inputs",
    );
    expect(failure(sequenceBackend(), specOf(rowControls, { outputs: [outputSpec('OUTPUT', 'INT32', [1])] }))).toBe(
      "INVALID_ARGUMENT: model must have output 'OUTPUT' with shape matching 'INPUT'",
    );
  });
});
