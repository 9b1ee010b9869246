import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import { echoing, TestDataPlane, variableSpec } from './support/data-plane.ts';
import { type Serving, serve } from './support/serving.ts';

const healthService = 'grpc.health.v1.Health';

const config = {
  name: 'echo',
  max_batch_size: 0,
  input: [{ name: 'IN', data_type: 'TYPE_UINT8', dims: [-1] }],
  dynamic_batching: { max_queue_delay_microseconds: 2n ** 60n },
  version_policy: { latest: { num_versions: 1 } },
};

let dataPlane: TestDataPlane;
let serving: Serving;

beforeAll(async () => {
  dataPlane = new TestDataPlane().add(variableSpec('echo', { config, platform: 'p' }), echoing);
  serving = await serve(dataPlane);
});
afterAll(() => serving.stop());

describe('health', () => {
  it('tells whether the server is live and ready', async () => {
    expect(await serving.client.call('ServerLive', {})).toEqual({ live: true });
    expect(await serving.client.call('ServerReady', {})).toEqual({ ready: true });
    dataPlane.ready = false;
    expect(await serving.client.call('ServerReady', {})).toEqual({ ready: false });
    dataPlane.ready = true;
  });

  it.each([
    { name: 'echo', version: '', ready: true },
    { name: 'echo', version: '1', ready: true },
    { name: 'echo', version: '2', ready: false },
    { name: 'nobody', version: '', ready: false },
  ])('answers OK for ModelReady of $name $version', async ({ ready, ...model }) => {
    expect(await serving.client.call('ModelReady', model)).toEqual({ ready });
  });

  it('answers grpc.health.v1, whichever service is asked for', async () => {
    expect(await serving.client.call('Check', { service: 'any' }, undefined, healthService)).toEqual({ status: 'SERVING' });
    dataPlane.ready = false;
    expect(await serving.client.call('Check', {}, undefined, healthService)).toEqual({ status: 'NOT_SERVING' });
    dataPlane.ready = true;
  });

  it('refuses while the server exits', async () => {
    dataPlane.exiting = true;
    const refusal = (details: string) => ({ code: status.UNAVAILABLE, details });
    await expect(serving.client.call('ServerLive', {})).rejects.toMatchObject(refusal('Server exiting'));
    await expect(serving.client.call('ServerReady', {})).rejects.toMatchObject(refusal('Server exiting'));
    await expect(serving.client.call('Check', {}, undefined, healthService)).rejects.toMatchObject(refusal('Server exiting'));
    for (const name of ['ModelReady', 'ServerMetadata', 'ModelMetadata', 'ModelConfig', 'ModelStatistics', 'RepositoryIndex']) {
      await expect(serving.client.call(name, {})).rejects.toMatchObject(refusal('Server not ready'));
    }
    await expect(serving.client.infer({ model_name: 'echo' })).rejects.toMatchObject(
      refusal('GRPC server is shutting down and has stopped accepting new requests.'),
    );
    dataPlane.exiting = false;
  });
});

describe('metadata', () => {
  it('tells the server and its extensions', async () => {
    expect(await serving.client.call('ServerMetadata', {})).toEqual({
      name: 'triton',
      version: '0.0.1',
      extensions: ['statistics', 'binary_tensor_data'],
    });
  });

  it('tells the tensors of a model', async () => {
    expect(await serving.client.call('ModelMetadata', { name: 'echo' })).toEqual({
      name: 'echo',
      versions: ['1'],
      platform: 'p',
      inputs: [{ name: 'IN', datatype: 'UINT8', shape: ['-1'] }],
      outputs: [{ name: 'OUT', datatype: 'UINT8', shape: ['-1'] }],
    });
  });

  it('answers with the config as it was loaded, 64-bit integers exact', async () => {
    expect(await serving.client.call('ModelConfig', { name: 'echo', version: '1' })).toMatchObject({
      config: {
        name: 'echo',
        max_batch_size: 0,
        input: [{ name: 'IN', data_type: 'TYPE_UINT8', dims: ['-1'] }],
        dynamic_batching: { max_queue_delay_microseconds: String(2n ** 60n) },
        version_policy: { latest: { num_versions: 1 } },
      },
    });
  });

  it.each(['ModelMetadata', 'ModelConfig'])('%s of what is not there is NOT_FOUND', async (name) => {
    await expect(serving.client.call(name, { name: 'foo' })).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: "Request for unknown model: 'foo' is not found",
    });
    await expect(serving.client.call(name, { name: 'echo', version: '99' })).rejects.toMatchObject({
      code: status.NOT_FOUND,
      details: "Request for unknown model: 'echo' version 99 is not found",
    });
  });

  it.each(['ModelMetadata', 'ModelConfig', 'ModelReady', 'ModelStatistics'])('%s wants a version that is a number', async (name) => {
    await expect(serving.client.call(name, { name: 'echo', version: 'x' })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
    });
  });
});

describe('statistics', () => {
  const none = { count: 0, ns: 0 };
  const some = { count: 3, ns: 2 ** 53 };

  it('has every field', async () => {
    const entry = {
      name: 'echo',
      version: '1',
      last_inference: 1_700_000_000_000,
      inference_count: 8,
      execution_count: 3,
      inference_stats: {
        success: some,
        fail: none,
        queue: none,
        compute_input: none,
        compute_infer: none,
        compute_output: none,
        cache_hit: none,
        cache_miss: none,
      },
      response_stats: {
        0: { compute_infer: some, compute_output: none, success: none, fail: none, empty_response: none, cancel: some },
      },
      batch_stats: [{ batch_size: 4, compute_input: none, compute_infer: some, compute_output: none }],
      memory_usage: [],
    };
    dataPlane.statisticsOf = () => Promise.resolve([entry]);
    const { model_stats } = await serving.client.call('ModelStatistics', {});
    expect(model_stats).toMatchObject([
      {
        name: 'echo',
        version: '1',
        last_inference: '1700000000000',
        inference_count: '8',
        execution_count: '3',
        inference_stats: { success: { count: '3', ns: String(2 ** 53) }, cache_miss: { count: '0', ns: '0' } },
        batch_stats: [{ batch_size: '4', compute_infer: { count: '3' } }],
        response_stats: {
          0: { compute_infer: { count: '3', ns: String(2 ** 53) }, empty_response: { count: '0' }, cancel: { count: '3' } },
        },
      },
    ]);
  });

  it('fails as the data plane does', async () => {
    dataPlane.statisticsOf = () => Promise.reject(new InferError('INVALID_ARGUMENT', "requested model 'x' is not available"));
    await expect(serving.client.call('ModelStatistics', { name: 'x' })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: "requested model 'x' is not available",
    });
  });
});

describe('repository', () => {
  it('lists models, empty where something is missing', async () => {
    const ready = { name: 'echo', version: '1', state: 'READY', reason: '' };
    expect(await serving.client.call('RepositoryIndex', { ready: true })).toEqual({ models: [ready] });
    expect(await serving.client.call('RepositoryIndex', {})).toEqual({
      models: [ready, { name: 'broken', version: '', state: '', reason: '' }],
    });
  });

  it('knows one repository only', async () => {
    await expect(serving.client.call('RepositoryIndex', { repository_name: 'r' })).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: "'repository_name' specification is not supported",
    });
  });

  it.each(['RepositoryModelLoad', 'RepositoryModelUnload'])('refuses %s in this control mode', async (name) => {
    await expect(serving.client.call(name, { model_name: 'm' })).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: 'explicit model load / unload is not allowed if polling is enabled',
    });
    await expect(serving.client.call(name, { model_name: 'm', repository_name: 'r' })).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: "'repository_name' specification is not supported",
    });
  });

  it.each([
    'SystemSharedMemoryStatus',
    'SystemSharedMemoryRegister',
    'SystemSharedMemoryUnregister',
    'CudaSharedMemoryStatus',
    'CudaSharedMemoryRegister',
    'CudaSharedMemoryUnregister',
    'TraceSetting',
    'LogSettings',
  ])('says that %s is not built', async (name) => {
    await expect(serving.client.call(name, {})).rejects.toMatchObject({
      code: status.UNIMPLEMENTED,
      details: `${name} is not supported by this version of Weir`,
    });
  });
});

it('refuses what is no message of the call', async () => {
  await expect(serving.client.call('ModelReady', Buffer.of(0x0a, 0xff))).rejects.toMatchObject({ code: status.INTERNAL });
});
