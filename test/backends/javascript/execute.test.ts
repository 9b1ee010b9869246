import { describe, expect, it } from 'vitest';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { datatypes } from '../../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { type TensorValue, tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { floats, floatsOf, makeBatch, outcomeOf, runOf, workbench } from './workbench.ts';

const { log, openModel } = workbench();

const requestsOf = (...values: readonly (readonly number[])[]) => values.map((each) => inferRequest({ IN: floatsOf(each) }));

describe('execute', () => {
  it('is given every request of a batch, of unequal shapes too, and answers each in its place', async () => {
    const { instance } = await openModel(`export default defineModel({
      execute: (requests) => requests.map((request) => {
        const { shape, data } = request.input('IN', 'FP32');
        return { outputs: { OUT: { shape, data: data.map((value) => value * requests.length) } } };
      }),
    });`);
    expect(await runOf(instance, makeBatch(requestsOf([1, 2], [3], [], [4, 5, 6])))).toEqual([
      '0 OUT [1,2]: 4,8',
      '1 OUT [1,1]: 12',
      '2 OUT [1,0]: ',
      '3 OUT [1,3]: 16,20,24',
    ]);
  });

  it('sees what else a request brings', async () => {
    const { instance } = await openModel(`export const model = defineModel({
      execute: (requests) => requests.map(({ id, parameters, sequenceId, sequenceStart, sequenceEnd, priority, timeoutMicroseconds, rows, inputNames, outputNames }) => ({
        parameters: {
          seen: [id, [...parameters].join('; '), typeof sequenceId, sequenceId, sequenceStart, sequenceEnd, priority, timeoutMicroseconds, rows, inputNames, outputNames].join(' | '),
          big: 2n ** 62n, half: 0.5, none: Infinity, yes: true,
        },
      })),
    });`);
    const parameters = new Map<string, string | number | bigint | boolean>([
      ['a', 'ü"'],
      ['b', 2n ** 53n + 1n],
      ['c', -0.25],
      ['d', false],
      ['e', Number.NaN],
    ]);
    const [plain, full, named] = [
      inferRequest({ IN: floatsOf([1]) }),
      inferRequest(
        {},
        {
          id: 'ïd',
          parameters,
          sequenceId: 2n ** 64n - 1n,
          sequenceStart: true,
          priority: 3n,
          timeoutMicroseconds: 9n,
          outputs: [{ name: 'OUT', classification: 0 }],
        },
      ),
      inferRequest({}, { sequenceId: 'séq', sequenceEnd: true }),
    ];
    const { parts } = await outcomeOf(instance, makeBatch([plain, full, named], { rows: [1, 2, 3] }));
    expect(parts.map((part) => part.parameters.get('seen'))).toEqual([
      ' |  | bigint | 0 | false | false | 0 | 0 | 1 | IN | OUT',
      'ïd | a,ü"; b,9007199254740993; c,-0.25; d,false; e,NaN | bigint | 18446744073709551615 | true | false | 3 | 9 | 2 |  | OUT',
      ' |  | string | séq | false | true | 0 | 0 | 3 |  | OUT',
    ]);
    expect([...(parts[0]?.parameters ?? [])].slice(1)).toEqual([
      ['big', 2n ** 62n],
      ['half', 0.5],
      ['none', Number.POSITIVE_INFINITY],
      ['yes', true],
    ]);
  });

  it('has the config, and what its instance is', async () => {
    const { instance } = await openModel(
      `export default defineModel({ execute: (requests, context) => requests.map(() => ({ parameters: {
        seen: [context.modelName, context.modelVersion, context.config.x, context.parameters.get('k'), JSON.stringify(context.instance), context.versionDirectory === context.modelDirectory + '/1'].join(' '),
      } })) });`,
      { spec: { ...floats, version: '7', config: { x: 5 }, parameters: new Map([['k', 'v']]) }, name: 'm_3' },
    );
    const { parts } = await outcomeOf(instance, makeBatch(requestsOf([1])));
    expect(parts[0]?.parameters.get('seen')).toBe('m 7 5 v {"name":"m_3","kind":"CPU","device":0} true');
  });

  it('answers only the outputs that are wanted, and may leave outputs out', async () => {
    const spec = modelSpec({ inputs: [], outputs: ['A', 'B', 'C'].map((name) => outputSpec(name, 'INT32', [1])) });
    const { instance } = await openModel(
      `export default defineModel({ execute: (requests) => requests.map(() => ({ outputs: { A: { shape: [1], data: [1] }, B: { shape: [1], data: Int32Array.of(2) } } })) });`,
      { spec },
    );
    const asking = (...names: readonly string[]) => inferRequest({}, { outputs: names.map((name) => ({ name, classification: 0 })) });
    const batch = makeBatch([asking(), asking('B'), asking('C', 'A', 'A'), asking('C')]);
    expect(await runOf(instance, batch)).toEqual(['0 A [1]: 1; B [1]: 2', '1 B [1]: 2', '2 A [1]: 1', '3 ']);
  });

  it('answers the states of a sequence, whichever outputs its caller wants', async () => {
    const initial = tensorFrom('INT64', [1], [0n]);
    const spec = modelSpec({
      outputs: ['OUT', 'OTHER', 'BOTH'].map((name) => outputSpec(name, 'INT64', [1])),
      sequenceBatching: {
        strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
        maxIdleMs: 1000,
        controls: [],
        states: ['HIDDEN', 'BOTH'].map((outputName) => ({
          inputName: `${outputName}_IN`,
          outputName,
          datatype: 'INT64',
          dims: [1],
          initial,
        })),
        isIterative: false,
        endsIdleWithStep: false,
      },
    });
    const { instance } = await openModel(
      `export default defineModel({ execute: (requests) => requests.map((request) => ({
        outputs: Object.fromEntries(['OUT', 'OTHER', 'BOTH', 'HIDDEN'].map((name, index) => [name, { shape: [1], data: [index] }])),
        parameters: { wanted: request.outputNames.join() },
      })) });`,
      { spec },
    );
    const batch = makeBatch([inferRequest({}, { outputs: [{ name: 'OUT', classification: 0 }] }), inferRequest({})]);
    expect(await runOf(instance, batch)).toEqual([
      '0 OUT [1]: 0; BOTH [1]: 2; HIDDEN [1]: 3',
      '1 OUT [1]: 0; OTHER [1]: 1; BOTH [1]: 2; HIDDEN [1]: 3',
    ]);
  });

  it('sees inputs that the scheduler adds, those of the whole batch, and those that are missing', async () => {
    const spec = modelSpec({
      ...floats,
      inputs: [inputSpec('IN', 'FP32', [-1]), inputSpec('MAYBE', 'INT8', [1], { optional: true })],
      batchInputs: [{ kind: 'BATCH_ELEMENT_COUNT', names: ['COUNTS'], datatype: 'INT32', source: 'IN' }],
      sequenceBatching: {
        strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
        maxIdleMs: 1000,
        controls: [{ kind: 'START', name: 'START', datatype: 'INT32', whenFalse: 0, whenTrue: 1 }],
        states: [{ inputName: 'S_IN', outputName: 'S_OUT', datatype: 'INT64', dims: [1], initial: tensorFrom('INT64', [1, 1], [0n]) }],
        isIterative: false,
        endsIdleWithStep: false,
      },
    });
    const { instance } = await openModel(
      `export default defineModel({ execute: (requests, context) => requests.map((request) => ({
        parameters: { counts: context.batchInput('COUNTS').data.join(), start: request.input('START').data[0], maybe: request.optionalInput('MAYBE')?.data[0] ?? 'none' },
        outputs: { S_OUT: { shape: [1, 1], data: [request.input('S_IN', 'INT64').data[0] + 1n] } },
      })) });`,
      { spec },
    );
    const request = (start: number, extra: Readonly<Record<string, Tensor>>) =>
      inferRequest({ IN: floatsOf([1]), START: tensorFrom('INT32', [1, 1], [start]), S_IN: tensorFrom('INT64', [1, 1], [41n]), ...extra });
    const batch = makeBatch([request(1, {}), request(0, { MAYBE: tensorFrom('INT8', [1, 1], [-3]) })], {
      wholeInputs: new Map([['COUNTS', tensorFrom('INT32', [2], [7, 8])]]),
    });
    const { parts } = await outcomeOf(instance, batch);
    expect(parts.map(({ parameters }) => [...parameters.values()])).toEqual([
      ['7,8', 1, 'none'],
      ['7,8', 0, -3],
    ]);
    expect(await runOf(instance, batch)).toEqual(['0 S_OUT [1,1]: 42', '1 S_OUT [1,1]: 42']);
  });
});

const samples: Readonly<Record<Datatype, readonly TensorValue[]>> = {
  BOOL: [true, false],
  UINT8: [0, 255],
  UINT16: [0, 65535],
  UINT32: [1, 2 ** 32 - 1],
  UINT64: [0n, 2n ** 64n - 1n],
  INT8: [-128, 127],
  INT16: [-32768, 32767],
  INT32: [-(2 ** 31), 2 ** 31 - 1],
  INT64: [-(2n ** 63n), 2n ** 63n - 1n],
  FP16: [0.5, -65504],
  FP32: [0.1, Number.NEGATIVE_INFINITY],
  FP64: [0.1, Number.MAX_VALUE],
  BYTES: ['', 'häß\0lich'],
  BF16: [1, -2],
};

const arrays: Readonly<Record<Datatype, string>> = {
  BOOL: 'Uint8Array',
  UINT8: 'Uint8Array',
  UINT16: 'Uint16Array',
  UINT32: 'Uint32Array',
  UINT64: 'BigUint64Array',
  INT8: 'Int8Array',
  INT16: 'Int16Array',
  INT32: 'Int32Array',
  INT64: 'BigInt64Array',
  FP16: 'Uint16Array',
  FP32: 'Float32Array',
  FP64: 'Float64Array',
  BYTES: 'Array',
  BF16: 'Uint16Array',
};

describe('datatypes', () => {
  it('carries each one: as it is, by its own array, by memory of the server, and as values', async () => {
    const spec = modelSpec({
      inputs: datatypes.map((name) => inputSpec(name, name, [2])),
      outputs: datatypes.flatMap((name) => ['same', 'array', 'own'].map((way) => outputSpec(`${name} ${way}`, name, [2]))),
    });
    const { instance } = await openModel(
      `export default defineModel({ execute: (requests, context) => requests.map((request) => {
        const outputs = {};
        const parameters = {};
        for (const name of request.inputNames) {
          const input = request.input(name);
          const { datatype, shape, data } = input;
          parameters[name] = data.constructor.name + ' ' + (datatype === 'BYTES' ? data[0].buffer : data.buffer).constructor.name;
          outputs[name + ' same'] = input;
          outputs[name + ' array'] = { shape, data: datatype === 'BYTES' ? input.strings() : data.slice() };
          if (datatype === 'BYTES') outputs[name + ' own'] = { datatype, shape, data: data.map((bytes) => Uint8Array.from(bytes)) };
          else {
            const own = context.allocate(datatype, shape);
            if (own.some((value) => Number(value) !== 0)) throw new Error('allocated memory is not empty');
            own.set(data);
            outputs[name + ' own'] = { shape, data: own };
          }
        }
        return { outputs, parameters };
      }) });`,
      { spec },
    );
    const inputs = Object.fromEntries(datatypes.map((name) => [name, tensorFrom(name, [2], samples[name])]));
    for (let round = 0; round < 2; round++) {
      const { parts, error } = await outcomeOf(instance, makeBatch([inferRequest(inputs)], { rows: [1] }));
      const [part] = parts;
      expect([error, part?.error]).toEqual([undefined, undefined]);
      for (const name of datatypes) {
        expect(part?.parameters.get(name)).toBe(`${arrays[name]} SharedArrayBuffer`);
        for (const way of ['same', 'array', 'own']) {
          const output = part?.outputs.get(`${name} ${way}`);
          expect([name, way, output?.datatype, output?.shape, Buffer.from(output?.bytes ?? [])]).toEqual([
            name,
            way,
            name,
            [2],
            Buffer.from(inputs[name]?.bytes ?? []),
          ]);
        }
      }
    }
  });

  it('carries tensors of many sizes, one after the other, at whatever place in a buffer they lie', async () => {
    const { instance } = await openModel(`export default defineModel({
      execute: perRequest((request, context) => {
        const { shape, data } = request.input('IN', 'FP32');
        const out = context.allocate('FP32', shape);
        out.set(data);
        return { outputs: { OUT: { shape, data: out } } };
      }),
    });`);
    for (const count of [1, 100_000, 3, 5000, 0]) {
      const bytes = new Uint8Array(4 * count + 7);
      new DataView(bytes.buffer).setFloat32(3, 1.5, true);
      const tensor = new Tensor('FP32', [1, count], bytes, 3, 3 + 4 * count);
      const { parts } = await outcomeOf(instance, makeBatch(Array.from({ length: 3 }, () => inferRequest({ IN: tensor }))));
      expect(parts.map(({ outputs }) => Buffer.from(outputs.get('OUT')?.bytes ?? []).equals(tensor.bytes))).toEqual([true, true, true]);
    }
  });
});

describe('errors', () => {
  it('fails a request, and not its batch, for an error in its place', async () => {
    const { instance } = await openModel(`export default defineModel({
      execute: (requests) => requests.map((request) => {
        const value = request.input('IN', 'FP32').data[0];
        if (value === 1) return new ModelError('one is too small', 'INVALID_ARGUMENT');
        if (value === 2) return { outputs: { OUT: { datatype: 'INT32', shape: [1, 1], data: [2] } } };
        if (value === 3) return { outputs: { OUT: { shape: [1, 2], data: Float32Array.of(3) } } };
        if (value === 4) return { outputs: { OUT: { shape: [1], data: Float32Array.of(4) } } };
        if (value === 5) return { outputs: { OTHER: { shape: [1, 1], data: [5] } } };
        if (value === 6) return { outputs: { OUT: { shape: [1, 1], data: ['6'] } } };
        if (value === 7) return 7;
        if (value === 8) return new ModelError('odd', 'NO_SUCH_CODE');
        return { outputs: { OUT: { shape: [1, 1], data: [value] } } };
      }),
    });`);
    expect(await runOf(instance, makeBatch(requestsOf([0], [1], [2], [3], [4], [5], [6], [7], [8], [9])))).toEqual([
      '0 OUT [1,1]: 0',
      '1 INVALID_ARGUMENT: one is too small',
      "2 INTERNAL: output 'OUT' is FP32 in the model configuration, the model gave INT32",
      "3 INTERNAL: output 'OUT': expected 2 values for shape [1,2], got 1",
      "4 INTERNAL: unexpected shape for output 'OUT': expected [-1,-1], got [1]",
      "5 INTERNAL: the model gave an output 'OTHER' that its configuration does not have",
      "6 INTERNAL: output 'OUT': expected a number for FP32 at index 0, got string 6",
      '7 INTERNAL: expected an object as response, got number',
      '8 INTERNAL: odd',
      '9 OUT [1,1]: 9',
    ]);
  });

  it.each(['', 'async '])('fails one request alone for what a handler of single requests throws: %sfunctions', async (kind) => {
    const { instance } = await openModel(`export default defineModel({
      execute: perRequest(${kind}(request) => {
        const input = request.input('IN', 'FP32');
        if (input.data[0] === 1) throw new TypeError('bad');
        if (input.data[0] === 2) throw new ModelError('gone', 'NOT_FOUND');
        if (input.data[0] === 3) request.input('NONE');
        if (input.data[0] === 4) request.input('IN', 'INT8');
        if (input.data[0] === 5) input.strings();
        return { outputs: { OUT: input } };
      }),
    });`);
    expect(await runOf(instance, makeBatch(requestsOf([0], [1], [2], [3], [4], [5], [6])))).toEqual([
      '0 OUT [1,1]: 0',
      '1 INTERNAL: bad',
      '2 NOT_FOUND: gone',
      "3 INTERNAL: the model has no input 'NONE'",
      "4 INTERNAL: tensor 'IN' is FP32, not INT8",
      '5 INTERNAL: a tensor of FP32 has no strings',
      '6 OUT [1,1]: 6',
    ]);
  });

  it.each([
    ['throws', `() => { throw new RangeError('all wrong'); }`, 'RangeError: all wrong'],
    ['rejects', `async () => { await 0; throw new RangeError('all wrong'); }`, 'RangeError: all wrong'],
    ['throws what is no error', `() => { throw 'words'; }`, 'words'],
    ['throws in a generator', `function* () { throw new RangeError('all wrong'); }`, 'RangeError: all wrong'],
  ])('fails the batch, logs where, and lives on when it %s', async (_what, execute, text) => {
    const { instance } = await openModel(`let runs = 0;
      const fail = ${execute};
      export default defineModel({ execute: (requests) => runs++ === 0 ? fail() : requests.map((request) => ({ outputs: { OUT: request.input('IN') } })) });`);
    const batch = makeBatch(requestsOf([1], [2]));
    expect(await runOf(instance, batch)).toEqual([`INTERNAL: Failed to process the request(s) for model 'm_0', message: ${text}`]);
    expect(await runOf(instance, batch)).toEqual(['0 OUT [1,1]: 1', '1 OUT [1,1]: 2']);
    if (text.startsWith('RangeError')) expect(log.lines.join()).toMatch(/error m_0: RangeError: all wrong\n.*model\.ts:3:/);
  });

  it.each([
    ['another number of responses', '[{}]', 'execute returned 1 responses for 2 requests'],
    ['a number', '5', 'execute returned number: expected an array'],
    ['null', 'null', 'execute returned null: expected an array'],
    ['an object', '{}', 'execute returned object: expected an array'],
    ['a promise of a string', 'Promise.resolve("x")', 'execute returned string: expected an array'],
    ['an error of its own', 'Promise.reject(new ModelError("later", "UNAVAILABLE"))', 'later'],
  ])('fails the batch for %s', async (_what, value, text) => {
    const { instance } = await openModel(`export default defineModel({ execute: () => (${value}) });`);
    const { parts, error } = await outcomeOf(instance, makeBatch(requestsOf([1], [2])));
    expect([parts, error?.message, error?.reason]).toEqual([[], text, 'BACKEND']);
  });

  it('may answer some requests of a batch, or none: what that means is decided elsewhere', async () => {
    const { instance } = await openModel(`let runs = 0;
      export default defineModel({ execute: () => runs++ === 0 ? [undefined, { outputs: {} }] : undefined });`);
    expect(await runOf(instance, makeBatch(requestsOf([1], [2])))).toEqual(['1 ']);
    expect(await runOf(instance, makeBatch(requestsOf([1], [2])))).toEqual([]);
  });

  it('asks for a request to run again', async () => {
    const { instance } = await openModel(
      `export default defineModel({ execute: (requests) => requests.map((request) => ({ reschedule: true, outputs: { OUT: request.input('IN') } })) });`,
    );
    expect(await runOf(instance, makeBatch(requestsOf([1])))).toEqual(['0 OUT [1,1]: 1 again']);
  });
});
