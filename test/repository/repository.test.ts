import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Observable } from 'rxjs';
import { expect, it } from 'vitest';
import { identityBackend } from '../../src/backends/identity/identity-backend.ts';
import type { Backend } from '../../src/streams/inference/backend.ts';
import { VirtualTime } from '../support/virtual-time.ts';
import { folderOf } from './support/folders.ts';
import { newRepository, openRepository } from './support/open-repository.ts';
import { ask, failureOf, fp32, requestTo } from './support/requests.ts';

const config = 'backend: "identity" input { name: "X" data_type: TYPE_FP32 dims: -1 } output { name: "Y" data_type: TYPE_FP32 dims: -1 } ';
const all = 'version_policy { all { } }';

it('loads the good models, and tells of each bad one why', async () => {
  const root = await folderOf({
    'good/config.pbtxt': config,
    'good/1/': '',
    'template/config.pbtxt': 'max_batch_size: {{ size }}',
    'template/1/': '',
    'brace/config.pbtxt': 'platform: "ensemble" ensemble_scheduling { step [ { {',
    'brace/1/': '',
    'typo/config.pbtxt': 'sequence_batching { state { inptu_name: "a" } }',
    'typo/1/': '',
    'python/1/model.py': '',
    'empty/config.pbtxt': config,
    'wrong/config.pbtxt': `${config} max_batch_size: -1`,
    'wrong/1/': '',
    'file.txt': 'no model',
  });
  const { repository, report, log } = await openRepository([root]);
  expect(report.failure).toMatchObject({ code: 'INTERNAL', message: 'failed to load all models' });
  expect(report.models).toEqual([
    {
      name: 'brace',
      state: 'UNAVAILABLE',
      reason: expect.stringMatching(/^Invalid argument: failed to read text proto from .*: illegal field name '\{'/),
    },
    {
      name: 'empty',
      state: 'UNAVAILABLE',
      reason: "Invalid argument: at least one version must be available under the version policy of model 'empty'",
    },
    { name: 'good', version: '1', state: 'READY' },
    {
      name: 'python',
      version: '1',
      state: 'UNAVAILABLE',
      reason: expect.stringMatching(
        /^Invalid argument: unable to find backend library for backend 'python', try specifying runtime on the model configuration\. \(no config\.pbtxt, field backend, wanted one of identity, got 'python'\)$/,
      ),
    },
    {
      name: 'template',
      state: 'UNAVAILABLE',
      reason: expect.stringContaining('template/config.pbtxt:1:17, field max_batch_size, wanted integer value, got {'),
    },
    { name: 'typo', state: 'UNAVAILABLE', reason: expect.stringContaining("wanted 'input_name'") },
    {
      name: 'wrong',
      version: '1',
      state: 'UNAVAILABLE',
      reason: expect.stringContaining("Invalid argument: 'max_batch_size' must be non-negative value for wrong"),
    },
  ]);
  expect(await repository.dataPlane.index(false)).toEqual(report.models);
  expect(await repository.dataPlane.index(true)).toEqual([{ name: 'good', version: '1', state: 'READY' }]);
  expect(log.lines).toContain("info successfully loaded 'good'");
  expect(
    log.lines.find((line) => line.startsWith("error failed to load 'wrong' version 1: Invalid argument: 'max_batch_size' must be")),
  ).toBeDefined();
  expect(
    log.lines.find((line) => line.startsWith("error Poll failed for model directory 'template': failed to read text proto from")),
  ).toBeDefined();
  expect((await ask(repository.dataPlane, requestTo('good', { X: fp32([2], [1, 2]) }))).outputs).toEqual({
    Y: { shape: [2], values: [1, 2] },
  });
  expect(repository.dataPlane.isLive()).toBe(true);
  expect(repository.dataPlane.isReady()).toBe(false);
});

it.each([
  ['', ['3']],
  ['version_policy { latest { num_versions: 2 } }', ['1', '3']],
  [all, ['0', '1', '3']],
  ['version_policy { specific { versions: [ 1, 7 ] } }', ['1']],
])('serves the versions of the policy: %s', async (policy, versions) => {
  const folders = ['0', '1', '3', '01', '1abc', 'abc', '-1', '.hidden', '99999999999999999999', 'warmup', 'configs'];
  const root = await folderOf({
    'm/config.pbtxt': `${config}${policy}`,
    ...Object.fromEntries(folders.map((name) => [`m/${name}/`, ''])),
  });
  const { repository, log } = await openRepository([root]);
  expect(repository.dataPlane.modelMetadata('m', '').versions).toEqual(versions);
  expect((await ask(repository.dataPlane, requestTo('m', { X: fp32([1], [1]) }))).version).toBe(versions.at(-1));
  expect(log.lines.filter((line) => line.startsWith('warning ignore')).toSorted()).toEqual(
    [
      "warning ignore version directory '-1' which fails to convert to integral number for model 'm'",
      "warning ignore version directory '.hidden' which fails to convert to integral number for model 'm'",
      "warning ignore version directory '01' which contains leading zeros in its directory name for model 'm'",
      "warning ignore version directory '1abc' which fails to convert to integral number for model 'm'",
      "warning ignore version directory '99999999999999999999' which fails to convert to integral number for model 'm'",
      "warning ignore version directory 'abc' which fails to convert to integral number for model 'm'",
    ].toSorted(),
  );
  expect(log.lines.some((line) => line.includes("version 7 is specified for model 'm'"))).toBe(policy.includes('7'));
});

it('loads the versions of a model as one unit', async () => {
  const needsFile: Backend = { ...identityBackend(), name: 'filed', needsModelFile: true };
  const text = config.replace('identity', 'filed');
  const root = await folderOf({
    'm/config.pbtxt': `${text} default_model_filename: "model.bin" ${all}`,
    'm/1/model.bin': '',
    'm/2/': '',
    'm/3/model.bin': '',
  });
  const { report, repository } = await openRepository([root], { backends: new Map([['filed', needsFile]]) });
  const dropped = "not loaded, since another version of model 'm' failed to load";
  expect(report.models).toEqual([
    { name: 'm', version: '1', state: 'UNAVAILABLE', reason: dropped },
    {
      name: 'm',
      version: '2',
      state: 'UNAVAILABLE',
      reason: expect.stringMatching(/^Unavailable: unable to find '.*\/m\/2\/model\.bin' for model instance 'm'$/),
    },
    { name: 'm', version: '3', state: 'UNAVAILABLE', reason: dropped },
  ]);
  expect(() => repository.dataPlane.model('m', '')).toThrow("Request for unknown model: 'm' has no available versions");
  expect(() => repository.dataPlane.model('m', '1')).toThrow("Request for unknown model: 'm' version 1 is not at ready state");
});

it('serves no model that two repositories have', async () => {
  const first = await folderOf({ 'm/config.pbtxt': config, 'm/1/': '', 'a/config.pbtxt': config, 'a/1/': '' });
  const second = await folderOf({ 'm/config.pbtxt': config, 'm/1/': '' });
  const { report, repository, log } = await openRepository([first, second, `${first}/`]);
  const duplicate = { name: 'm', state: 'UNAVAILABLE', reason: 'model appears in two or more repositories' };
  expect(report.models).toEqual([{ name: 'a', version: '1', state: 'READY' }, duplicate]);
  expect(report.failure?.message).toBe('failed to load all models');
  expect(await repository.dataPlane.index(true)).toContainEqual(duplicate);
  expect(log.lines).toContain("error failed to poll model 'm': not unique across all model repositories");
});

it('follows links to folders, and passes over links to nothing', async () => {
  const store = await folderOf({ 'kept/config.pbtxt': config, 'versions/1/': '' });
  const root = await folderOf({ 'b/config.pbtxt': config });
  await symlink(join(store, 'versions', '1'), join(store, 'kept', '1'));
  await symlink(join(store, 'kept'), join(root, 'm'));
  await symlink(join(store, 'versions', '1'), join(root, 'b', '1'));
  await symlink(join(store, 'nothing'), join(root, 'gone'));
  const { report } = await openRepository([root]);
  expect(report).toEqual({
    models: ['b', 'm'].map((name) => ({ name, version: '1', state: 'READY' })),
    failure: undefined,
  });
});

it('takes hidden folders of a repository for models', async () => {
  const root = await folderOf({ '.git/1/': '' });
  const { report } = await openRepository([root]);
  expect(report.models).toMatchObject([
    { name: '.git', state: 'UNAVAILABLE', reason: expect.stringContaining("unable to find backend library for backend 'git'") },
  ]);
});

it.each([
  ['is missing', 'gone', 'INTERNAL', /^failed to stat file .*gone$/],
  ['is a file', 'file', 'INVALID_ARGUMENT', /^repository path is not a valid directory/],
])('fails where a repository %s', async (_what, path, code, message) => {
  const root = await folderOf({ file: '', 'good/m/config.pbtxt': config, 'good/m/1/': '' });
  const { repository, report } = await openRepository([join(root, 'good'), join(root, path)]);
  expect(report).toEqual({ models: [], failure: expect.objectContaining({ code, message: expect.stringMatching(message) }) });
  expect([repository.dataPlane.isLive(), repository.dataPlane.isReady()]).toEqual([false, false]);
  expect(repository.dataPlane.serverMetadata().name).toBe('weir');
});

it('fails without a repository', async () => {
  const { report } = await openRepository([]);
  expect(report.failure?.message).toBe('--model-repository must be specified');
});

it.each([
  { models: 'whole', exitOnError: true, isLive: true, isReady: true, isStrictlyReady: true },
  { models: 'broken', exitOnError: false, isLive: true, isReady: true, isStrictlyReady: false },
  { models: 'broken', exitOnError: true, isLive: false, isReady: false, isStrictlyReady: false },
])(
  'is live and ready by its settings: $models, exitOnError $exitOnError',
  async ({ models, exitOnError, isLive, isReady, isStrictlyReady }) => {
    const root = await folderOf({ 'm/config.pbtxt': config, 'm/1/': '', ...(models === 'broken' ? { 'bad/1/': '' } : {}) });
    const loose = await openRepository([root], { exitOnError, strictReadiness: false });
    expect([loose.repository.dataPlane.isLive(), loose.repository.dataPlane.isReady()]).toEqual([isLive, isReady]);
    const strict = await openRepository([root], { exitOnError, strictReadiness: true });
    expect([strict.repository.dataPlane.isLive(), strict.repository.dataPlane.isReady()]).toEqual([isLive, isStrictlyReady]);
  },
);

it('is ready for nothing before it has loaded', async () => {
  const root = await folderOf({ 'm/config.pbtxt': config, 'm/1/': '' });
  const { repository } = newRepository([root]);
  const { dataPlane } = repository;
  expect([dataPlane.isLive(), dataPlane.isReady(), dataPlane.isModelReady('m', '')]).toEqual([false, false, false]);
  expect(() => dataPlane.model('m', '')).toThrow('Server not ready');
  await expect(dataPlane.index(false)).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'Server not ready' });
  expect(await failureOf(dataPlane, requestTo('m', {}))).toMatchObject({ code: 'UNAVAILABLE', message: 'Server not ready' });
});

it('ends in order: not ready, what runs ends, then it is unloaded', async () => {
  const slow = `${config} parameters { key: "execute_delay_ms" value { string_value: "30" } }`;
  const root = await folderOf({ 'm/config.pbtxt': slow, 'm/1/': '' });
  const { repository, log } = await openRepository([root]);
  const { dataPlane } = repository;
  const running = ask(dataPlane, requestTo('m', { X: fp32([1], [5]) }));
  repository.beginExit();
  expect([dataPlane.isLive(), dataPlane.isReady(), dataPlane.isExiting(), dataPlane.isModelReady('m', '')]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect(() => dataPlane.modelMetadata('m', '')).toThrow('Server not ready');
  await expect(dataPlane.statistics('', '')).rejects.toThrow('Server not ready');
  const drained = repository.drain();
  expect(await failureOf(dataPlane, requestTo('m', { X: fp32([1], [6]) }))).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('Server is stopping, scheduler for model has stopped accepting new inference requests'),
  });
  expect((await running).outputs.Y?.values).toEqual([5]);
  await drained;
  repository.close();
  expect(log.lines.at(-1)).toBe("info successfully unloaded 'm' version 1");
  expect(dataPlane.graphs()).toEqual([]);
});

it.each([
  { moment: 'scan', described: 0, ended: 0 },
  { moment: 'describe', described: 1, ended: 0 },
  { moment: 'open', described: 2, ended: 1 },
])('cancels a load at its $moment, looks at nothing more, and calls it no error', async ({ moment, described, ended }) => {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let describes = 0;
  let ends = 0;
  const stopping: Backend = {
    ...identityBackend(),
    describe: async (files) => {
      describes++;
      if (moment === 'describe') reached.resolve();
      if (moment === 'describe') await goOn.promise;
      return identityBackend().describe(files);
    },
    open: () =>
      new Observable(() => {
        reached.resolve();
        return () => ends++;
      }),
  };
  if (moment === 'scan') reached.resolve();
  const folders = ['m/1/', 'm/2/', 'n/1/'];
  const root = await folderOf({
    'm/config.pbtxt': `${config}${all}`,
    'n/config.pbtxt': config,
    ...Object.fromEntries(folders.map((folder) => [folder, ''])),
  });
  const { repository, log } = newRepository([root], { loadLimit: 1, backends: new Map([['identity', stopping]]) });
  const loading = repository.load();
  await reached.promise;
  repository.beginExit();
  repository.close();
  goOn.resolve();
  const { models } = await loading;
  expect(models.length).toBeGreaterThan(0);
  const reason = 'Unavailable: the load was cancelled: the server is exiting';
  for (const model of models) expect(model).toMatchObject({ state: 'UNAVAILABLE', reason });
  expect({ described: describes, ended: ends }).toEqual({ described, ended });
  expect(log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  expect(repository.dataPlane.isReady()).toBe(false);
});

it('says how long each version took to load, while it is ready', async () => {
  const slow: Backend = {
    ...identityBackend(),
    describe: async (files) => {
      time.advance(250);
      return identityBackend().describe(files);
    },
    open: (...args) => {
      time.advance(1500);
      return identityBackend().open(...args);
    },
  };
  const time = new VirtualTime();
  const root = await folderOf({ 'm/config.pbtxt': `${config}${all}`, 'm/1/': '', 'm/2/': '', 'bad/1/': '' });
  const { repository } = await openRepository([root], { backends: new Map([['identity', slow]]), scheduler: time });
  const loads = () => ['1', '2', '3'].map((version) => repository.loadSeconds('m', version));
  expect(loads()).toEqual([1.75, 1.75, undefined]);
  expect(repository.loadSeconds('bad', '1')).toBe(undefined);
  repository.close();
  expect(loads()).toEqual([undefined, undefined, undefined]);
});
