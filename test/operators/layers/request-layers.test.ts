import { Observable, type Subscriber } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { requestLayers } from '../../../src/operators/layers/request-layers.ts';
import { noOrderCounters } from '../../../src/streams/flow/in-order.ts';
import type { InferenceEvent } from '../../../src/streams/inference/events.ts';
import { layers } from '../../../src/streams/inference/infer.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings } from '../../../src/streams/tensors/tensor-values.ts';
import { makeBatching, makeRequest, makeSpec } from '../../support/model.ts';
import {
  answering,
  collect,
  failureOf,
  inferRequest,
  inferResponse,
  inputSpec,
  modelSpec,
  outputSpec,
} from '../../support/request-fixtures.ts';

const build = (spec: ModelSpec) => {
  const events: InferenceEvent[] = [];
  return { events, layers: requestLayers({ spec, sink: (event) => events.push(event), scheduler: { now: () => 0 } }) };
};

describe('requestLayers', () => {
  const spec = modelSpec({
    inputs: [inputSpec('I', 'FP32', [2])],
    outputs: [outputSpec('O', 'FP32', [4], { reshape: [2, 2], labels: ['a', 'b', 'c', 'd'] }), outputSpec('P', 'INT8', [1])],
  });
  const input = tensorFrom('FP32', [2], [1, 2]);
  const model = answering(inferResponse({ P: tensorFrom('INT8', [1], [1]), O: tensorFrom('FP32', [2, 2], [1, 4, 3, 2]) }));

  it('selects, reshapes and classifies', () => {
    const built = build(spec);
    const infer = layers(built.layers)(model);
    const whole = collect(infer(inferRequest({ I: input }))).values[0]?.outputs;
    expect([...(whole ?? [])].map(([name, { shape }]) => [name, shape])).toEqual([
      ['P', [1]],
      ['O', [4]],
    ]);
    const classes = collect(infer(inferRequest({ I: input }, { outputs: [{ name: 'O', classification: 2 }] }))).values[0]?.outputs;
    expect([...(classes ?? [])].map(([name, tensor]) => [name, tensor.shape, tensorStrings(tensor)])).toEqual([
      ['O', [2], ['4.000000:1:b', '3.000000:2:c']],
    ]);
    expect(built.events.length).toBe(2);
  });

  it('does not count what validation refuses', () => {
    const built = build(spec);
    expect(failureOf(layers(built.layers)(model)(inferRequest({})))).toMatch(/^INVALID_ARGUMENT/);
    expect(built.events).toEqual([]);
  });

  it('leaves out what a model has no use for', () => {
    expect(build(spec).layers.length).toBe(5);
    expect(build(modelSpec({ outputs: [outputSpec('O', 'INT8', [1]), outputSpec('P', 'INT8', [1])] })).layers.length).toBe(4);
    expect(build(modelSpec({ outputs: [outputSpec('O', 'INT8', [1])] })).layers.length).toBe(3);
    expect(build(modelSpec({})).layers.length).toBe(2);
  });

  it('counts the answers that wait where it is told to', () => {
    const ordering = noOrderCounters();
    const ordered = makeSpec({ dynamicBatching: makeBatching({ preserveOrdering: true }) });
    const held: Subscriber<InferResponse>[] = [];
    const model = () => new Observable<InferResponse>((caller) => void held.push(caller));
    const infer = layers(requestLayers({ spec: ordered, sink: () => {}, scheduler: { now: () => 0 }, ordering }))(model);
    for (const id of ['a', 'b']) infer(makeRequest({ id })).subscribe();
    held[1]?.next(inferResponse({}));
    expect(ordering.held).toBe(1);
  });

  it('lets answers leave in order, and counts requests when they do, where the model preserves ordering', () => {
    const held: Subscriber<InferResponse>[] = [];
    const build = (preserveOrdering: boolean) => {
      const events: InferenceEvent[] = [];
      const ordered = makeSpec({ dynamicBatching: makeBatching({ preserveOrdering }) });
      const infer = layers(requestLayers({ spec: ordered, sink: (event) => events.push(event), scheduler: { now: () => 0 } }))(
        () =>
          new Observable((caller) => {
            held.push(caller);
          }),
      );
      const ended: string[] = [];
      for (const id of ['a', 'b']) infer(makeRequest({ id })).subscribe({ complete: () => ended.push(id) });
      const [first, second] = held.splice(0);
      second?.complete();
      const early = `${ended} ${events.length}`;
      first?.complete();
      return [early, `${ended} ${events.length}`];
    };
    expect(build(true)).toEqual([' 0', 'a,b 2']);
    expect(build(false)).toEqual(['b 1', 'b,a 2']);
  });
});
