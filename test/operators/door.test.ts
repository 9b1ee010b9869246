import { NEVER, of, Subject } from 'rxjs';
import { expect, it } from 'vitest';
import { Door } from '../../src/operators/door.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { makeRequest } from '../support/model.ts';

const caller = { modelName: 'e', caller: undefined };
const isDrained = async (draining: Promise<void>): Promise<boolean> => {
  const later = Promise.resolve().then(() => Promise.resolve(false));
  return Promise.race([draining.then(() => true), later]);
};

it('lets everybody in until it closes, and says when nobody is inside any more', async () => {
  const door = new Door();
  const answers = new Subject<InferResponse>();
  const infer = door.around(() => answers);
  const asking = infer(makeRequest()).subscribe();
  const leaving = infer(makeRequest()).subscribe();
  const draining = door.drain();
  let refusal: unknown;
  infer(makeRequest({ caller })).subscribe({ error: (error) => (refusal = error) });
  expect(refusal).toMatchObject({ code: 'UNAVAILABLE' });
  leaving.unsubscribe();
  expect(await isDrained(draining)).toBe(false);
  answers.complete();
  expect([await isDrained(draining), asking.closed]).toEqual([true, true]);
});

it('stays open, for requests of models, to those who hold it', async () => {
  const door = new Door();
  door.hold();
  const draining = door.drain();
  expect([door.isOpenTo(makeRequest()), door.isOpenTo(makeRequest({ caller }))]).toEqual([false, true]);
  const asking = door
    .around(() => NEVER)(makeRequest({ caller }))
    .subscribe();
  door.release();
  expect([await isDrained(draining), door.isOpenTo(makeRequest({ caller }))]).toEqual([false, false]);
  asking.unsubscribe();
  expect(await isDrained(draining)).toBe(true);
});

it('is drained at once when nobody is inside', async () => {
  const door = new Door();
  door
    .around(() => of())(makeRequest())
    .subscribe();
  expect(await isDrained(door.drain())).toBe(true);
});
