import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Server } from '../../src/index.ts';
import { environment, hasPython } from '../backends/python/python-models.ts';
import { folderOf } from '../repository/support/folders.ts';

const config = (backend: string, more: string): string => `backend: "${backend}" max_batch_size: 8 dynamic_batching { }
  input { name: "X" data_type: TYPE_INT32 dims: -1 allow_ragged_batch: true } output { name: "Y" data_type: TYPE_INT32 dims: -1 } ${more}`;
const told = 'batch_input { kind: BATCH_ELEMENT_COUNT target_name: "COUNT" data_type: TYPE_INT32 source_input: "X" }';
const split = 'batch_output { target_name: "Y" source_input: "X" }';
const python = `parameters { key: "EXECUTION_ENV_PATH" value { string_value: "${environment}" } }`;

const script = `import { defineModel } from 'weir/backend';
export default defineModel({ execute: (requests, context) =>
  requests.map(() => ({ outputs: { Y: { shape: [1, 1], data: context.batchInput('COUNT').data } } })) });`;

const code = `import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        counts = [pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy().reshape(1, -1) for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", count)]) for count in counts]
`;

const backends: readonly (readonly [backend: string, file: string, source: string, rest: string])[] = [
  ['javascript', 'model.ts', script, ''],
  ...(hasPython ? [['python', 'model.py', code, python] as const] : []),
];

it.each(backends)(
  'a model in %s is told of its batch, and has no output that the server would split',
  async (backend, file, source, rest) => {
    const root = await folderOf({});
    for (const [name, more] of Object.entries({ told, split })) {
      await mkdir(join(root, name, '1'), { recursive: true });
      await writeFile(join(root, name, 'config.pbtxt'), config(backend, `${more} ${rest}`));
      await writeFile(join(root, name, '1', file), source);
    }
    const server = await Server.start({ modelRepository: root, models: { exitOnError: false }, log: { error: false } });
    onTestFinished(() => server.close());
    const reasons = new Map((await server.index()).map(({ name, reason }) => [name, reason]));
    expect(reasons.get('told')).toBeUndefined();
    expect(reasons.get('split')).toContain(
      `backend '${backend}' answers each request of a batch by itself and splits no tensor: 'batch_output' cannot be set for split`,
    );
    const answer = await server.model('told').inferOnce({ inputs: { X: { shape: [1, 3], values: [7, 8, 9] } } });
    expect([...answer.values('Y')]).toEqual([3]);
  },
);
