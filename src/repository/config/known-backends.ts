/** What a Triton repository takes for granted about a backend, whether or not this server has it. */
export interface KnownBackend {
  readonly backend: string;
  /** Names that `platform` may have; the first is filled in where the config has none. */
  readonly platforms: readonly string[];
  readonly modelFilename: string;
  /** Instances of a KIND_CPU group without a count. */
  readonly cpuInstances: number;
}

/** In the order in which a model folder is searched for their files. */
export const knownBackends: readonly KnownBackend[] = [
  { backend: 'tensorflow', platforms: ['tensorflow_savedmodel'], modelFilename: 'model.savedmodel', cpuInstances: 2 },
  { backend: 'tensorflow', platforms: ['tensorflow_graphdef'], modelFilename: 'model.graphdef', cpuInstances: 2 },
  { backend: 'tensorrt', platforms: ['tensorrt_plan'], modelFilename: 'model.plan', cpuInstances: 1 },
  { backend: 'onnxruntime', platforms: ['onnxruntime_onnx'], modelFilename: 'model.onnx', cpuInstances: 2 },
  { backend: 'openvino', platforms: [], modelFilename: 'model.xml', cpuInstances: 1 },
  { backend: 'pytorch', platforms: ['pytorch_libtorch', 'libtorch'], modelFilename: 'model.pt', cpuInstances: 1 },
  { backend: 'pytorch', platforms: ['torch_aoti'], modelFilename: 'model.pt2', cpuInstances: 1 },
  { backend: 'python', platforms: [], modelFilename: 'model.py', cpuInstances: 1 },
  { backend: 'javascript', platforms: [], modelFilename: 'model.ts', cpuInstances: 1 },
  { backend: 'javascript', platforms: [], modelFilename: 'model.js', cpuInstances: 1 },
  { backend: 'javascript', platforms: [], modelFilename: 'model.mjs', cpuInstances: 1 },
];

export const defaultCpuInstances = (backend: string): number => knownBackends.find((known) => known.backend === backend)?.cpuInstances ?? 1;
