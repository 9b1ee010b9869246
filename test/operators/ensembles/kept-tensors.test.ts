import { Observable, of, type Subscriber } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { keepTensor } from '../../../src/operators/ensembles/keep-tensor.ts';
import { RowsAhead } from '../../../src/operators/ensembles/rows-ahead.ts';
import { noParameters, type ParameterValue } from '../../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { HandEnsemble } from '../../support/hand-ensemble.ts';
import { makeRequest } from '../../support/model.ts';
import { manyThenOne } from '../../support/small-ensembles.ts';

const bytes = (length: number): Tensor => new Tensor('UINT8', [length], new Uint8Array(length));

const answer = (y: Tensor, isLast: boolean): InferResponse => ({
  modelName: '',
  modelVersion: '1',
  id: '',
  parameters: noParameters,
  outputs: new Map([['y', y]]),
  isLast,
});

describe('tensors of an answer', () => {
  it.each([10, 1023, 1024, 2000])('are kept in a buffer of their own from 1024 bytes on, so that they keep no more alive: %d', (length) => {
    const { buffer } = keepTensor(bytes(length), new Map());
    expect(buffer.buffer.byteLength === length).toBe(length >= 1024);
  });

  it('are not copied where they go out at once', () => {
    const e = new HandEnsemble([{ model: 'a', in: { x: 'IN' }, out: { y: 'OUT' } }], ['OUT']);
    const made = bytes(5);
    Object.assign(e.model('a'), { infer: () => of(answer(made, true)) });
    const seen: unknown[] = [];
    e.running.infer(makeRequest({ inputs: new Map([['IN', bytes(1)]]) })).subscribe(({ outputs }) => seen.push(outputs.get('OUT')?.buffer));
    expect(seen).toEqual([made.buffer]);
    expect(seen[0]).toBe(made.buffer);
  });

  it.each([
    ['copies', false],
    ['the memory of the request', true],
  ])('count for how far a step is ahead when they are %s', (_, isInput) => {
    const e = new HandEnsemble(manyThenOne, ['OUT']);
    const asked: { request: InferRequest; answers: Subscriber<InferResponse> }[] = [];
    const infer = (request: InferRequest) => new Observable<InferResponse>((answers) => void asked.push({ request, answers }));
    Object.assign(e.model('many'), { infer });
    const input = bytes(8 * 2 ** 20);
    e.running.infer(makeRequest({ inputs: new Map([['IN', input]]) })).subscribe({ error: () => {} });
    const [many] = asked;
    expect(many?.request.demand?.isOpen).toBe(true);
    many?.answers.next(answer(isInput ? input : bytes(8 * 2 ** 20), false));
    expect(many?.request.demand?.isOpen).toBe(isInput);
  });
});

it('a step may go on when half of the bytes that it was ahead are left', () => {
  const ahead = new RowsAhead({ pauseRows: 9, pauseBytes: 100, refuseRows: 9, refuseBytes: 1000 });
  for (let row = 0; row < 2; row++) {
    ahead.beginRow();
    ahead.addBytes(50);
  }
  expect([ahead.isPaused, ahead.endRow(50)]).toEqual([true, true]);
});

it('a step takes its sequence from those of its inputs that have one, whichever come first', () => {
  const e = new HandEnsemble(
    [
      { model: 'a', in: { x: 'IN' }, out: { y: 't' } },
      { model: 'b', in: { x: 'IN', z: 't' }, out: { y: 'OUT' } },
    ],
    ['OUT'],
  );
  e.ask({ IN: 1 }, { sequenceId: 1n });
  e.model('a').last.answer({ y: 1 }, { parameters: new Map<string, ParameterValue>([['sequence_id', 7n]]) });
  expect(e.model('b').last.request.sequenceId).toBe(7n);
  expect(e.log.lines).toEqual([]);
});

describe('answers that wait for those of earlier rows', () => {
  it('are counted, and let go with their caller', () => {
    const e = new HandEnsemble(manyThenOne, ['OUT']);
    const heard = e.ask({ IN: 1 });
    for (let row = 1; row <= 3; row++) e.model('many').last.answer({ y: row }, { isLast: false });
    for (const row of [1, 2]) e.model('b').asked[row]?.answer({ y: row });
    expect([e.running.graph().queues, heard.answers]).toEqual([[{ name: 'order', queued: 2, limit: 16_384 }], []]);
    heard.caller.unsubscribe();
    expect(e.running.graph().queues).toEqual([{ name: 'order', queued: 0, limit: 16_384 }]);
  });
});
