import type { Caller, InferRequest } from '../../streams/inference/request.ts';

interface WithRequests {
  readonly batch: { readonly requests: readonly InferRequest[] };
}

const waitsFor = (model: string, caller: Caller | undefined): boolean =>
  caller !== undefined && (caller.modelName === model || waitsFor(model, caller.caller));

/**
 * Who calls, when a model's code calls `target`. Its code says out of which batch; of which request of it, or of which batch when a thread of the
 * model calls, nobody knows. So the chain is that of a request that waits by way of `target`, where there is one: then the call would wait for
 * itself. Else it is that of the first request.
 */
export const callerFrom = (
  modelName: string,
  requests: readonly InferRequest[] | undefined,
  open: readonly WithRequests[],
  target: string,
): Caller => {
  const candidates = requests ?? (open.length === 1 ? open[0]?.batch.requests : undefined) ?? [];
  const waiting = candidates.find(({ caller }) => waitsFor(target, caller));
  return { modelName, caller: (waiting ?? candidates[0])?.caller };
};
