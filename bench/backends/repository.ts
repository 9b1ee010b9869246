import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const smallFloats = 16;
/** Elements of an FP32 tensor of so many MiB. */
const mebibytes = (count: number): number => (count * 2 ** 20) / 4;
/** Models of `writePythonModels`, by how many elements their tensors have. */
export const pythonFloats = { small: smallFloats, medium: mebibytes(1), large: mebibytes(8) } as const;
export const calls = 32;
export const callMs = 50;

/** Where the checks put a Python with numpy; `''` for `python3` on the PATH. */
const environment = ((path) => (existsSync(path) ? path : ''))(join(import.meta.dirname, '..', '..', '.venv'));

export const python = environment === '' ? 'python3' : join(environment, 'bin', 'python');

const identityTensors = (floats: number): string => `input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ ${floats} ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ ${floats} ] } ]
`;

const environmentOf = (backend: string): string =>
  backend === 'python' && environment !== '' ? `parameters { key: "EXECUTION_ENV_PATH" value: { string_value: "${environment}" } }\n` : '';

const identity = (backend: string, floats: number, maxBatchSize: number): string =>
  `backend: "${backend}"\nmax_batch_size: ${maxBatchSize}\n${identityTensors(floats)}dynamic_batching { }\n${environmentOf(backend)}`;

const javascriptIdentity = `export default {
  execute: (requests) => requests.map((request) => ({ outputs: { OUTPUT0: request.input('INPUT0') } })),
};
`;

const pythonIdentity = `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy())])
            for request in requests
        ]
`;

const target = `backend: "identity"
${identityTensors(smallFloats)}instance_group [ { kind: KIND_CPU count: ${calls} } ]
parameters { key: "execute_delay_ms" value: { string_value: "${callMs}" } }
`;

const caller = (backend: string): string => `backend: "${backend}"
input [ { name: "CALLS" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "ANSWERS" data_type: TYPE_INT32 dims: [ 1 ] } ]
${environmentOf(backend)}`;

const javascriptCaller = `export default {
  execute: (requests, context) => Promise.all(requests.map(async (request) => {
    const [calls] = request.input('CALLS', 'INT32').data;
    const inputs = { INPUT0: { datatype: 'FP32', shape: [${smallFloats}], data: new Float32Array(${smallFloats}) } };
    const answers = await Promise.all(Array.from({ length: calls }, () => context.infer({ model: 'target', inputs })));
    return { outputs: { ANSWERS: { datatype: 'INT32', shape: [1], data: Int32Array.of(answers.length) } } };
  })),
};
`;

const pythonCaller = `import asyncio

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    async def execute(self, requests):
        return [await self.answer(request) for request in requests]

    async def answer(self, request):
        count = int(pb_utils.get_input_tensor_by_name(request, "CALLS").as_numpy()[0])
        floats = pb_utils.Tensor("INPUT0", numpy.zeros(${smallFloats}, numpy.float32))
        answers = await asyncio.gather(
            *(
                pb_utils.InferenceRequest(model_name="target", requested_output_names=["OUTPUT0"], inputs=[floats]).async_exec()
                for _ in range(count)
            )
        )
        failed = [answer for answer in answers if answer.has_error()]
        if failed:
            raise pb_utils.TritonModelException(failed[0].error().message())
        return pb_utils.InferenceResponse([pb_utils.Tensor("ANSWERS", numpy.array([len(answers)], numpy.int32))])
`;

const folder = (): string => mkdtempSync(join(tmpdir(), 'weir-bench-'));

const write = (repository: string, name: string, config: string, file?: readonly [name: string, text: string]): void => {
  mkdirSync(join(repository, name, '1'), { recursive: true });
  writeFileSync(join(repository, name, 'config.pbtxt'), config);
  if (file !== undefined) writeFileSync(join(repository, name, '1', file[0]), file[1]);
};

/** The identity model in JavaScript and built in, in batches of up to 8. */
export const writeJavascriptModels = (): string => {
  const repository = folder();
  write(repository, 'identity', identity('identity', smallFloats, 8));
  write(repository, 'javascript', identity('javascript', smallFloats, 8), ['model.mjs', javascriptIdentity]);
  return repository;
};

/** The identity model in Python, for small tensors, for those of 1 MiB and for those of 8 MiB. */
export const writePythonModels = (): string => {
  const repository = folder();
  write(repository, 'small', identity('python', smallFloats, 64), ['model.py', pythonIdentity]);
  write(repository, 'medium', identity('python', pythonFloats.medium, 8), ['model.py', pythonIdentity]);
  write(repository, 'large', identity('python', pythonFloats.large, 1), ['model.py', pythonIdentity]);
  return repository;
};

/** Models that call another one, `target`, as often as they are asked to. */
export const writeCallers = (): string => {
  const repository = folder();
  write(repository, 'target', target);
  write(repository, 'javascript', caller('javascript'), ['model.mjs', javascriptCaller]);
  write(repository, 'python', caller('python'), ['model.py', pythonCaller]);
  return repository;
};
