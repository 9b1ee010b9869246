import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { datatypes } from '../src/streams/tensors/datatype.ts';

/** A model that exists in two kinds: for Weir (identity or ONNX) and for Triton (a few lines of Python). What they share is the config. */
interface TwinModel {
  readonly name: string;
  readonly config: string;
  readonly weirBackend: 'identity' | 'onnxruntime';
  /** The body of `execute`'s loop: gives `outputs` for `request`. */
  readonly python: string;
  readonly files?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '..');

const configType = (datatype: string): string => (datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`);

const tensor = (name: string, datatype: string, dims: string, more = ''): string =>
  `{ name: "${name}" data_type: ${configType(datatype)} dims: [ ${dims} ] ${more} }`;

const identityPython = (pairs: number): string =>
  Array.from(
    { length: pairs },
    (_, i) => `
            tensor = pb_utils.get_input_tensor_by_name(request, "INPUT${i}")
            if tensor is not None:
                outputs.append(pb_utils.Tensor("OUTPUT${i}", tensor.as_numpy()))`,
  ).join('');

/** numpy has no BF16. */
const bf16Python = `
            tensor = pb_utils.get_input_tensor_by_name(request, "INPUT0")
            outputs.append(pb_utils.Tensor.from_dlpack("OUTPUT0", tensor.to_dlpack()))`;

const addSubPython = `
            first = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            second = pb_utils.get_input_tensor_by_name(request, "INPUT1").as_numpy()
            outputs.append(pb_utils.Tensor("OUTPUT0", first + second))
            outputs.append(pb_utils.Tensor("OUTPUT1", first - second))`;

const models: readonly TwinModel[] = [
  ...datatypes.map(
    (datatype): TwinModel => ({
      name: `identity_${datatype.toLowerCase()}`,
      weirBackend: 'identity',
      config: `max_batch_size: 8
input [ ${tensor('INPUT0', datatype, '-1')} ]
output [ ${tensor('OUTPUT0', datatype, '-1')} ]
dynamic_batching { }`,
      python: datatype === 'BF16' ? bf16Python : identityPython(1),
    }),
  ),
  {
    name: 'add_sub',
    weirBackend: 'onnxruntime',
    config: `max_batch_size: 4
input [ ${tensor('INPUT0', 'INT32', '16')}, ${tensor('INPUT1', 'INT32', '16')} ]
output [ ${tensor('OUTPUT0', 'INT32', '16')}, ${tensor('OUTPUT1', 'INT32', '16')} ]
dynamic_batching { preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 100 }`,
    python: addSubPython,
  },
  {
    name: 'plain',
    weirBackend: 'identity',
    config: `input [ ${tensor('INPUT0', 'FP32', '2, 2')} ]
output [ ${tensor('OUTPUT0', 'FP32', '2, 2')} ]`,
    python: identityPython(1),
  },
  {
    name: 'plain_any',
    weirBackend: 'identity',
    config: `input [ ${tensor('INPUT0', 'INT64', '-1, -1')} ]
output [ ${tensor('OUTPUT0', 'INT64', '-1, -1')} ]`,
    python: identityPython(1),
  },
  {
    name: 'labelled',
    weirBackend: 'identity',
    config: `max_batch_size: 4
input [ ${tensor('INPUT0', 'FP32', '3')} ]
output [ ${tensor('OUTPUT0', 'FP32', '3', 'label_filename: "labels.txt"')} ]`,
    python: identityPython(1),
    files: { 'labels.txt': 'cat\ndog\n' },
  },
  {
    name: 'pair',
    weirBackend: 'identity',
    config: `max_batch_size: 4
input [ ${tensor('INPUT0', 'FP32', '2')}, ${tensor('INPUT1', 'BYTES', '1', 'optional: true')} ]
output [ ${tensor('OUTPUT0', 'FP32', '2')}, ${tensor('OUTPUT1', 'BYTES', '1')} ]`,
    python: identityPython(2),
  },
  {
    name: 'reshaped',
    weirBackend: 'identity',
    config: `max_batch_size: 4
input [ ${tensor('INPUT0', 'INT32', '4', 'reshape { shape: [ 2, 2 ] }')} ]
output [ ${tensor('OUTPUT0', 'INT32', '4', 'reshape { shape: [ 2, 2 ] }')} ]`,
    python: identityPython(1),
  },
  {
    name: 'scalar',
    weirBackend: 'identity',
    config: `max_batch_size: 4
input [ ${tensor('INPUT0', 'FP32', '1', 'reshape { shape: [ ] }')} ]
output [ ${tensor('OUTPUT0', 'FP32', '1', 'reshape { shape: [ ] }')} ]`,
    python: identityPython(1),
  },
];

const pythonModel = (body: string): string => `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            outputs = []${body}
            responses.append(pb_utils.InferenceResponse(outputs))
        return responses
`;

const instances = 'instance_group [ { kind: KIND_CPU count: 1 } ]';

const write = (folder: string, path: string, content: string | Uint8Array): void => {
  const file = join(folder, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
};

/** Lays the same models out for both servers: version 1 of each, and a version 3 of `plain`. */
export const writeRepositories = (weir: string, triton: string): void => {
  const onnx = readFileSync(join(root, 'examples', 'models', 'simple', '1', 'model.onnx'));
  for (const { name, config, weirBackend, python, files = {} } of models) {
    const versions = name === 'plain' ? ['1', '3'] : ['1'];
    const policy = name === 'plain' ? '\nversion_policy { all { } }' : '';
    write(weir, `${name}/config.pbtxt`, `backend: "${weirBackend}"\n${config}${policy}\n${instances}\n`);
    write(triton, `${name}/config.pbtxt`, `backend: "python"\n${config}${policy}\n${instances}\n`);
    for (const version of versions) {
      mkdirSync(join(weir, name, version), { recursive: true });
      if (weirBackend === 'onnxruntime') write(weir, `${name}/${version}/model.onnx`, onnx);
      write(triton, `${name}/${version}/model.py`, pythonModel(python));
    }
    for (const [path, content] of Object.entries(files)) for (const folder of [weir, triton]) write(folder, `${name}/${path}`, content);
  }
};
