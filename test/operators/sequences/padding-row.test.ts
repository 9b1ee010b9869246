import { afterEach, describe, expect, it } from 'vitest';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { makeInput } from '../../support/model.ts';
import { SequenceModel } from '../../support/sequence-model.ts';

describe('the row that fills up a batch', () => {
  let model: SequenceModel;

  const start = (fields: Partial<ModelSpec> = {}): void => {
    model = new SequenceModel({
      spec: { maxBatchSize: 2, inputs: [makeInput({ dims: [-1] }), makeInput({ name: 'MAYBE', optional: true })], ...fields },
      batching: { strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 } },
    });
    for (const id of [1n, 2n]) model.ask(id, 'S');
    model.time.advance(0);
    model.finish();
  };

  afterEach(() => expect(model.stop()).toBe(0));

  /** Beside a step of the second sequence. */
  const filling = (fields: Partial<InferRequest> = {}, width = 4): InferRequest => {
    model.ask(2n, 'M', '', fields, width);
    model.time.advance(0);
    const [first] = model.instance().last.batch.requests;
    if (first === undefined) throw new Error('there is no such row');
    model.finish();
    return first;
  };

  const withBoth = (width: number): Partial<InferRequest> => {
    const tensor = (size: number): Tensor => new Tensor('UINT8', [1, size], new Uint8Array(size));
    return { inputs: new Map(Object.entries({ IN: tensor(width), MAYBE: tensor(4) })) };
  };

  it('says nothing that a client could have said', () => {
    start();
    const plain = { modelName: 'm', modelVersion: '', id: '', outputs: [], priority: 0n, timeoutMicroseconds: 0n };
    expect(filling()).toMatchObject({ ...plain, sequenceId: 0n, sequenceStart: false, sequenceEnd: false, parameters: new Map() });
    expect(model.counts()).toBe('queued 0 running 0');
  });

  it('is the same as long as the inputs beside it have the same shapes', () => {
    start();
    const first = filling();
    expect(filling()).toBe(first);
    expect([...filling(withBoth(4)).inputs.keys()]).toEqual(['IN', 'MAYBE']);
    expect([...filling().inputs.keys()]).toEqual(['IN']);
    expect(filling({}, 5).inputs.get('IN')?.shape).toEqual([1, 5]);
    expect(filling(withBoth(5)).inputs.get('IN')?.shape).toEqual([1, 5]);
    expect(filling(withBoth(4)).inputs.get('IN')?.shape).toEqual([1, 4]);
  });

  it('keeps no sequence from going on before the batch has ended', () => {
    start({ decoupled: true });
    for (const tag of ['a', 'b']) model.ask(2n, 'M', tag);
    model.time.advance(0);
    expect(model.batches().at(-1)).toBe('-,a');
    model.instance().last.batch.releaseInstance?.();
    expect(model.batches().at(-1)).toBe('-,b');
  });
});
