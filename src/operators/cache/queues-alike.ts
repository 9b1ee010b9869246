import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { InferRequest } from '../../streams/inference/request.ts';

/**
 * Whether two requests would wait alike in the model's queue: at one level, and for as long. Only then may one be answered by the run of the other, which else
 * would let the urgent one wait as the patient one does, or past its time-out.
 */
export const queuesAlike = ({ dynamicBatching }: Pick<ModelSpec, 'dynamicBatching'>): ((a: InferRequest, b: InferRequest) => boolean) => {
  if (dynamicBatching === undefined) return () => true;
  const { priorityLevels, defaultPriorityLevel, defaultQueuePolicy, queuePolicies } = dynamicBatching;
  const levelOf = (priority: bigint): bigint => (priority === 0n || priority > priorityLevels ? defaultPriorityLevel : priority);
  const mayShorten = [defaultQueuePolicy, ...queuePolicies.values()].some(
    ({ allowTimeoutOverride, defaultTimeoutMs }) => allowTimeoutOverride && defaultTimeoutMs > 0,
  );
  return (a, b) =>
    (priorityLevels === 0n || levelOf(a.priority) === levelOf(b.priority)) &&
    (!mayShorten || a.timeoutMicroseconds === b.timeoutMicroseconds);
};
