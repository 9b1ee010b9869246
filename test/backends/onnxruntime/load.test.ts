import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { onnxruntimeBackend } from '../../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeLog, makePlacement } from '../../support/model.ts';
import { addSub, externalData, identity, node, onnxModel, scalar, zipMap } from '../../support/onnx-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { cpu, makeBatch, outputsOf, partsOf, workbench } from './workbench.ts';

const spec = modelSpec({ maxBatchSize: 8, inputs: [inputSpec('INPUT0', 'FP32', [4])], outputs: [outputSpec('OUTPUT0', 'FP32', [4])] });

describe('loading with the onnxruntime backend', () => {
  const { backend, log, write, open } = workbench();

  it('describes inputs and outputs as the model has them', async () => {
    expect(await backend.describe(await write({ onnx: addSub() }))).toEqual({
      inputs: ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [-1, 16] })),
      outputs: ['OUTPUT0', 'OUTPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [-1, 16] })),
    });
    expect(await backend.describe(await write({ onnx: scalar() }))).toMatchObject({ inputs: [{ shape: [] }], outputs: [{ shape: [] }] });
    expect(await backend.describe(await write({ onnx: identity({ datatype: 'BYTES', dims: ['batch', 2, 'any'] }) }))).toMatchObject({
      inputs: [{ datatype: 'BYTES', shape: [-1, 2, -1] }],
    });
  });

  it('leaves out an output that is no tensor with a warning that names it, and serves the others', async () => {
    const files = await write({ onnx: zipMap() });
    expect(await backend.describe(files)).toMatchObject({ outputs: [{ name: 'OUTPUT0' }] });
    const kind = `'PROBABILITIES' is a sequence of map from INT64 to FLOAT tensor, which onnxruntime-node cannot carry`;
    expect(log.lines.at(-1)).toContain(`model 'm' is served without one of its outputs: ${kind}`);

    const three = { ...spec, inputs: [inputSpec('INPUT0', 'FP32', [3])], outputs: [outputSpec('OUTPUT0', 'FP32', [3])] };
    const { instance } = await open(files, three);
    const [answer] = await outputsOf(instance, [inferRequest({ INPUT0: tensorFrom('FP32', [1, 3], [1, 2, 3]) })]);
    expect(answer?.shape).toEqual([1, 3]);
    await expect(open(files, { ...three, outputs: [outputSpec('PROBABILITIES', 'FP32', [3])] })).rejects.toMatchObject({
      code: 'UNIMPLEMENTED',
      message: `unable to start model instance 'm_0': ${kind}`,
    });
  });

  it('names a datatype that cannot be carried', async () => {
    const files = await write({ onnx: identity({ datatype: 'BF16' }) });
    await expect(backend.describe(files)).rejects.toMatchObject({
      code: 'UNIMPLEMENTED',
      message: `unable to load model 'm': 'INPUT0' is a BF16 tensor, which onnxruntime-node cannot carry`,
    });
    const bf16 = modelSpec({ inputs: [inputSpec('INPUT0', 'BF16', [4])], outputs: [outputSpec('OUTPUT0', 'BF16', [4])] });
    await expect(open(files, bf16)).rejects.toThrow(
      `unable to load model 'm', tensor 'INPUT0' has datatype BF16, which onnxruntime-node cannot carry`,
    );
  });

  it('tells of a file that is missing, and of one that is none', async () => {
    const files = await write({ onnx: new Uint8Array([1, 2, 3]) });
    const path = join(files.versionDirectory, 'model.onnx');
    const refused = `Load model from ${path} failed:Protobuf parsing failed.`;
    await expect(backend.describe(files)).rejects.toMatchObject({ code: 'INTERNAL', message: `unable to load model 'm': ${refused}` });
    await expect(open(files, spec)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: `unable to start model instance 'm_0': ${refused}`,
    });
    await rm(path);
    const missing = { code: 'UNAVAILABLE', message: `unable to find '${path}' for model instance 'm'` };
    await expect(backend.describe(files)).rejects.toMatchObject(missing);
    await expect(open(files, spec)).rejects.toMatchObject(missing);
    await mkdir(path);
    await expect(open(files, spec)).rejects.toMatchObject({
      message: `unable to find '${join(path, 'model.onnx')}' for model instance 'm'`,
    });
  });

  it('names an operator that ONNX Runtime does not know', async () => {
    const tensor = (name: string) => ({ name, datatype: 'FP32' as const, dims: ['batch', 4] });
    const nodes = [node('Mystery', ['INPUT0'], ['OUTPUT0'], { domain: 'ai.onnx.ml' })];
    const files = await write({ onnx: onnxModel({ inputs: [tensor('INPUT0')], outputs: [tensor('OUTPUT0')], nodes }) });
    await expect(open(files, spec)).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('Mystery') });
  });

  it('finds weights beside the model, also in a folder in its place', async () => {
    const { onnx, data } = externalData();
    const files = await write({ onnx, files: { 'model.onnx.data': data } });
    const plusWeights = async (): Promise<unknown> => {
      const { instance, life } = await open(files, spec);
      const [answer] = await outputsOf(instance, [inferRequest({ INPUT0: tensorFrom('FP32', [1, 4], [0, 0, 0, 0]) })]);
      life.unsubscribe();
      return answer === undefined ? undefined : [...tensorValues(answer)];
    };
    expect(await plusWeights()).toEqual([1, 2, 3, 4]);

    const inVersion = (path: string): string => join(files.versionDirectory, path);
    await mkdir(inVersion('folder'));
    for (const name of ['model.onnx', 'model.onnx.data']) await rename(inVersion(name), inVersion(`folder/${name}`));
    await rename(inVersion('folder'), inVersion('model.onnx'));
    expect(await plusWeights()).toEqual([1, 2, 3, 4]);

    await rm(inVersion('model.onnx/model.onnx.data'));
    await expect(backend.describe(files)).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('model.onnx.data') });
  });

  it('refuses a GPU on a machine without one, before the file is looked for', async () => {
    const files = { modelName: 'm', modelDirectory: '/nowhere', versionDirectory: '/nowhere/1', modelFile: 'model.onnx' };
    const gpu = {
      ...spec,
      instanceGroups: [{ name: 'fast', kind: 'GPU' as const, count: 1, gpus: [0], isPassive: false, resources: [], priority: 1 }],
    };
    const opening = open(files, gpu, makePlacement({ name: 'fast_0', kind: 'GPU' }));
    await expect(opening).rejects.toMatchObject({
      code: expect.stringMatching(/INVALID_ARGUMENT|UNAVAILABLE/),
      message: expect.stringMatching(/^instance group fast of model m has kind KIND_GPU but no GPUs are available$|^unable to find/),
    });
  });

  it('refuses an optional input of a model that batches, and a request without one of a model that does not', async () => {
    const files = await write({ onnx: addSub({ datatype: 'FP32', dims: [4] }) });
    const inputs = [inputSpec('INPUT0', 'FP32', [4]), inputSpec('INPUT1', 'FP32', [4], { optional: true })];
    await expect(open(files, { ...spec, inputs })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: `unable to load model 'm', optional input 'INPUT1' is not supported for models that support batching`,
    });
    const { instance } = await open(files, { ...spec, maxBatchSize: 0, inputs });
    const INPUT0 = tensorFrom('FP32', [4], [1, 2, 3, 4]);
    const [sum] = await outputsOf(instance, [inferRequest({ INPUT0, INPUT1: INPUT0 })]);
    expect(sum?.bytes).toEqual(tensorFrom('FP32', [4], [2, 4, 6, 8]).bytes);
    const [part] = await partsOf(instance.run(makeBatch([inferRequest({ INPUT0 })])));
    expect(part).toMatchObject({
      of: 0,
      isLast: true,
      error: {
        code: 'INVALID_ARGUMENT',
        message: `optional input 'INPUT1' is missing in the request to model 'm': onnxruntime-node cannot run it without`,
      },
    });
  });

  it('warns of a setting that it does not have', () => {
    const own = makeLog();
    onnxruntimeBackend({
      config: new Map([
        ['intra_op_thread_count', '2'],
        ['thread_count', '2'],
        ['default-max-batch-size', '4'],
      ]),
      log: own,
    });
    expect(own.lines).toHaveLength(1);
    expect(own.lines[0]).toContain(`'onnxruntime,thread_count' is not known`);
  });

  it('runs with every session setting that it has', async () => {
    const parameters = new Map([
      ['intra_op_thread_count', '2'],
      ['inter_op_thread_count', '2'],
      ['execution_mode', '1'],
      ['enable_mem_arena', '0'],
      ['enable_mem_pattern', 'off'],
      ['session.use_device_allocator_for_initializers', '1'],
    ]);
    const { instance } = await open(await write({ onnx: identity() }), { ...spec, parameters, graphLevel: 2 }, cpu);
    const [answer] = await outputsOf(instance, [inferRequest({ INPUT0: tensorFrom('FP32', [1, 4], [1, 2, 3, 4]) })]);
    expect(answer?.shape).toEqual([1, 4]);
  });
});
