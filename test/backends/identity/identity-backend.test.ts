import { firstValueFrom, VirtualTimeScheduler } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { identityBackend } from '../../../src/backends/identity/identity-backend.ts';
import type { Batch, Part } from '../../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import { noParameters } from '../../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { type Datatype, elementByteSize } from '../../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { makePlacement } from '../../support/model.ts';
import { collect, failureOf, inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';

const files = { modelName: 'm', modelDirectory: '/m', versionDirectory: '/m/1', modelFile: '' };
const placement = makePlacement();

const batchOf = (...requests: readonly InferRequest[]): Batch => ({
  requests,
  rows: requests.map(() => 1),
  totalRows: requests.length,
  wholeInputs: new Map(),
  times: { inputEndMs: 0, outputStartMs: 0 },
});

const start = (spec: ModelSpec, scheduler = new VirtualTimeScheduler()) => {
  const opened = collect(identityBackend({ scheduler }).open(files, spec, placement));
  const [instance] = opened.values;
  if (instance === undefined) throw opened.error;
  return {
    scheduler,
    instance,
    run: (...requests: readonly InferRequest[]): readonly Part[] => collect(instance.run(batchOf(...requests))).values,
  };
};

const pair = (datatype: Datatype) =>
  modelSpec({ inputs: [inputSpec('INPUT0', datatype, [-1])], outputs: [outputSpec('OUTPUT0', datatype, [-1])] });

describe('an identity model', () => {
  it.each<Datatype>(['BOOL', 'UINT64', 'INT8', 'FP16', 'BF16', 'FP64', 'BYTES'])('answers %s with the very tensor', (datatype) => {
    const bytes =
      datatype === 'BYTES' ? tensorFrom('BYTES', [2], ['', 'a\0']).bytes : new Uint8Array(2 * elementByteSize(datatype)).fill(0x7f);
    const tensor = new Tensor(datatype, [2], bytes);
    const [part] = start(pair(datatype)).run(inferRequest({ INPUT0: tensor }));
    expect(part).toMatchObject({ of: 0, isLast: true, error: undefined, parameters: noParameters });
    expect(part?.outputs.get('OUTPUT0')).toBe(tensor);
  });

  it('pairs inputs and outputs by their place in the config, and answers each request of a batch', () => {
    const spec = modelSpec({
      inputs: [inputSpec('X', 'INT8', [1]), inputSpec('Y', 'FP32', [0], { optional: true })],
      outputs: [outputSpec('Q', 'INT8', [1]), outputSpec('R', 'FP32', [0])],
    });
    const x = tensorFrom('INT8', [1], [1]);
    const y = tensorFrom('FP32', [0], []);
    const parts = start(spec).run(inferRequest({ Y: y, X: x }), inferRequest({ X: x }));
    expect(parts.map(({ of, outputs }) => [of, [...outputs]])).toEqual([
      [
        0,
        [
          ['Q', x],
          ['R', y],
        ],
      ],
      [1, [['Q', x]]],
    ]);
  });

  it('needs no file and knows nothing that the config does not say', async () => {
    const backend = identityBackend();
    expect([backend.name, backend.needsModelFile, await backend.describe(files)]).toEqual(['identity', false, undefined]);
    const instance = await firstValueFrom(backend.open(files, pair('INT8'), placement));
    expect(instance.capacity).toBe(1);
  });

  it('stays open until it is unsubscribed', () => {
    expect(collect(identityBackend().open(files, pair('INT8'), placement)).isComplete).toBe(false);
  });
});

describe('execute_delay_ms', () => {
  const delayed = {
    ...pair('INT8'),
    parameters: new Map([
      ['execute_delay_ms', '30'],
      ['unknown', 'x'],
    ]),
  };
  const request = inferRequest({ INPUT0: tensorFrom('INT8', [1], [5]) });

  it('delays the answer of a whole batch', () => {
    const { scheduler, instance } = start(delayed);
    const answeredAtMs: number[] = [];
    const batch = batchOf(request, request);
    instance.run(batch).subscribe({ next: () => answeredAtMs.push(scheduler.now()), complete: () => answeredAtMs.push(-1) });
    expect(answeredAtMs).toEqual([]);
    scheduler.flush();
    expect(answeredAtMs).toEqual([30, 30, -1]);
    expect(batch.times).toEqual({ inputEndMs: 0, outputStartMs: 30 });
  });

  it('ends with the request', () => {
    const { scheduler, instance } = start(delayed);
    const answered: Part[] = [];
    instance
      .run(batchOf(request))
      .subscribe((part) => answered.push(part))
      .unsubscribe();
    scheduler.flush();
    expect(answered).toEqual([]);
  });

  it.each(['', '-1', '1.5', 'soon'])('refuses %j', (text) => {
    const spec = { ...pair('INT8'), parameters: new Map([['execute_delay_ms', text]]) };
    expect(failureOf(identityBackend().open(files, spec, placement))).toBe(
      `INVALID_ARGUMENT: failed to convert execute_delay_ms '${text}' to integral number`,
    );
  });
});

describe('the other delays', () => {
  const withParameters = (parameters: Readonly<Record<string, string>>) => ({
    ...pair('INT8'),
    parameters: new Map(Object.entries(parameters)),
  });

  it.each([
    ['1', 3, 90],
    ['1', 0, 30],
    ['0', 3, 30],
  ])('instance_wise_delay_multiplier %s on device %d makes it last %d ms', (multiplier, device, expected) => {
    const scheduler = new VirtualTimeScheduler();
    const spec = withParameters({ execute_delay_ms: '30', instance_wise_delay_multiplier: multiplier });
    const [instance] = collect(identityBackend({ scheduler }).open(files, spec, { ...placement, device })).values;
    const ends: number[] = [];
    const batch = batchOf(inferRequest({ INPUT0: tensorFrom('INT8', [1], [5]) }));
    instance?.run(batch).subscribe({ complete: () => ends.push(scheduler.now()) });
    scheduler.flush();
    expect(ends).toEqual([expected]);
  });

  it('creation_delay_sec is how long a load takes, and ends with it', () => {
    const scheduler = new VirtualTimeScheduler();
    const up: number[] = [];
    const open$ = identityBackend({ scheduler }).open(files, withParameters({ creation_delay_sec: '2' }), placement);
    open$.subscribe(() => up.push(scheduler.now()));
    open$.subscribe(() => up.push(-1)).unsubscribe();
    scheduler.flush();
    expect(up).toEqual([2000]);
  });
});

describe('a config that is no identity', () => {
  it.each<[string, Partial<ModelSpec>]>([
    [
      'as many outputs as inputs, got 1 inputs and 2 outputs',
      { inputs: [inputSpec('A', 'INT8', [1])], outputs: [outputSpec('O', 'INT8', [1]), outputSpec('P', 'INT8', [1])] },
    ],
    [
      "output 'O' to be as input 'A', INT8 [1], got INT16 [1]",
      { inputs: [inputSpec('A', 'INT8', [1])], outputs: [outputSpec('O', 'INT16', [1])] },
    ],
    [
      "output 'O' to be as input 'A', INT8 [], got INT8 [1]",
      { inputs: [inputSpec('A', 'INT8', [1], { reshape: [] })], outputs: [outputSpec('O', 'INT8', [1])] },
    ],
  ])('expects %s', (text, part) => {
    expect(failureOf(identityBackend().open(files, modelSpec(part), placement))).toBe(
      `INVALID_ARGUMENT: unable to load model 'm', the identity backend expects ${text}`,
    );
  });
});
