import { join } from 'node:path';
import type { ModelFiles, Placement } from '../../streams/inference/backend.ts';
import { jsonText } from '../../streams/inference/json/json-text.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import type { PythonSettings } from './python-settings.ts';

/** Names of everything that a batch may bring: the model's own inputs, and those that the server adds. */
export const inputNames = ({ inputs, sequenceBatching, batchInputs }: ModelSpec): readonly string[] => [
  ...new Set([
    ...inputs.map(({ name }) => name),
    ...(sequenceBatching?.controls ?? []).map(({ name }) => name),
    ...(sequenceBatching?.states ?? []).map(({ inputName }) => inputName),
    ...batchInputs.flatMap(({ names }) => names),
  ]),
];

const stateOutputs = (batching: ModelSpec['sequenceBatching']): readonly string[] =>
  (batching?.states ?? []).map(({ outputName }) => outputName);

export interface ModelArguments {
  readonly kind: string;
  readonly device: number;
  readonly instance: string;
  readonly version: string;
  readonly config: unknown;
}

/** What a model's `initialize` is given: strings alone. */
const argumentsOf = ({ modelName, modelDirectory }: ModelFiles, { kind, device, instance, version, config }: ModelArguments) => ({
  model_config: jsonText(config),
  model_instance_kind: kind,
  model_instance_name: instance,
  model_instance_device_id: String(device),
  model_repository: modelDirectory,
  model_version: version,
  model_name: modelName,
});

const placesOf = ({ versionDirectory, modelFile }: ModelFiles) => ({ versionDirectory, file: join(versionDirectory, modelFile) });

export const instanceStart = (
  files: ModelFiles,
  spec: ModelSpec,
  { kind, device, name }: Placement,
  { memoryBytes, growthBytes, callLimit, roomSeconds }: PythonSettings,
): ((prefix: string) => Readonly<Record<string, unknown>>) => {
  const args = argumentsOf(files, { kind, device, instance: name, version: spec.version, config: spec.config });
  return (prefix) => ({
    mode: 'serve',
    ...placesOf(files),
    args,
    inputs: inputNames(spec),
    outputs: spec.outputs.map((output) => output.name),
    states: stateOutputs(spec.sequenceBatching),
    decoupled: spec.decoupled,
    prefix: `${prefix}p`,
    memoryBytes,
    growthBytes,
    calls: callLimit,
    roomSeconds,
  });
};

/** Of the process that only completes a config. */
export const completionStart = (files: ModelFiles, version: string, config: unknown): Readonly<Record<string, unknown>> => ({
  mode: 'complete',
  ...placesOf(files),
  args: argumentsOf(files, { kind: 'CPU', device: 0, instance: files.modelName, version, config }),
  config,
});
