// `weir/backend`: what a JavaScript model is written against.
export type { Execution, ModelAnswer, ModelResponse, ModelResponses } from './backends/javascript/model-answer.ts';
export type { CallAnswer, CallOptions, ModelCall } from './backends/javascript/model-call.ts';
export type {
  ExecuteContext,
  LoadContext,
  ModelCounter,
  ModelGauge,
  ModelHistogram,
  ModelLogger,
  ModelMetrics,
} from './backends/javascript/model-context.ts';
export { defineModel, type Model, ModelError, perRequest } from './backends/javascript/model-module.ts';
export type { ModelRequest } from './backends/javascript/model-request.ts';
export type { FixedTensorArrays, MadeTensor, ModelTensor, TensorArrays } from './backends/javascript/model-tensor.ts';
export type { ErrorCode } from './streams/inference/error.ts';
export type { InstanceKind, ModelConfigDocument } from './streams/inference/model-spec.ts';
export type { ParameterValue } from './streams/inference/parameters.ts';
export type { Datatype } from './streams/tensors/datatype.ts';
