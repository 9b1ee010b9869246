import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inferRequest } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { floats, floatsOf, makeBatch, runOf, workbench } from './workbench.ts';

const { log, backendOf, write, open, openModel } = workbench();

const batch = makeBatch([inferRequest({ IN: floatsOf([1, 2]) })]);

const ofText = (text: string): string =>
  `{ execute: (requests) => requests.map(() => ({ outputs: { OUT: { shape: [1, 1], data: [${text}] } } })) }`;

describe('a model file', () => {
  it.each([
    [
      'TypeScript',
      {
        'model.ts': `import { defineModel, type Model } from 'weir/backend';\nconst model: Model = ${ofText('5')};\nexport default defineModel(model);`,
      },
    ],
    ['a JavaScript module', { 'model.js': `export default ${ofText('5')};` }],
    ['a module by its name', { 'model.mjs': `export const model = ${ofText('5')};` }],
    ['CommonJS', { 'model.cjs': `module.exports = ${ofText('5')};` }],
    [
      'CommonJS that asks for the server',
      {
        'model.js': `const { defineModel, ModelError } = require('weir/backend');\nif (new ModelError('x').code !== 'INTERNAL') throw new Error('another');\nmodule.exports = defineModel(${ofText('5')});`,
      },
    ],
    [
      'CommonJS of a compiler',
      { 'model.js': `"use strict";\nObject.defineProperty(exports, "__esModule", { value: true });\nexports.default = ${ofText('5')};` },
    ],
    ['CommonJS with an export by name', { 'model.js': `exports.model = ${ofText('5')};` }],
    [
      'a module by its package, and CommonJS beside it',
      {
        'package.json': '{ "type": "module" }',
        'model.js': `import five from './five.cjs';\nexport default ${ofText('five')};`,
        'five.cjs': 'module.exports = 5;',
      },
    ],
    [
      'CommonJS by its package',
      {
        'package.json': '{ "type": "commonjs" }',
        'model.js': `module.exports = ${ofText('require("./five.js")')};`,
        'five.js': 'module.exports = 5;',
      },
    ],
    [
      'a module that waits while it is imported',
      { 'model.ts': `await new Promise((resolve) => setTimeout(resolve, 5));\nexport default ${ofText('5')};` },
    ],
    [
      'a module with names of its package',
      {
        'package.json': '{ "name": "own", "imports": { "#five": "./five.ts" }, "exports": { "./six": "./six.ts" } }',
        'model.ts': `import { five } from '#five';\nimport { six } from 'own/six';\nexport default ${ofText('five + six - 6')};`,
        'five.ts': 'export const five: number = 5;',
        'six.ts': 'export const six: number = 6;',
      },
    ],
    [
      'a class',
      {
        'model.ts': `class Five { execute(requests) { return requests.map(() => this.answer()); } answer() { return { outputs: { OUT: { shape: [1, 1], data: [5] } } }; } }\nexport default new Five();`,
      },
    ],
    [
      'several files',
      {
        'model.ts': `import { value } from './parts/value.ts';\nexport default ${ofText('value')};`,
        'parts/value.ts': 'export const value: number = 5;',
      },
    ],
    [
      'packages of its own folder',
      {
        'model.ts': `import value from 'some-package';\nexport default ${ofText('value')};`,
        'node_modules/some-package/package.json': '{ "main": "main.cjs" }',
        'node_modules/some-package/main.cjs': 'module.exports = 5;',
      },
    ],
  ])('may be %s', async (_what, files) => {
    const { instance } = await open(await write(files));
    expect(await runOf(instance, batch)).toEqual(['0 OUT [1,1]: 5']);
  });

  it.each([
    ['there is none', { 'other.ts': '' }, /Cannot find module .*model\.ts/],
    [
      'TypeScript with a fault',
      { 'model.ts': `export const a = 1;\n\nexport default { execute( { };` },
      /SyntaxError: .* \(1\/model\.ts:3\)$/,
    ],
    [
      'JavaScript with a fault',
      { 'model.js': `export const a = 1;\n\nexport default { execute( { };` },
      /SyntaxError: .* \(1\/model\.js:3\)$/,
    ],
    [
      'a fault in what it imports',
      { 'model.js': `import './part.js';\nexport default {};`, 'part.js': 'export const part = 1;\nexport cons x = 1;' },
      /SyntaxError: .* \(1\/part\.js:2\)$/,
    ],
    [
      'TypeScript that needs a compiler',
      { 'model.ts': `enum Kind { A }\nexport default {};` },
      /enum is not supported in strip-only mode \(1\/model\.ts:1\)$/,
    ],
    ['an import that there is not', { 'model.ts': `import { a } from './none.ts';\nexport default a;` }, /Cannot find module .*none\.ts/],
    [
      'a name that there is not',
      { 'model.ts': `import { a } from './part.ts';\nexport default a;`, 'part.ts': 'export const b = 1;' },
      /does not provide an export named 'a' \(1\/model\.ts:1\)$/,
    ],
    ['it throws', { 'model.ts': `\nthrow new Error('boom');` }, /Error: boom \(1\/model\.ts:2\)$/],
    [
      'it exports nothing',
      { 'model.ts': 'export const other = 1;' },
      /1\/model\.ts exports no model: expected 'export default defineModel/,
    ],
    ['it exports a number', { 'model.ts': 'export default 5;' }, /1\/model\.ts exports as its model a number/],
    ['it has no execute', { 'model.ts': 'export default { load() {} };' }, /the model of 1\/model\.ts has no 'execute'$/],
    [
      'execute is no function',
      { 'model.ts': 'export default { execute: 5 };' },
      /'execute' of the model of 1\/model\.ts is a number: expected a function$/,
    ],
    ['load is no function', { 'model.ts': 'export default { execute() {}, load: 5 };' }, /'load' of the model of 1\/model\.ts is a number/],
    [
      'load throws',
      { 'model.ts': `export default { execute() {},\n load() { throw new TypeError('no weights'); } };` },
      /^unable to start model instance 'm_0': TypeError: no weights \(1\/model\.ts:2\)$/,
    ],
    [
      'load rejects',
      { 'model.ts': `export default { execute() {}, async load() { await 0; throw new Error('no weights'); } };` },
      /no weights \(1\/model\.ts:1\)$/,
    ],
    ['CommonJS throws', { 'model.js': `const a = 1;\nmodule.exports = a.b.c;` }, /TypeError: .* \(1\/model\.js:2\)$/],
    [
      'CommonJS in a folder of modules',
      { 'package.json': '{ "type": "module" }', 'model.js': `\nmodule.exports = {};` },
      /ReferenceError: module is not defined.* \(1\/model\.js:2\)$/s,
    ],
    [
      'a module in a folder of CommonJS',
      { 'package.json': '{ "type": "commonjs" }', 'model.js': `const a = 1;\nimport './part.js';`, 'part.js': '' },
      /SyntaxError: Cannot use import statement outside a module \(1\/model\.js:2\)$/,
    ],
    [
      'a package that there is not',
      { 'model.ts': `import left from 'left-out';\nexport default left;` },
      /Cannot find package 'left-out' imported from .*model\.ts/,
    ],
    ['a built-in that there is not', { 'model.ts': `import 'node:nothing';` }, /node:nothing/],
    [
      'a constructor whose parameters become members',
      { 'model.ts': `export class A {\n  constructor(private readonly a: number) {}\n}` },
      /parameter property is not supported in strip-only mode \(1\/model\.ts:2\)$/,
    ],
    ['a namespace', { 'model.ts': `const a = 1;\nnamespace B { export const c = 1; }` }, /namespace.* \(1\/model\.ts:2\)$/s],
    [
      'a JSON file with a fault',
      { 'model.ts': `import a from './a.json' with { type: 'json' };\nexport default a;`, 'a.json': '{ "a": }' },
      /JSON/,
    ],
    ['it throws what is no error', { 'model.ts': `throw Object.create(null);` }, /\[Object: null prototype\] \{\}$/],
    ['load throws what is no error', { 'model.ts': `export default { execute() {}, load() { throw undefined; } };` }, /undefined$/],
    ['it ends its thread', { 'model.ts': 'process.exit(3);' }, /^unable to start model instance 'm_0': its worker ended with code 3$/],
  ])('fails to load with the reason and the place when %s', async (_what, files, message) => {
    await expect(open(await write(files))).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringMatching(message) });
  });

  it('fails to load with a code of its own', async () => {
    const code = `export default { execute() {}, load() { throw new ModelError('no licence', 'UNAVAILABLE'); } };`;
    await expect(openModel(code)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: "unable to start model instance 'm_0': no licence",
    });
  });

  it.each([
    ['execution_timeout_ms', 'soon', /failed to convert execution_timeout_ms 'soon' to integral number/],
    ['concurrency', '0', /concurrency must be from 1 to 254, got 0/],
    ['max_memory_mb', '15', /max_memory_mb must be from 16 to 1048576, got 15/],
    ['max_memory_mb', '-1', /failed to convert max_memory_mb '-1'/],
  ])('refuses the parameter %s %s', async (key, value, message) => {
    const opened = openModel(`export default ${ofText('1')};`, { spec: { ...floats, parameters: new Map([[key, value]]) } });
    await expect(opened).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) });
  });

  it('names its places by the model, though its folder or the version is a link', async () => {
    const files = await write({ 'model.ts': `\n\nthrow new Error('boom');` });
    const link = `${files.modelDirectory}-link`;
    const linked = `${files.modelDirectory}-version`;
    await symlink(files.modelDirectory, link);
    await mkdir(linked);
    await symlink(files.versionDirectory, join(linked, '1'));
    try {
      for (const directory of [link, linked]) {
        const opened = open({ ...files, modelDirectory: directory, versionDirectory: join(directory, '1') });
        await expect(opened).rejects.toMatchObject({ message: expect.stringMatching(/Error: boom \(1\/model\.ts:3\)$/) });
      }
    } finally {
      await rm(link);
      await rm(linked, { recursive: true });
    }
  });

  it.each([
    ['its import never ends', 'await new Promise(() => {});\nexport default { execute() {} };'],
    ['its import never lets go', 'for (;;);'],
    ['load never ends', 'export default { execute() {}, load: () => new Promise(() => {}) };'],
  ])('is given up when it takes too long: %s', async (_what, code) => {
    const opened = openModel(code, { spec: { ...floats, parameters: new Map([['load_timeout_ms', '300']]) } });
    await expect(opened).rejects.toMatchObject({
      message: "unable to start model instance 'm_0': loading took longer than load_timeout_ms (300)",
    });
  });

  it('runs as it is when an instance is opened, with what it imports', async () => {
    const files = await write({
      'model.ts': `import { value } from './value.ts';\nexport default ${ofText('value')};`,
      'value.ts': 'export const value = 1;',
    });
    const { instance: first } = await open(files);
    await writeFile(join(files.versionDirectory, 'value.ts'), 'export const value = 2;');
    const { instance: second } = await open(files, { name: 'm_1' });
    await writeFile(join(files.versionDirectory, 'model.ts'), `export default ${ofText('3')};`);
    const { instance: third } = await open(files, { name: 'm_2' });
    expect(await Promise.all([first, second, third].map((instance) => runOf(instance, batch)))).toEqual([
      ['0 OUT [1,1]: 1'],
      ['0 OUT [1,1]: 2'],
      ['0 OUT [1,1]: 3'],
    ]);
  });

  it('has each instance to itself, loads before the first request and unloads after the last', async () => {
    const code = `let count = 0;
      export default defineModel({
        async load({ logger, instance }) { await 0; count = 10; logger.info('load ' + instance.name); },
        execute: (requests) => requests.map(() => ({ outputs: { OUT: { shape: [1, 1], data: [count++] } } })),
        async unload() { await 0; console.log('unload %d', count); },
      });`;
    const models = [await openModel(code), await openModel(code, { name: 'm_1' })];
    const [first, second] = models;
    if (first === undefined || second === undefined) throw new Error('no models');
    await runOf(first.instance, batch);
    expect(await runOf(first.instance, batch)).toEqual(['0 OUT [1,1]: 11']);
    expect(await runOf(second.instance, batch)).toEqual(['0 OUT [1,1]: 10']);
    first.life.unsubscribe();
    await until(() => log.lines.length === 3);
    expect(log.lines).toEqual(['info m_0: load m_0', 'info m_1: load m_1', 'info m_0: unload 12']);
  });
});

describe('what a model prints', () => {
  it('goes to the log, with the name of its instance', async () => {
    const { instance } = await openModel(`export default defineModel({ execute: (requests, { logger }) => {
      console.log('one', { two: 2 });
      process.stdout.write('a line ');
      console.error('wrong');
      process.stdout.write('in parts\\nand the next');
      logger.verbose('fine', 2);
      logger.error('bad');
      return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
    } });`);
    await runOf(instance, batch);
    expect(log.lines).toEqual([
      'info m_0: one { two: 2 }',
      'warning m_0: wrong',
      'info m_0: a line in parts',
      'verbose 2 m_0: fine',
      'error m_0: bad',
    ]);
  });

  it('is dropped where it is too much, and every line is accounted for', async () => {
    const { instance } = await openModel(`let run = 0;
    export default defineModel({ execute: (requests) => {
      if (run++ === 0) for (let line = 0; line < 100_000; line++) console.log(line);
      else console.log('the last');
      return requests.map((request) => ({ outputs: { OUT: request.input('IN') } }));
    } });`);
    await runOf(instance, batch);
    await runOf(instance, batch);
    const dropped = log.lines.map((line) => Number(/m_0: (\d+) lines of the log were dropped/.exec(line)?.[1] ?? 0));
    const printed = log.lines.filter((line) => /^info m_0: \d+$/.test(line)).length;
    expect([printed + dropped.reduce((sum, count) => sum + count), log.lines.at(-1)]).toEqual([100_000, 'info m_0: the last']);
  });
});

describe('autoCompleteConfig', () => {
  const backend = backendOf({});

  it('completes the config in a thread that ends then', async () => {
    const files = await write(`console.log('imported');
      export default { execute() {}, autoCompleteConfig(config) { config.max_batch_size = 4; return { ...config, seen: true }; } };`);
    const config = { name: 'm', max_batch_size: 0 };
    expect(await backend.completeConfig?.(files, config)).toEqual({ name: 'm', max_batch_size: 4, seen: true });
    expect([config, log.lines]).toEqual([{ name: 'm', max_batch_size: 0 }, ['info m: imported']]);
  });

  it('leaves the config as it is where there is none', async () => {
    const files = await write(`export default { execute() {} };`);
    expect(await backend.completeConfig?.(files, { name: 'm' })).toEqual({ name: 'm' });
    expect(await backend.describe(files)).toBe(undefined);
  });

  it.each([
    [
      `export default { execute() {},\nautoCompleteConfig() { throw new Error('no way'); } };`,
      "unable to load model 'm': Error: no way (1/model.ts:2)",
    ],
    [
      `export default { execute() {}, autoCompleteConfig: async () => 5 };`,
      "unable to load model 'm': autoCompleteConfig returned number: expected a config",
    ],
    [
      `export default { execute() {}, autoCompleteConfig: () => null };`,
      "unable to load model 'm': autoCompleteConfig returned null: expected a config",
    ],
    [
      `export default { execute() {}, autoCompleteConfig: (config) => [config] };`,
      "unable to load model 'm': autoCompleteConfig returned Array: expected a config",
    ],
    [
      `export default { execute() {}, autoCompleteConfig: (config) => { config.input = () => 1; return config; } };`,
      "unable to load model 'm': DataCloneError: () => 1 could not be cloned.",
    ],
    [`setImmediate(() => { throw new Error('torn'); });\nawait new Promise(() => {});`, "unable to load model 'm': torn"],
    [
      'await new Promise(() => {});',
      "unable to load model 'm': importing its file, or autoCompleteConfig, waits for something that never comes",
    ],
    [
      'export default { execute() {}, autoCompleteConfig: () => new Promise(() => {}) };',
      "unable to load model 'm': importing its file, or autoCompleteConfig, waits for something that never comes",
    ],
    [`export default 5;`, "unable to load model 'm': 1/model.ts exports as its model a number: expected 'defineModel({ … })'"],
    [`process.exit(2);`, "unable to load model 'm': its worker ended with code 2"],
  ])('rejects: %s', async (code, message) => {
    await expect(backend.completeConfig?.(await write(code), {})).rejects.toMatchObject({ code: 'INTERNAL', message });
  });

  it.each([
    ['its import never ends', 'setInterval(() => {}, 1000);\nawait new Promise(() => {});'],
    ['it never ends', 'setInterval(() => {}, 1000);\nexport default { execute() {}, autoCompleteConfig: () => new Promise(() => {}) };'],
    ['it never lets go', 'export default { execute() {}, autoCompleteConfig: () => { for (;;); } };'],
  ])('is given up when it takes longer than a load may: %s', async (_what, code) => {
    const config = { parameters: { load_timeout_ms: { string_value: '300' } } };
    await expect(backend.completeConfig?.(await write(code), config)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: "unable to load model 'm': loading took longer than load_timeout_ms (300)",
    });
  });

  it('is not disturbed by what a model posts to the parent of its thread', async () => {
    const files = await write(`import { parentPort } from 'node:worker_threads';
      for (const message of [null, undefined, 'text', 5, {}, [], { kind: 5 }, { kind: 'nonsense' }]) parentPort.postMessage(message);
      export default { execute() {}, autoCompleteConfig: () => ({ seen: true }) };`);
    expect(await backend.completeConfig?.(files, {})).toEqual({ seen: true });
  });
});
