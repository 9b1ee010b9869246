import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigBatchInput, ConfigBatchOutput, ModelConfig } from './model-config.ts';

export interface BatchTensorsContext {
  /** Of the model's backend; undefined for a backend that there is not. */
  readonly gathers: boolean | undefined;
  readonly ignoresWholeInputs: boolean | undefined;
}

const useless = ({ name, backend }: ModelConfig, field: 'batch_input' | 'batch_output', why: string): Finding =>
  fault(field, `backend '${backend}' ${why}: '${field}' cannot be set for ${name}`, { wanted: 'none' });

/** What a backend would leave undone. */
const checkBackend = (config: ModelConfig, { gathers, ignoresWholeInputs }: BatchTensorsContext): readonly Finding[] => [
  ...(config.batch_input.length > 0 && ignoresWholeInputs === true
    ? [useless(config, 'batch_input', 'reads no tensors of a whole batch')]
    : []),
  ...(config.batch_output.length > 0 && gathers === false
    ? [useless(config, 'batch_output', 'answers each request of a batch by itself and splits no tensor')]
    : []),
];

const checkSource = (config: ModelConfig, sources: readonly string[], field: string, who: string): readonly Finding[] => {
  const { name, input } = config;
  if (sources.length !== 1) {
    const text = `${who} expects 1 source input, got ${sources.length} for ${name}`;
    return [fault(`${field}.source_input`, text, { wanted: 'one name', got: String(sources.length) })];
  }
  return sources
    .filter((source) => !input.some((each) => each.name === source))
    .map((source) => fault(`${field}.source_input`, `unknown source input name '${source}' for ${name}`));
};

const checkInput = (
  config: ModelConfig,
  { kind, data_type, source_input, target_name }: ConfigBatchInput,
  index: number,
): readonly Finding[] => {
  const { name, input } = config;
  const field = `batch_input[${index}]`;
  const findings = [...checkSource(config, source_input, field, `batch input kind '${kind}'`)];
  if (data_type !== 'TYPE_INT32' && data_type !== 'TYPE_FP32') {
    const text = `batch input data type must be TYPE_INT32 or TYPE_FP32 for ${name}`;
    findings.push(fault(`${field}.data_type`, text, { wanted: 'TYPE_INT32 or TYPE_FP32', got: data_type }));
  }
  for (const target of target_name) {
    if (!input.some((each) => each.name === target)) continue;
    const text = `batch input '${target}' is an input of model ${name} too: what clients send there is replaced`;
    findings.push(warning(`${field}.target_name`, text));
  }
  if (target_name.length === 0) findings.push(warning(field, `a batch input of model ${name} has no 'target_name': nothing is told`));
  return findings;
};

const checkOutput = (config: ModelConfig, { kind, source_input, target_name }: ConfigBatchOutput, index: number): readonly Finding[] => {
  const field = `batch_output[${index}].target_name`;
  const findings = [...checkSource(config, source_input, `batch_output[${index}]`, `batch output kind '${kind}'`)];
  for (const target of target_name) {
    if (config.output.some((each) => each.name === target)) continue;
    findings.push(fault(field, `unknown target output name '${target}' for ${config.name}`));
  }
  return findings;
};

/** An output is split once. */
const checkTargets = ({ name, batch_output }: ModelConfig): readonly Finding[] => {
  const seen = new Set<string>();
  return batch_output.flatMap(({ target_name }, index) =>
    target_name.flatMap((target) => {
      if (!seen.has(target)) {
        seen.add(target);
        return [];
      }
      return [fault(`batch_output[${index}].target_name`, `target output name '${target}' can only be specified once for ${name}`)];
    }),
  );
};

/** Faults of `batch_input` and `batch_output`. */
export const checkBatchTensors = (config: ModelConfig, context: BatchTensorsContext): readonly Finding[] => [
  ...checkBackend(config, context),
  ...config.batch_input.flatMap((batchInput, index) => checkInput(config, batchInput, index)),
  ...config.batch_output.flatMap((batchOutput, index) => checkOutput(config, batchOutput, index)),
  ...checkTargets(config),
];
