import { BehaviorSubject, switchMap, throwError } from 'rxjs';
import { expect, it } from 'vitest';
import { identityBackend } from '../../src/backends/identity/identity-backend.ts';
import type { Backend } from '../../src/streams/inference/backend.ts';
import type { DataPlane } from '../../src/streams/inference/data-plane.ts';
import { folderOf } from './support/folders.ts';
import { openRepository } from './support/open-repository.ts';
import { ask, failureOf, fp32, requestTo } from './support/requests.ts';

const config = `backend: "identity" max_batch_size: 8
  input { name: "X" data_type: TYPE_FP32 dims: [ -1, 2 ] } input { name: "S" data_type: TYPE_STRING dims: 1 reshape { } }
  output { name: "Y" data_type: TYPE_FP32 dims: [ -1, 2 ] } output { name: "T" data_type: TYPE_STRING dims: 1 reshape { } }
  version_policy { all { } }`;

const plain =
  'backend: "identity" platform: "mine" input { name: "X" data_type: TYPE_FP32 dims: -1 } output { name: "Y" data_type: TYPE_FP32 dims: -1 }';

const open = async (): Promise<DataPlane> => {
  const root = await folderOf({
    'm/config.pbtxt': config,
    'm/2/': '',
    'm/10/': '',
    'plain/config.pbtxt': plain,
    'plain/1/': '',
    'bad/1/': '',
  });
  return (await openRepository([root])).repository.dataPlane;
};

it('tells of the server what is served', async () => {
  expect((await open()).serverMetadata()).toEqual({
    name: 'weir',
    version: '1.2.3',
    extensions: ['classification', 'model_repository', 'model_configuration', 'binary_tensor_data', 'parameters', 'statistics'],
  });
});

it('tells of models what clients send them', async () => {
  const dataPlane = await open();
  expect(dataPlane.modelMetadata('m', '')).toEqual({
    name: 'm',
    versions: ['2', '10'],
    platform: 'identity',
    inputs: [
      { name: 'X', datatype: 'FP32', shape: [-1, -1, 2] },
      { name: 'S', datatype: 'BYTES', shape: [-1, 1] },
    ],
    outputs: [
      { name: 'Y', datatype: 'FP32', shape: [-1, -1, 2] },
      { name: 'T', datatype: 'BYTES', shape: [-1, 1] },
    ],
  });
  expect(dataPlane.modelMetadata('m', '2').versions).toEqual(['2']);
  expect(dataPlane.modelMetadata('plain', '')).toMatchObject({ platform: 'mine', inputs: [{ shape: [-1] }] });
  // The same types by their two names.
  expect(dataPlane.model('m', '10').spec.config).toMatchObject({ input: [{ data_type: 'TYPE_FP32' }, { data_type: 'TYPE_STRING' }] });
});

it.each([
  ['nobody', '', 'NOT_FOUND', "Request for unknown model: 'nobody' is not found"],
  ['nobody', '1', 'NOT_FOUND', "Request for unknown model: 'nobody' is not found"],
  ['m', '99', 'NOT_FOUND', "Request for unknown model: 'm' version 99 is not found"],
  ['bad', '', 'NOT_FOUND', "Request for unknown model: 'bad' has no available versions"],
  ['bad', '1', 'UNAVAILABLE', "Request for unknown model: 'bad' version 1 is not at ready state"],
  [
    'm',
    'x',
    'INVALID_ARGUMENT',
    "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0",
  ],
  [
    'm',
    '9223372036854775808',
    'INVALID_ARGUMENT',
    "failed to get model version from specified version string '9223372036854775808' (details: stol), version should be an integral value > 0",
  ],
  ['m', '-1', 'INVALID_ARGUMENT', "invalid model version specified '-1' , version should be an integral value > 0"],
])('looks up %s version %j in vain', async (name, version, code, message) => {
  const dataPlane = await open();
  expect(() => dataPlane.model(name, version)).toThrow(expect.objectContaining({ code, message }));
  expect(() => dataPlane.modelMetadata(name, version)).toThrow(message);
  expect(dataPlane.isModelReady(name, version)).toBe(false);
  expect(await failureOf(dataPlane, requestTo(name, {}, version))).toMatchObject({ code, message });
});

it('finds versions however they are written, and the highest number without one', async () => {
  const dataPlane = await open();
  expect(['', '2', '10', '002'].map((version) => dataPlane.model('m', version).spec.version)).toEqual(['10', '2', '10', '2']);
  expect(dataPlane.isModelReady('m', '002')).toBe(true);
  expect((await ask(dataPlane, requestTo('plain', { X: fp32([1], [3]) }, '01'))).outputs.Y?.values).toEqual([3]);
});

it('counts what each version has answered', async () => {
  const dataPlane = await open();
  await ask(dataPlane, requestTo('plain', { X: fp32([1], [3]) }));
  const keys = async (name: string, version: string) =>
    (await dataPlane.statistics(name, version)).map((entry) => [entry.name, entry.version, entry.inference_count]);
  expect(await keys('', '')).toEqual([
    ['m', '2', 0],
    ['m', '10', 0],
    ['plain', '1', 1],
  ]);
  expect(await keys('m', '')).toHaveLength(2);
  expect(await keys('m', '010')).toEqual([['m', '10', 0]]);
  await expect(dataPlane.statistics('bad', '')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: "requested model 'bad' is not available",
  });
  await expect(dataPlane.statistics('m', '3')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: "requested model version is not available for model 'm'",
  });
});

it('draws the graphs of what is ready', async () => {
  const graphs = (await open()).graphs();
  expect(graphs.map(({ model, version }) => `${model}:${version}`)).toEqual(['m:2', 'm:10', 'plain:1']);
  expect(graphs[2]).toMatchObject({
    instances: { total: 1, alive: 1, busy: 0 },
    stages: expect.arrayContaining([expect.objectContaining({ limit: 100 })]),
  });
});

it('is not ready while an instance is down', async () => {
  const isUp$ = new BehaviorSubject(true);
  const identity = identityBackend();
  const mortal: Backend = {
    ...identity,
    open: (...args) => isUp$.pipe(switchMap((isUp) => (isUp ? identity.open(...args) : throwError(() => new Error('it died'))))),
  };
  const root = await folderOf({ 'm/config.pbtxt': plain, 'm/1/': '' });
  const { repository } = await openRepository([root], { backends: new Map([['identity', mortal]]) });
  const { dataPlane } = repository;
  expect([dataPlane.isReady(), dataPlane.isModelReady('m', '')]).toEqual([true, true]);
  isUp$.next(false);
  expect([dataPlane.isReady(), dataPlane.isModelReady('m', '')]).toEqual([false, false]);
});
