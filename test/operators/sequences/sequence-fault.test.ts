import { describe, expect, it } from 'vitest';
import { type ArrivedRequest, sequenceFault } from '../../../src/operators/sequences/sequence-fault.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { makeRequest, makeSpec, messageOf } from '../../support/model.ts';
import { makeSequenceBatching } from '../../support/sequences.ts';

const fault = (request: Partial<InferRequest>, arrived: Partial<ArrivedRequest> = {}, isIterative = false): string => {
  const decide = sequenceFault(makeSpec({ sequenceBatching: makeSequenceBatching({ isIterative }) }));
  const all = { request: makeRequest({ id: 'x', ...request }), rows: 1, isKnown: false, isStopping: false, endedBecause: undefined };
  return messageOf(decide({ ...all, ...arrived }, 0));
};

const rows = "INVALID_ARGUMENT inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher";
const noId = "INVALID_ARGUMENT inference request to model 'm' must specify a non-zero or non-empty correlation ID";
const noStart = (id: string): string =>
  `INVALID_ARGUMENT inference request for sequence ${id} to model 'm' must specify the START flag on the first request of the sequence`;
const stopping = 'UNAVAILABLE Server is stopping, scheduler for model has stopped accepting new inference requests';

describe('sequenceFault', () => {
  it.each([
    [{ sequenceId: 7n, sequenceStart: true }, {}, 'none'],
    [{ sequenceId: 7n, sequenceStart: true, sequenceEnd: true }, {}, 'none'],
    [{ sequenceId: 7n }, { isKnown: true }, 'none'],
    [{ sequenceId: 7n, sequenceStart: true }, { isKnown: true }, 'none'],
    [{ sequenceId: 7n }, {}, noStart('7')],
    [{ sequenceId: 'né' }, {}, noStart('né')],
    [{ sequenceId: 7n, sequenceEnd: true }, {}, noStart('7')],
    [{ sequenceId: 7n }, { endedBecause: 'it slept' }, `${noStart('7')}: it slept`],
    [{ sequenceId: 0n, sequenceStart: true }, {}, noId],
    [{ sequenceId: '' }, {}, noId],
    [{ sequenceId: 7n, sequenceStart: true }, { isStopping: true }, stopping],
    [{ sequenceId: 7n }, { isStopping: true, isKnown: true }, 'none'],
    [{ sequenceId: 7n }, { isStopping: true }, noStart('7')],
    // In this order.
    [{ sequenceId: 0n }, { rows: 2 }, rows],
    [{ sequenceId: 0n, sequenceStart: true }, { isStopping: true }, noId],
  ])('of %o, %o finds: %s', (request, arrived, expected) => expect(fault(request, arrived)).toBe(expected));

  it('lets a request without id begin a sequence of its own where the model is iterative', () => {
    expect(fault({ sequenceId: 0n }, {}, true)).toBe('none');
    expect(fault({ sequenceId: 0n }, { isStopping: true }, true)).toBe(stopping);
    expect(fault({ sequenceId: 7n }, {}, true)).toBe(noStart('7'));
  });
});
