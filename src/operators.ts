export { batchKey } from './operators/batching/batch-key.ts';
export type { BatchStrategy, BatchStrategyFactory, StrategyModel } from './operators/batching/batch-strategy.ts';
export { type BatchLimits, planBatch, planSingle, type WaitingRequest } from './operators/batching/plan-batch.ts';
export { planByStrategy, type StrategyPlanConfig, type WaitingForStrategy } from './operators/batching/plan-by-strategy.ts';
export { planGrants, type Seat } from './operators/rate-limiter/plan-grants.ts';
export { controlInputs, type RowFlags } from './operators/sequences/control-inputs.ts';
export { planSlots, type SlotLimits, type SlotPlan, type SlotView } from './operators/sequences/plan-slots.ts';
export type { SequenceId } from './operators/sequences/sequence.ts';
export { type ArrivedRequest, sequenceFault } from './operators/sequences/sequence-fault.ts';
export { ArrivalLane } from './streams/flow/arrival-lane.ts';
export {
  type BufferCounters,
  type BufferWhenFreeConfig,
  bufferWhenFree,
  type Granted,
  noBufferCounters,
  type Plan,
} from './streams/flow/buffer-when-free.ts';
export { machineScheduler, type Scheduler } from './streams/flow/clock.ts';
export { InOrder, type InOrderConfig, noOrderCounters, type OrderCounters, type Turn } from './streams/flow/in-order.ts';
export type { Lane, Waiting } from './streams/flow/lane.ts';
export { type Lease, type LeasesConfig, leases } from './streams/flow/leases.ts';
export { type LevelRule, PriorityLane, type PriorityLaneConfig } from './streams/flow/priority-lane.ts';
export type { Contender, Grant, Pool, Share } from './streams/flow/share-permits.ts';
export type { Turnstile } from './streams/flow/turnstile.ts';
export type { Place } from './streams/flow/waiting-list.ts';
export { InferError } from './streams/inference/error.ts';
export type { Decision } from './streams/inference/infer.ts';
export type { BatchOptions, ControlInput, InputSpec, ModelSpec, SequenceBatching } from './streams/inference/model-spec.ts';
export type { InferRequest } from './streams/inference/request.ts';
export { Tensor, type Tensors } from './streams/tensors/tensor.ts';
export { tensorFrom } from './streams/tensors/tensor-from-values.ts';
