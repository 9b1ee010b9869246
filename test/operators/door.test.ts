import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { Door } from '../../src/operators/door.ts';
import type { Caller } from '../../src/streams/inference/request.ts';
import type { InferResponse } from '../../src/streams/inference/response.ts';
import { makeRequest, messageOf } from '../support/model.ts';

const caller: Caller = { modelName: 'pipeline', caller: undefined };

/** How a door's draining stands, told after every promise that is ready. */
const drain = (door: Door): (() => Promise<boolean>) => {
  let isDrained = false;
  void door.drain().then(() => {
    isDrained = true;
  });
  return async () => {
    await Promise.resolve();
    return isDrained;
  };
};

describe('Door', () => {
  it('is open to all until it closes, and then to requests of other models while one holds it', () => {
    const door = new Door();
    const openTo = () => [door.isOpenTo(makeRequest()), door.isOpenTo(makeRequest({ caller }))];
    expect(openTo()).toEqual([true, true]);
    door.hold();
    door.close();
    expect(openTo()).toEqual([false, true]);
    door.release();
    expect(openTo()).toEqual([false, false]);
  });

  it('is drained when nobody is inside or holds it', async () => {
    const door = new Door();
    door.enter();
    door.enter();
    door.hold();
    const isDrained = drain(door);
    expect(door.isOpenTo(makeRequest())).toBe(false);
    door.leave();
    door.release();
    expect(await isDrained()).toBe(false);
    door.leave();
    expect(await isDrained()).toBe(true);
    expect(await drain(door)()).toBe(true);
  });

  it('is not drained while somebody holds it, though nobody is inside', async () => {
    const door = new Door();
    door.hold();
    const isDrained = drain(door);
    expect(await isDrained()).toBe(false);
    door.release();
    expect(await isDrained()).toBe(true);
  });

  it.each(['complete', 'error', 'cancel'] as const)('counts a request inside from its subscription to its end: %s', async (how) => {
    const door = new Door();
    const inner = new Subject<InferResponse>();
    const ends: string[] = [];
    const asking = door
      .around(() => inner)(makeRequest())
      .subscribe({ complete: () => ends.push('complete'), error: () => ends.push('error') });
    const isDrained = drain(door);
    expect(await isDrained()).toBe(false);
    if (how === 'cancel') asking.unsubscribe();
    else inner[how](new Error('no'));
    expect([await isDrained(), inner.observed]).toEqual([true, false]);
    expect(ends).toEqual(how === 'cancel' ? [] : [how]);
  });

  it('refuses, and asks nobody, once it is closed', async () => {
    const door = new Door();
    let isAsked = false;
    const infer = door.around(() => {
      isAsked = true;
      return new Subject<InferResponse>();
    });
    await door.drain();
    const errors: string[] = [];
    infer(makeRequest({ id: 'a' })).subscribe({ error: (error) => errors.push(messageOf(error)) });
    expect(errors).toEqual([expect.stringMatching(/^UNAVAILABLE \[request id: a\] Server is stopping/)]);
    expect([isAsked, await drain(door)()]).toEqual([false, true]);
  });
});
