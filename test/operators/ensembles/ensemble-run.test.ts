import { Observable, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import { noParameters } from '../../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { HandEnsemble } from '../../support/hand-ensemble.ts';
import { makeRequest } from '../../support/model.ts';
import { chain, counts, diamond, manyThenOne } from '../../support/small-ensembles.ts';

const failure = new InferError('INTERNAL', 'broken', { reason: 'BACKEND' });
const mebibyte = 2 ** 20;

const response = (length: number, isLast = true): InferResponse => ({
  modelName: '',
  modelVersion: '1',
  id: '',
  parameters: noParameters,
  outputs: new Map([['y', new Tensor('UINT8', [length], new Uint8Array(length))]]),
  isLast,
});

describe('a step that ends without having said so', () => {
  it('is out, ends the request, and is counted once', () => {
    const e = new HandEnsemble([{ model: 'a', in: { x: 'IN' }, out: { y: 'OUT' } }], ['OUT']);
    const heard = e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 2 }, { isLast: false });
    expect([heard.answers, heard.last, heard.end, e.events.length]).toEqual([[{ OUT: 2 }], [false], 'open', 0]);
    e.model('a').last.complete();
    expect([heard.end, e.events.length, counts(e)]).toEqual(['complete', 1, ['0:a 1=1+0+0+0']]);
  });

  it('gives its permit to the next', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 1 });
    for (const byte of [1, 2]) e.ask({ IN: byte });
    e.model('a').last.answer({ y: 2 }, { isLast: false });
    expect(e.model('a').asked.length).toBe(1);
    e.model('a').last.complete();
    expect(e.model('a').asked.length).toBe(2);
  });

  it('is over for the row that it ran for, without an answer too', () => {
    const again = { model: 'again', in: { x: 't' }, out: { y: 'OUT' }, isDecoupled: true };
    const e = new HandEnsemble([...manyThenOne.slice(0, 1), again], ['OUT'], { limit: 1 });
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    for (const byte of [1, 2]) many.answer({ y: byte }, { isLast: false });
    expect(many.request.demand?.isOpen).toBe(false);
    for (const row of [0, 1]) e.model('again').asked[row]?.complete();
    expect(many.request.demand?.isOpen).toBe(true);
    many.complete();
    expect([heard.answers, heard.end, e.events.length]).toEqual([[], 'complete', 1]);
  });
});

describe('a request that ends', () => {
  it('has let go of its models when its caller hears', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const held: number[] = [];
    const note = (): void => void held.push(e.model('a').held + e.model('b').held);
    const inputs = new Map([['IN', new Tensor('UINT8', [1], Uint8Array.of(1))]]);
    e.running.infer(makeRequest({ inputs })).subscribe({ next: note });
    for (const name of ['a', 'b']) e.model(name).last.answer({ y: 1 });
    e.running.infer(makeRequest({ inputs })).subscribe({ error: note });
    e.model('a').last.fail(failure);
    expect(held).toEqual([0, 0]);
  });

  it('lets the next one have its permit when it fails, and has no cause but that of its step', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 1 });
    const heard = e.ask({ IN: 1 });
    e.ask({ IN: 2 });
    e.model('a').last.fail(failure);
    expect(e.model('a').asked.length).toBe(2);
    expect(heard.end).toMatchObject({ cause: failure });
  });

  it('leaves the permits of others alone when it goes while it waits for one', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 1 });
    e.ask({ IN: 1 });
    e.ask({ IN: 2 });
    const third = e.ask({ IN: 3 });
    third.caller.unsubscribe();
    expect([e.model('a').asked.length, counts(e)[0]]).toEqual([1, '0:a 3=0+1+1+1']);
  });

  it('by a step that finds its line full begins no other', () => {
    const e = new HandEnsemble(diamond, ['OUT'], { limit: 1, maxQueueSize: 1 });
    const heard = [1, 2, 3].map((byte) => {
      const each = e.ask({ IN: byte });
      e.model('a').last.answer({ y: byte });
      return each;
    });
    expect(heard[2]?.end).toMatchObject({ code: 'UNAVAILABLE' });
    expect(counts(e).slice(1, 3)).toEqual(['1:left 3=0+1+1+1', '2:right 2=0+0+1+1']);
  });

  it('by a step that fails at once begins no other', () => {
    const e = new HandEnsemble(diamond, ['OUT']);
    Object.assign(e.model('left'), { infer: () => throwError(() => failure) });
    const heard = e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 1 });
    expect([heard.end, e.model('right').asked]).toEqual([expect.objectContaining({ code: 'INTERNAL' }), []]);
  });

  it('by a step that answers again at once cancels it, and counts it once', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    let isCancelled = false;
    const infer = () =>
      new Observable<InferResponse>((answers) => {
        for (let n = 0; n < 3; n++) answers.next(response(1, false));
        return () => {
          isCancelled = true;
        };
      });
    Object.assign(e.model('a'), { infer });
    expect(e.ask({ IN: 1 }).end).toMatchObject({
      message: "in ensemble 'e', expected a single response from model 'a', got another one (step 0, model 'a')",
    });
    expect([isCancelled, counts(e)[0]]).toEqual([true, '0:a 1=0+1+0+0']);
  });
});

describe('bytes of answers that wait', () => {
  /** Answers of `b` by row, as many bytes as a test says. */
  const start = () => {
    const e = new HandEnsemble(manyThenOne, ['OUT']);
    const rows: ((length: number) => void)[] = [];
    const infer = (_: InferRequest) =>
      new Observable<InferResponse>((answers) => {
        rows.push((length) => {
          answers.next(response(length));
          answers.complete();
        });
      });
    Object.assign(e.model('b'), { infer });
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    const more = (): void => many.answer({ y: 1 }, { isLast: false });
    return { e, heard, many, more, rows };
  };

  it('count for the step that began their rows until they have left', () => {
    const { heard, many, more, rows } = start();
    const { demand } = many.request;
    more();
    rows[0]?.(5 * mebibyte);
    more();
    rows[1]?.(5 * mebibyte);
    expect([heard.answers.length, demand?.isOpen]).toEqual([2, true]);
    for (let n = 0; n < 2; n++) more();
    rows[3]?.(9 * mebibyte);
    expect(demand?.isOpen).toBe(false);
    rows[2]?.(1);
    expect([heard.answers.length, demand?.isOpen]).toEqual([4, true]);
  });

  it('end the request past the limit of those that wait for an earlier one', () => {
    const { e, heard, more, rows } = start();
    for (let n = 0; n < 3; n++) more();
    for (const row of [1, 2]) rows[row]?.(33 * mebibyte);
    expect(heard.end).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: "in ensemble 'e', answers that wait for earlier ones exceed the limit of 16384 answers or 67108864 bytes",
    });
    expect(counts(e)[1]).toBe('1:b 3=2+1+0+0');
  });
});
