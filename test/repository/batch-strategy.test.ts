import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FoundStrategy } from '../../src/repository/batch-strategy.ts';
import { loadBatchStrategy } from '../../src/repository/batch-strategy.ts';
import type { InferError } from '../../src/streams/inference/error.ts';
import type { ModelSpec } from '../../src/streams/inference/model-spec.ts';
import { makeSpec, messageOf } from '../support/model.ts';

/** A strategy that can be told from others by what it begins with. */
const saying = (what: string): string => `export const batchStrategy = () => ({ begin: () => ${what}, includes: () => true });`;

describe('loadBatchStrategy', () => {
  let root: string;
  let modelDirectory: string;

  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), 'weir-strategy-')));
    modelDirectory = join(root, 'repository', 'm');
    await mkdir(join(modelDirectory, '1'), { recursive: true });
  });

  afterEach(() => rm(root, { recursive: true }));

  /** Below the model's folder. */
  const write = async (path: string, text: string): Promise<void> => {
    const file = join(modelDirectory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  };

  const load = (parameters: Readonly<Record<string, string>> = {}, fields: Partial<ModelSpec> = {}): Promise<FoundStrategy> =>
    loadBatchStrategy({
      spec: makeSpec({ parameters: new Map(Object.entries(parameters)), ...fields }),
      files: { modelDirectory, versionDirectory: join(modelDirectory, '1') },
    });

  const named = (path: string): Promise<FoundStrategy> => load({ TRITON_BATCH_STRATEGY_PATH: path });

  const faultOf = (loading: Promise<FoundStrategy>): Promise<string> =>
    loading.then(
      () => 'none',
      (error: InferError) => messageOf(error),
    );

  it('finds none where there is none', async () => {
    expect(await load()).toEqual({ strategy: undefined, warnings: [] });
  });

  it('prefers the file that is named, then the version folder, then the model folder', async () => {
    await write('batchstrategy.mjs', saying('"model"'));
    expect((await load()).strategy?.begin()).toBe('model');
    await write('1/batchstrategy.js', saying('"version"'));
    expect((await load()).strategy?.begin()).toBe('version');
    await write('lib/mine.js', saying('"named"'));
    expect((await named('lib/mine.js')).strategy?.begin()).toBe('named');
    await write('../rule.js', saying('"beside"'));
    expect((await named('../rule.js')).strategy?.begin()).toBe('beside');
  });

  it('takes TypeScript, and tells it about the model', async () => {
    const text = `
      interface Model { readonly name: string; readonly maxBatchSize: number; readonly parameters: ReadonlyMap<string, string> }
      export const batchStrategy = ({ name, maxBatchSize, parameters }: Model) => ({
        begin: () => [name, maxBatchSize, parameters.get('MAX_BATCH_VOLUME_BYTES')],
        includes: (request: { readonly id: string }, state: readonly unknown[]) => request.id === state[0],
      });`;
    await write('batchstrategy.ts', text);
    // In a process of its own: here it would not be Node that reads the file.
    const script = `
      import { loadBatchStrategy } from ${JSON.stringify(new URL('../../src/repository/batch-strategy.ts', import.meta.url).href)};
      const { strategy } = await loadBatchStrategy({
        spec: { name: 'm', maxBatchSize: 8, parameters: new Map([['MAX_BATCH_VOLUME_BYTES', '96']]), dynamicBatching: {} },
        files: ${JSON.stringify({ modelDirectory, versionDirectory: join(modelDirectory, '1') })},
      });
      const state = strategy.begin();
      console.log(JSON.stringify([state, strategy.includes({ id: 'm' }, state)]));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
    expect(JSON.parse(stdout)).toEqual([['m', 8, '96'], true]);
  });

  it('reads a module again when it has changed', async () => {
    await write('batchstrategy.js', saying('1'));
    await load();
    await write('batchstrategy.js', saying('2'));
    await utimes(join(modelDirectory, 'batchstrategy.js'), 1, 1);
    expect((await load()).strategy?.begin()).toBe(2);
  });

  it('refuses paths that lead out of the repository', async () => {
    const escapes = 'INVALID_ARGUMENT Batching library path escapes model repository.';
    await write('../../outside.js', saying('0'));
    expect(await faultOf(named('../../outside.js'))).toBe(escapes);
    expect(await faultOf(named(join(root, 'outside.js')))).toBe(escapes);
    expect(await faultOf(named('/etc/passwd'))).toBe(escapes);
    await symlink(join(root, 'outside.js'), join(modelDirectory, 'link.js'));
    expect(await faultOf(named('link.js'))).toBe(escapes);
  });

  it('follows a link to the model folder itself', async () => {
    await write('../../elsewhere/mine.js', saying('"linked"'));
    await symlink(join(root, 'elsewhere'), join(root, 'repository', 'linked'));
    modelDirectory = join(root, 'repository', 'linked');
    expect((await named('mine.js')).strategy?.begin()).toBe('linked');
  });

  it('refuses a path to nothing', async () => {
    expect(await faultOf(named('none.js'))).toBe(`NOT_FOUND Batching library path not found: ${join(modelDirectory, 'none.js')}`);
    expect(await faultOf(named('1'))).toBe(`NOT_FOUND Batching library path not found: ${join(modelDirectory, '1')}`);
  });

  it.each([
    ['no export', 'export const other = 1;'],
    ['no function', 'export const batchStrategy = 1;'],
    ['no functions in it', 'export const batchStrategy = () => ({ begin() {} });'],
    ['nothing', 'export const batchStrategy = () => undefined;'],
  ])('refuses a module with %s', async (_, text) => {
    await write('batchstrategy.js', text);
    const path = join(modelDirectory, 'batchstrategy.js');
    expect(await faultOf(load())).toBe(`INVALID_ARGUMENT ${path} does not define all required custom batching functions for model m`);
  });

  it('says why a module does not load', async () => {
    await write('batchstrategy.js', "throw new Error('no luck');");
    const path = join(modelDirectory, 'batchstrategy.js');
    expect(await faultOf(load())).toBe(`INVALID_ARGUMENT unable to load batch strategy '${path}' of model 'm': no luck`);
  });

  it('warns where a strategy is named and has no use', async () => {
    const sequenceBatching = {
      strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
      maxIdleMs: 1000,
      controls: [],
      states: [],
      isIterative: false,
      endsIdleWithStep: false,
    } as const;
    const name = { TRITON_BATCH_STRATEGY_PATH: 'mine.js' };
    expect(await load(name, { dynamicBatching: undefined, sequenceBatching })).toEqual({
      strategy: undefined,
      warnings: ['TRITON_BATCH_STRATEGY_PATH cannot be specified with sequence batcher, using default batching strategy'],
    });
    expect(await load(name, { dynamicBatching: undefined })).toEqual({
      strategy: undefined,
      warnings: ["TRITON_BATCH_STRATEGY_PATH means nothing to model 'm' without dynamic batching"],
    });
  });
});
