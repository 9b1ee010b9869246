import { describe, expect, it } from 'vitest';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { floats, floatsOf, makeBatch, outcomeOf, runOf, workbench } from './workbench.ts';

const { log, openModel } = workbench();

const batchOf = (...values: readonly number[]) => makeBatch(values.map((value) => inferRequest({ IN: floatsOf([value, 2]) })));

const echo = 'requests.map((request) => ({ outputs: { OUT: request.input("IN") } }))';

/** What a model gives in the place of an answer, as an expression of `request` and `context`, and what its caller hears. */
type Case = readonly [expression: string, heard: string];

const notAnObject = 'INTERNAL: expected an object as response, got';
const noOutputs = 'and no outputs: expected { outputs: { NAME: { shape, data } } }';
const shapes = "INTERNAL: output 'OUT': a shape is made of non-negative integers with a product below 2^53, got";
const parameterKinds = 'expected a string, boolean, number or bigint, got';

const wrong: readonly Case[] = [
  ['null', `${notAnObject} null`],
  ['"text"', `${notAnObject} string`],
  ['7n', `${notAnObject} bigint`],
  ['[{ outputs: {} }]', `${notAnObject} Array`],
  ['Promise.reject(new Error("lost"))', `${notAnObject} a promise: await it, or use perRequest`],
  ['new TypeError("plain")', 'INTERNAL: TypeError: plain'],
  ['{ output: {} }', `INTERNAL: a response has 'output' ${noOutputs}`],
  ['{ OUT: request.input("IN") }', `INTERNAL: a response has 'OUT' ${noOutputs}`],
  ['{ outputs: new Map([["OUT", request.input("IN")]]) }', 'INTERNAL: expected an object as outputs, got Map'],
  ['{ outputs: [request.input("IN")] }', 'INTERNAL: expected an object as outputs, got Array'],
  ['{ outputs: 5 }', 'INTERNAL: expected an object as outputs, got number'],
  ['{ outputs: { NONE: request.input("IN") } }', "INTERNAL: the model gave an output 'NONE' that its configuration does not have"],
  ['{ outputs: { OUT: null } }', "INTERNAL: output 'OUT': expected { shape, data }, got null"],
  ['{ outputs: { OUT: new Float32Array(2) } }', "INTERNAL: output 'OUT': expected { shape, data }, got Float32Array"],
  ['{ outputs: { OUT: [1, 2] } }', "INTERNAL: output 'OUT': expected { shape, data }, got Array"],
  ['{ outputs: { OUT: request.input("IN").data } }', "INTERNAL: output 'OUT': expected { shape, data }, got Float32Array"],
  ['{ outputs: { OUT: { data: [1] } } }', "INTERNAL: output 'OUT': expected an array of numbers as shape, got undefined"],
  ['{ outputs: { OUT: { shape: 1, data: [1] } } }', "INTERNAL: output 'OUT': expected an array of numbers as shape, got number"],
  [
    '{ outputs: { OUT: { shape: [1n, 1n], data: [1] } } }',
    "INTERNAL: output 'OUT': expected an array of numbers as shape, got one of bigint",
  ],
  [
    '{ outputs: { OUT: { shape: ["1", 1], data: [1] } } }',
    "INTERNAL: output 'OUT': expected an array of numbers as shape, got one of string",
  ],
  ['{ outputs: { OUT: { shape: [1, -1], data: [1] } } }', `${shapes} [1,-1]`],
  ['{ outputs: { OUT: { shape: [-1, -1], data: [1] } } }', `${shapes} [-1,-1]`],
  ['{ outputs: { OUT: { shape: [1, 1.5], data: [1] } } }', `${shapes} [1,1.5]`],
  ['{ outputs: { OUT: { shape: [1, NaN], data: [1] } } }', `${shapes} [1,NaN]`],
  ['{ outputs: { OUT: { shape: [2 ** 30, 2 ** 30], data: [1] } } }', `${shapes} [1073741824,1073741824]`],
  ['{ outputs: { OUT: { shape: new Array(2), data: [1] } } }', `${shapes} [,]`],
  [
    '{ outputs: { OUT: { shape: [1, 1] } } }',
    "INTERNAL: output 'OUT': expected a typed array or an array of values as data, got undefined",
  ],
  [
    '{ outputs: { OUT: { shape: [1, 1], data: "x" } } }',
    "INTERNAL: output 'OUT': expected a typed array or an array of values as data, got string",
  ],
  [
    '{ outputs: { OUT: { shape: [1, 1], data: { length: 1, 0: 1 } } } }',
    "INTERNAL: output 'OUT': expected a typed array or an array of values as data, got object",
  ],
  ['{ outputs: { OUT: { shape: [1, 2], data: [[1, 2]] } } }', "INTERNAL: output 'OUT': expected 2 values for shape [1,2], got 1"],
  ['{ outputs: { OUT: { shape: [1, 1], data: [[1]] } } }', "INTERNAL: output 'OUT': expected a number for FP32 at index 0, got an array"],
  ['{ outputs: { OUT: { shape: [1, 1], data: [null] } } }', "INTERNAL: output 'OUT': expected a number for FP32 at index 0, got null"],
  [
    '{ outputs: { OUT: { shape: [1, 1], data: new Array(1) } } }',
    "INTERNAL: output 'OUT': expected a number for FP32 at index 0, got undefined undefined",
  ],
  [
    '{ outputs: { OUT: { shape: [1, 3], data: new Float32Array(2) } } }',
    "INTERNAL: output 'OUT': expected 3 values for shape [1,3], got 2",
  ],
  [
    '{ outputs: { OUT: { shape: [1, 1], data: new Float32Array(2) } } }',
    "INTERNAL: output 'OUT': expected 1 values for shape [1,1], got 2",
  ],
  [
    '{ outputs: { OUT: { shape: [1, 1], data: new DataView(new ArrayBuffer(4)) } } }',
    "INTERNAL: output 'OUT': expected 1 values for shape [1,1], got undefined",
  ],
  ['{ outputs: { OUT: { shape: [1, 2], data: detached() } } }', "INTERNAL: output 'OUT': expected 2 values for shape [1,2], got 0"],
  [
    '{ outputs: { OUT: { ...request.input("IN") } } }',
    "INTERNAL: output 'OUT': expected a typed array or an array of values as data, got undefined",
  ],
  ['{ outputs: { OUT: reshaped(request.input("IN"), [1, 100]) } }', "INTERNAL: output 'OUT': expected 100 values for shape [1,100], got 2"],
  ['{ outputs: { OUT: reshaped(request.input("IN"), [1, -2]) } }', `${shapes} [1,-2]`],
  ['{ outputs: { OUT: reshaped(request.input("IN"), [2]) } }', "INTERNAL: unexpected shape for output 'OUT': expected [-1,-1], got [2]"],
  ['{ parameters: { a: undefined } }', `INTERNAL: parameter 'a': ${parameterKinds} undefined`],
  ['{ parameters: { a: null } }', `INTERNAL: parameter 'a': ${parameterKinds} null`],
  ['{ parameters: { a: { b: 1 } } }', `INTERNAL: parameter 'a': ${parameterKinds} object`],
  ['{ parameters: { a: [1] } }', `INTERNAL: parameter 'a': ${parameterKinds} Array`],
  ['{ parameters: { a: Symbol("s") } }', `INTERNAL: parameter 'a': ${parameterKinds} symbol`],
  ['{ parameters: new Map([["a", () => 1]]) }', `INTERNAL: parameter 'a': ${parameterKinds} function`],
  ['{ parameters: { a: 2n ** 64n } }', "INTERNAL: parameter 'a': 18446744073709551616 has more than 64 bits"],
  ['{ parameters: "x" }', 'INTERNAL: expected parameters to be an object or a Map, got string'],
  ['{ error: "words" }', 'INTERNAL: words'],
  ['{ error: new ModelError("own", "UNAVAILABLE"), outputs: { OUT: request.input("IN") } }', 'UNAVAILABLE: own'],
  ['Object.freeze(new ModelError("cold", "NOT_FOUND"))', 'NOT_FOUND: cold'],
  ['Object.assign(new Error("copied"), { name: "ModelError", code: "NOT_FOUND" })', 'NOT_FOUND: copied'],
  ['Object.assign(new ModelError("x"), { message: Symbol("odd"), code: 5 })', 'INTERNAL: Symbol(odd)'],
];

const right: readonly Case[] = [
  ['{ outputs: { OUT: { shape: Int32Array.of(1, 2), data: Float64Array.of(1, 2) } } }', 'OUT [1,2]: 1,2'],
  ['{ outputs: { OUT: { shape: [1, 2], data: BigInt64Array.of(3n, 4n) } } }', 'OUT [1,2]: 3,4'],
  ['{ outputs: { OUT: { shape: [1, 2], data: Float32Array.of(9, 5, 6, 9).subarray(1, 3) } } }', 'OUT [1,2]: 5,6'],
  ['{ outputs: { OUT: { shape: [1, 2], data: new Float32Array(new ArrayBuffer(8, { maxByteLength: 64 })) } } }', 'OUT [1,2]: 0,0'],
  ['{ outputs: { OUT: { shape: [1, 1], data: request.input("IN", "FP32").data.subarray(1) } } }', 'OUT [1,1]: 2'],
  ['{ outputs: { OUT: requests[0].input("IN") } }', 'OUT [1,2]: 0,2'],
  ['{ outputs: { OUT: { shape: [1, 2], data: requests[0].input("IN").data } } }', 'OUT [1,2]: 0,2'],
  ['{ outputs: { OUT: reshaped(request.input("IN"), [2, 1]) } }', 'OUT [2,1]: <of>,2'],
  ['{ outputs: { OUT: { shape: [1, 0], data: [] } } }', 'OUT [1,0]: '],
  ['{ outputs: { OUT: { shape: [0, 5], data: new Float32Array(0) } } }', 'OUT [0,5]: '],
  ['{ outputs: { OUT: { shape: [1, 0], data: context.allocate("FP32", [1, 0]) } } }', 'OUT [1,0]: '],
  ['{ outputs: { OUT: undefined } }', ''],
  ['{ error: null, parameters: request.parameters }', ''],
  ['{}', ''],
];

const tools = `
  const detached = () => { const data = new Float32Array(2); structuredClone(data, { transfer: [data.buffer] }); return data; };
  const reshaped = (tensor, shape) => { tensor.shape.splice(0, 9, ...shape); return tensor; };`;

describe('what a model gives', () => {
  it.each([
    ['an array', 'execute(requests, context) { return give(requests, context); }'],
    ['a promise of an array', 'async execute(requests, context) { await 0; return give(requests, context); }'],
    [
      'a generator',
      'async *execute(requests, context) { for (const [of, answer] of give(requests, context).entries()) yield wrapped(requests[of], await answer); }',
    ],
  ])('fails its request alone where it is no answer, and says why: %s', async (kind, execute) => {
    const cases = kind === 'a generator' ? right : [...wrong, ...right];
    const { instance } = await openModel(
      `${tools}
      const wrapped = (request, answer) => ({ ...answer, request, isLast: true });
      const give = (requests, context) => [${cases.map(([expression]) => `(request, context, requests) => (${expression})`).join(',\n')}].map((make, of) => make(requests[of], context, requests));
      export default defineModel({ ${execute} });`,
      kind === 'a generator' ? { spec: { ...floats, decoupled: true } } : {},
    );
    const batch = () => batchOf(...cases.keys());
    const expected = cases.map(([, heard], of) => `${of} ${heard.replace('<of>', String(of))}`);
    // Twice: nothing that came before may be left in the memory.
    for (let round = 0; round < 2; round++) expect(await runOf(instance, batch())).toEqual(expected);
  });

  it('fails the one that a generator answers wrongly, and the rest goes on', async () => {
    const { instance } = await openModel(
      `export default defineModel({ async *execute([request]) {
        yield { parameters: { a: undefined } };
        yield { outputs: { OUT: [1] } };
        yield new Error('in its place');
        yield { outputs: { OUT: request.input('IN') } };
      } });`,
      { spec: { ...floats, decoupled: true } },
    );
    expect(await runOf(instance, batchOf(1))).toEqual([
      `0 INTERNAL: parameter 'a': ${parameterKinds} undefined…`,
      "0 INTERNAL: output 'OUT': expected { shape, data }, got Array…",
      '0 INTERNAL: Error: in its place…',
      '0 OUT [1,2]: 1,2…',
    ]);
  });

  it.each([
    ['undefined', 'INTERNAL: execute gave undefined: expected an answer'],
    ['5', 'INTERNAL: execute gave number: expected an answer'],
    ['new ModelError("for both", "UNAVAILABLE")', 'UNAVAILABLE: for both'],
    ['{ outputs: {} }', 'INTERNAL: an answer names no request of its execution'],
  ])('fails the batch of a generator that gives %s', async (given, text) => {
    const { instance } = await openModel(`export default defineModel({ async *execute() { yield ${given}; } });`, {
      spec: { ...floats, decoupled: true },
    });
    expect(await runOf(instance, batchOf(1, 2))).toEqual([text]);
  });

  it('never answers one request with the answer to another: the order of a batch is fixed', async () => {
    const changes = ['requests.sort((a, b) => b.rows - a.rows)', 'requests.reverse()', 'requests.shift()', 'requests.push(requests[0])'];
    const { instance } = await openModel(`let runs = 0;
      const changes = [${changes.map((change) => `(requests) => ${change}`).join()}];
      export default defineModel({ execute(requests) { changes[runs++]?.(requests); return ${echo}; } });`);
    for (const _change of changes)
      expect(await runOf(instance, batchOf(1, 2))).toEqual([expect.stringMatching(/^INTERNAL: .*TypeError: Cannot/)]);
    expect(await runOf(instance, batchOf(1, 2))).toEqual(['0 OUT [1,2]: 1,2', '1 OUT [1,2]: 2,2']);
  });

  it('keeps the parameters of each request to it', async () => {
    const { instance } = await openModel(`export default defineModel({ execute: (requests) => requests.map((request) => {
      const seen = request.parameters.size;
      request.parameters.set('mine', request.input('IN').data[0]);
      return { parameters: new Map([...request.parameters, ['seen', seen]]) };
    }) });`);
    for (let round = 0; round < 2; round++) {
      const { parts } = await outcomeOf(instance, batchOf(3, 4));
      expect(parts.map(({ parameters }) => [...parameters])).toEqual([
        [
          ['mine', 3],
          ['seen', 0],
        ],
        [
          ['mine', 4],
          ['seen', 0],
        ],
      ]);
    }
  });

  it('is settled once, whatever a promise of its own does', async () => {
    const { instance } = await openModel(`export default defineModel({ execute: (requests) => ({ then(resolve, reject) {
      resolve(${echo});
      reject(new Error('later'));
      setImmediate(() => resolve([]));
    } }) });`);
    const runs = Array.from({ length: 8 }, (_, value) => runOf(instance, batchOf(value)));
    expect(await Promise.all(runs)).toEqual(runs.map((_, value) => [`0 OUT [1,2]: ${value},2`]));
  });

  it('is refused where it is a tensor of an earlier batch whose memory holds something else now', async () => {
    const spec = modelSpec({ inputs: [inputSpec('IN', 'BYTES', [-1])], outputs: [outputSpec('OUT', 'BYTES', [-1])] });
    const { instance } = await openModel(
      `let first;
      export default defineModel({ execute: (requests) => { first ??= requests[0].input('IN'); return [{ outputs: { OUT: first } }]; } });`,
      { spec },
    );
    const ask = (...values: readonly string[]) =>
      makeBatch([inferRequest({ IN: tensorFrom('BYTES', [values.length], values) })], { rows: [1] });
    expect(await runOf(instance, ask('ab', 'cd'))).toEqual(['0 OUT [2]: ab,cd']);
    expect(await runOf(instance, ask('a text that is longer than both'))).toEqual([
      expect.stringMatching(/^0 INTERNAL: output 'OUT': expected 2 string elements, got /),
    ]);
  });
});

describe('what a model throws', () => {
  const thrown: readonly Case[] = [
    ['undefined', 'undefined'],
    ['null', 'null'],
    ['"words"', 'words'],
    ['42', '42'],
    ['Symbol("s")', 'Symbol(s)'],
    ['{ code: 5 }', '{ code: 5 }'],
    ['Object.create(null)', '[Object: null prototype] {}'],
    ['Object.freeze(new RangeError("cold"))', 'RangeError: cold'],
    ['new (class extends Error { get message() { throw 1; } })()', 'an error that cannot be shown'],
    ['new Proxy({}, { getPrototypeOf() { throw 1; }, get() { throw 2; }, ownKeys() { throw 3; } })', 'an error that cannot be shown'],
    ['Object.assign(new Error("bare"), { stack: undefined })', 'Error: bare'],
    ['new AggregateError([new Error("a")], "several")', 'AggregateError: several'],
    ['new Error("x".repeat(1_000_000))', `Error: ${'x'.repeat(16_377)}…`],
  ];
  const code = (execute: string): string => `let runs = 0;
    const makes = [${thrown.map(([expression]) => `() => (${expression})`).join(',\n')}];
    const fail = () => { throw makes[runs++](); };
    export default defineModel({ ${execute} });`;
  const prefix = "INTERNAL: Failed to process the request(s) for model 'm_0', message: ";

  it.each([
    ['at once', `execute(requests) { if (runs < makes.length) fail(); return ${echo}; }`],
    ['later', `async execute(requests) { await 0; if (runs < makes.length) fail(); return ${echo}; }`],
    [
      'in a generator',
      `*execute(requests) { if (runs < makes.length) fail(); for (const request of requests) yield { request, outputs: { OUT: request.input('IN') } }; }`,
    ],
  ])('fails its batch and leaves the instance alone, whatever it is: %s', async (_when, execute) => {
    const { instance } = await openModel(code(execute), { spec: { ...floats, decoupled: true } });
    for (const [expression, text] of thrown)
      expect([expression, await runOf(instance, batchOf(1, 2))]).toEqual([expression, [prefix + text]]);
    expect(await runOf(instance, batchOf(1))).toEqual([expect.stringContaining('0 OUT [1,2]: 1,2')]);
  });

  it('fails its request where each is handled alone, and the log has where it came from', async () => {
    const { instance } = await openModel(`
      export default defineModel({ execute: perRequest((request) => {
        const [value] = request.input('IN').data;
        if (value === 1) throw Object.create(null);
        if (value === 2) throw undefined;
        if (value === 3) return null;
        if (value === 4) return undefined;
        if (value === 5) throw new TypeError('deep', { cause: new Error('deeper') });
        if (value === 6) throw new ModelError('for the caller', 'NOT_FOUND');
        return { outputs: { OUT: request.input('IN') } };
      }) });`);
    expect(await runOf(instance, batchOf(0, 1, 2, 3, 4, 5, 6))).toEqual([
      '0 OUT [1,2]: 0,2',
      '1 INTERNAL: an error that cannot be shown',
      '2 INTERNAL: undefined',
      '3 INTERNAL: expected an object as response, got null',
      '5 INTERNAL: deep',
      '6 NOT_FOUND: for the caller',
    ]);
    await until(() => log.lines.some((line) => line.includes('deeper')));
    expect(log.lines.join('\n')).toMatch(/^error m_0: .*TypeError: deep\n[^\n]*model\.ts:9:.*Error: deeper/s);
  });
});

describe('what a model tells the server', () => {
  it('is what went wrong, with where, but for what a client may bring about and what is only passed on', async () => {
    const { instance } = await openModel(`export default defineModel({ execute: perRequest((request) => {
      const [value] = request.input('IN').data;
      const cause = new RangeError('at the bottom');
      if (value === 1) throw new ModelError('no such image', 'INVALID_ARGUMENT', { cause });
      if (value === 2) throw new ModelError('passed on', 'INTERNAL', { cause: new ModelError('refused', 'INVALID_ARGUMENT') });
      if (value === 3) throw new ModelError('cannot', 'INTERNAL', { cause });
      throw new ModelError('cannot either', 'INTERNAL', { cause: new ModelError('for this reason', 'INTERNAL', { cause }) });
    }) });`);
    expect(await runOf(instance, batchOf(1, 2, 3, 4))).toHaveLength(4);
    await until(() => log.lines.length === 2);
    expect(log.lines.map((line) => line.split('\n')[0])).toEqual([
      'error m_0: cannot: RangeError: at the bottom',
      'error m_0: cannot either: for this reason: RangeError: at the bottom',
    ]);
    expect(log.lines[1]).toMatch(/model\.ts:4:/);
  });

  it('is text, or becomes it, and never stops the instance', async () => {
    const { instance } = await openModel(`export default defineModel({ async execute(requests, context) {
      const { logger } = context;
      logger.info(() => 1);
      logger.warning(undefined);
      logger.error(new Error('an object'));
      logger.info({ a: 1 });
      logger.info(Symbol('s'));
      logger.verbose('odd', 'high');
      logger.verbose('odder', NaN);
      for (const name of [Symbol('s'), 5, undefined, () => 1]) {
        await context.isModelReady(name).catch((error) => logger.info(error.message));
      }
      return ${echo};
    } });`);
    expect(await runOf(instance, batchOf(1))).toEqual(['0 OUT [1,2]: 1,2']);
    expect(log.lines.map((line) => line.split('\n')[0])).toEqual([
      'info m_0: [Function (anonymous)]',
      'warning m_0: undefined',
      'error m_0: Error: an object',
      'info m_0: { a: 1 }',
      'info m_0: Symbol(s)',
      'verbose 1 m_0: odd',
      'verbose 1 m_0: odder',
      ...Array(4).fill('info m_0: isModelReady: expected name and version as strings'),
    ]);
  });

  it('is memory that there can be', async () => {
    const { instance } = await openModel(`export default defineModel({ execute: (requests, context) => requests.map((request) => {
      const said = [];
      for (const given of [['BYTES', [1]], ['FP99', [1]], ['FP32', [-1]], ['FP32', [2 ** 50]], ['FP32', undefined]]) {
        try { context.allocate(...given); } catch (error) { said.push(error.constructor.name); }
      }
      const out = context.allocate('FP32', [1, 2]);
      out.set([said.length, said.filter((name) => name === 'RangeError').length]);
      return { outputs: { OUT: { shape: [1, 2], data: out } } };
    }) });`);
    for (let round = 0; round < 3; round++) expect(await runOf(instance, batchOf(1, 2))).toEqual(['0 OUT [1,2]: 5,2', '1 OUT [1,2]: 5,2']);
  });
});
