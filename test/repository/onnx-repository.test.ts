import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { onnxruntimeBackend } from '../../src/backends/onnxruntime/onnxruntime-backend.ts';
import { workersStopped } from '../../src/backends/workers/workers-stopped.ts';
import { makeLog } from '../support/model.ts';
import { addSub, externalData, fixedBatch, identity, scalar, writeModel, zipMap } from '../support/onnx-models.ts';
import { folderOf } from './support/folders.ts';
import type { OpenRepository } from './support/open-repository.ts';
import { openRepository } from './support/open-repository.ts';
import { ask, fp32, requestTo } from './support/requests.ts';

const openOnnx = (root: string): Promise<OpenRepository> => {
  // Runs after the repository has been closed.
  onTestFinished(async () => {
    await workersStopped();
  });
  return openRepository([root], { backends: new Map([['onnxruntime', onnxruntimeBackend({ config: new Map(), log: makeLog() })]]) });
};

it('serves ONNX models without, with half and with a whole config', async () => {
  const root = await folderOf({});
  const onnx = addSub({ datatype: 'FP32', dims: ['batch', 2] });
  await writeModel(root, 'bare', { onnx });
  await writeModel(root, 'half', { onnx, config: 'max_batch_size: 8 instance_group { count: 1 }' });
  await writeModel(root, 'renamed', {
    onnx: identity({ dims: ['batch', 2] }),
    config: 'platform: "onnxruntime_onnx" default_model_filename: "net.onnx" instance_group { count: 1 }',
  });
  await rename(join(root, 'renamed/1/model.onnx'), join(root, 'renamed/1/net.onnx'));
  await mkdir(join(root, 'linked/1'), { recursive: true });
  await symlink(join(root, 'bare/1/model.onnx'), join(root, 'linked/1/model.onnx'));
  await writeModel(root, 'scalar', { onnx: scalar(), config: 'instance_group { count: 1 }' });
  const { repository, report } = await openOnnx(root);
  expect(report).toMatchObject({ failure: undefined });
  const { dataPlane } = repository;
  const sum = { OUTPUT0: { shape: [1, 2], values: [4, 6] }, OUTPUT1: { shape: [1, 2], values: [-2, -2] } };
  for (const name of ['bare', 'half', 'linked']) {
    const request = requestTo(name, { INPUT0: fp32([1, 2], [1, 2]), INPUT1: fp32([1, 2], [3, 4]) });
    expect((await ask(dataPlane, request)).outputs).toEqual(sum);
  }
  expect(dataPlane.model('bare', '').spec).toMatchObject({ maxBatchSize: 4, instanceGroups: [{ name: 'bare', count: 2 }] });
  expect(dataPlane.model('half', '').spec).toMatchObject({ maxBatchSize: 8, dynamicBatching: { preferredBatchSizes: [8] } });
  expect((await ask(dataPlane, requestTo('renamed', { INPUT0: fp32([1, 2], [1, 2]) }))).outputs.OUTPUT0?.values).toEqual([1, 2]);
  expect((await ask(dataPlane, requestTo('scalar', { INPUT0: fp32([1], [3]) }))).outputs).toEqual({
    OUTPUT0: { shape: [1], values: [6] },
  });
});

it('loads weights that lie beside the model, and says when they are gone', async () => {
  const root = await folderOf({});
  const { onnx, data } = externalData();
  await writeModel(root, 'whole', { onnx, files: { 'model.onnx.data': data } });
  await writeModel(root, 'torn', { onnx, files: { 'model.onnx.data': data } });
  await rm(join(root, 'torn/1/model.onnx.data'));
  const { repository, report } = await openOnnx(root);
  expect(report.models).toEqual([
    { name: 'torn', version: '1', state: 'UNAVAILABLE', reason: expect.stringContaining("unable to load model 'torn'") },
    { name: 'whole', version: '1', state: 'READY' },
  ]);
  const { outputs } = await ask(repository.dataPlane, requestTo('whole', { INPUT0: fp32([1, 4], [0, 0, 0, 0]) }));
  expect(outputs.OUTPUT0?.values).toEqual([1, 2, 3, 4]);
});

it('refuses what the model cannot do, and serves the tensors of one that has other outputs too', async () => {
  const root = await folderOf({});
  await writeModel(root, 'fixed', { onnx: fixedBatch(), config: 'max_batch_size: 8' });
  await writeModel(root, 'broken', { onnx: new Uint8Array([1, 2, 3]) });
  await writeModel(root, 'maps', { onnx: zipMap(), config: 'instance_group { count: 1 }' });
  await writeModel(root, 'gpu', { onnx: addSub(), config: 'instance_group { kind: KIND_GPU }' });
  const { repository, report } = await openOnnx(root);
  const reasons = new Map(report.models.map(({ name, reason = '' }) => [name, reason]));
  expect(reasons.get('fixed')).toContain("autofill failed for model 'fixed': model does not support batching");
  expect(reasons.get('broken')).toContain("unable to load model 'broken'");
  expect(reasons.get('gpu')).toContain('instance group gpu_0 of model gpu has kind KIND_GPU but');
  expect(reasons.get('maps')).toBe('');
  expect(repository.dataPlane.modelMetadata('maps', '').outputs.map(({ name }) => name)).toEqual(['OUTPUT0']);
});
