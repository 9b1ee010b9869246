import { describe, expect, it } from 'vitest';
import { callerFrom } from '../../../src/backends/python/caller-from.ts';
import type { Caller } from '../../../src/streams/inference/request.ts';
import { makeRequest } from '../../support/model.ts';

const by = (caller: Caller | undefined) => makeRequest(caller === undefined ? {} : { caller });
const a: Caller = { modelName: 'a', caller: undefined };
const b: Caller = { modelName: 'b', caller: a };

describe('who calls', () => {
  it('is the model itself, for the first request of its batch', () => {
    expect(callerFrom('m', [by(b), by(undefined)], [], 'x')).toEqual({ modelName: 'm', caller: b });
    expect(callerFrom('m', [by(undefined), by(b)], [], 'x')).toEqual({ modelName: 'm', caller: undefined });
  });

  it('is for the request that waits by way of the called model, where there is one', () => {
    expect(callerFrom('m', [by(undefined), by(b)], [], 'a')).toEqual({ modelName: 'm', caller: b });
  });

  it('is for the one batch that is open, when its code does not say which', () => {
    expect(callerFrom('m', undefined, [{ batch: { requests: [by(b)] } }], 'x')).toEqual({ modelName: 'm', caller: b });
    const two = [{ batch: { requests: [by(b)] } }, { batch: { requests: [by(a)] } }];
    expect(callerFrom('m', undefined, two, 'x')).toEqual({ modelName: 'm', caller: undefined });
  });
});
