import { concat, EMPTY, NEVER, Observable, of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import { type ModelCalls, refuseCycles } from '../../../src/streams/inference/model-calls.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { inferRequest, inferResponse } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import { describePart, floatsOf, makeBatch, outcomeOf, runOf, workbench } from './workbench.ts';

const { log, openModel } = workbench();

const callsTo = (models: Readonly<Record<string, Infer>>): ModelCalls => ({
  infer: refuseCycles((request) => {
    const model = models[request.modelName];
    return model === undefined ? throwError(() => new InferError('NOT_FOUND', `no model '${request.modelName}'`)) : model(request);
  }),
  isReady: (name, version) => models[name] !== undefined && version !== '9',
  isDecoupled: (name) => {
    if (models[name] === undefined) throw new InferError('NOT_FOUND', `no model '${name}'`);
    return name.startsWith('many');
  },
});

const answerOf = (value: number, part: Partial<InferResponse> = {}): InferResponse => inferResponse({ R: floatsOf([value]) }, part);

const batchOf = (...values: readonly number[]) =>
  makeBatch(values.map((value) => inferRequest({ IN: floatsOf([value]) }, { id: `id${value}` })));

/** Calls a model for each request, and answers with what it gave or with the error. */
const caller = (body: string): string => `export default defineModel({
  execute: perRequest(async (request, context) => { ${body} }),
});`;

const passOn = caller(`
  const answer = await context.infer({ model: 'other', inputs: { X: request.input('IN') } }, { request });
  return { outputs: { OUT: answer.output('R', 'FP32') } };`);

describe('infer', () => {
  it('brings a request to the server, and its answer back', async () => {
    const asked: InferRequest[] = [];
    const calls = callsTo({
      other: (request) => {
        asked.push(request);
        return of(
          inferResponse(
            { R: floatsOf([9]), S: tensorFrom('BYTES', [2], ['ä', '']) },
            { id: request.id, modelVersion: '4', parameters: new Map([['p', 5n]]) },
          ),
        );
      },
    });
    const { instance } = await openModel(
      caller(`
        const big = new Float32Array(8).fill(7);
        const answer = await context.infer({
          model: 'other', version: '3', outputs: ['R', 'S'], parameters: { a: 1n, b: 'c' }, sequenceId: 5, sequenceStart: true, priority: 2, timeoutMicroseconds: 100n,
          inputs: { X: request.input('IN'), SLICE: { datatype: 'FP32', shape: [3], data: big.subarray(2, 5) }, TEXT: { datatype: 'BYTES', shape: [1], data: ['é'] } },
        }, { request });
        return { outputs: { OUT: answer.output('R') }, parameters: {
          seen: [answer.modelName, answer.modelVersion, answer.id, [...answer.parameters].join(), answer.outputNames, answer.isLast, answer.output('S').strings()].join(' '),
        } };`),
      { calls },
    );
    const parts: string[] = [];
    await new Promise<void>((resolve) =>
      instance.run(batchOf(1)).subscribe({ next: ({ parameters }) => parts.push(String(parameters.get('seen'))), complete: resolve }),
    );
    expect(parts).toEqual(['m 4 id1 p,5 R,S true ä,']);
    const [request] = asked;
    expect(request).toMatchObject({
      modelName: 'other',
      modelVersion: '3',
      id: 'id1',
      outputs: [
        { name: 'R', classification: 0 },
        { name: 'S', classification: 0 },
      ],
      sequenceId: 5n,
      sequenceStart: true,
      sequenceEnd: false,
      priority: 2n,
      timeoutMicroseconds: 100n,
      caller: { modelName: 'm', caller: undefined },
    });
    expect([...(request?.parameters ?? [])]).toEqual([
      ['a', 1n],
      ['b', 'c'],
    ]);
    const [x, slice, text] = [...(request?.inputs.values() ?? [])];
    if (x === undefined || slice === undefined || text === undefined) throw new Error('inputs are missing');
    expect([[...tensorValues(x)], [...tensorValues(slice)], tensorStrings(text)]).toEqual([[1], [7, 7, 7], ['é']]);
  });

  it('makes calls at once, and gives each its own answer', async () => {
    const open: (() => void)[] = [];
    const other: Infer = ({ inputs }) =>
      new Observable((subscriber) => {
        const [value = 0] = tensorValues(inputs.get('X') ?? floatsOf([]));
        open.push(() => {
          subscriber.next(answerOf(10 * Number(value)));
          subscriber.complete();
        });
      });
    const { instance } = await openModel(passOn, { calls: callsTo({ other }) });
    const run = runOf(instance, batchOf(...Array.from({ length: 32 }, (_, index) => index)));
    await until(() => open.length === 32);
    for (const answer of open.toReversed()) answer();
    expect(await run).toEqual(Array.from({ length: 32 }, (_, index) => `${index} OUT [1,1]: ${10 * index}`));
  });

  it.each([
    ['the error of the model', { other: () => throwError(() => new InferError('UNAVAILABLE', 'too busy')) }, 'UNAVAILABLE: too busy'],
    ['a model that there is not', {}, "NOT_FOUND: no model 'other'"],
    ['no answer', { other: () => EMPTY }, "INTERNAL: model 'other' gave no answer"],
    [
      'two answers',
      { other: () => of(answerOf(1), answerOf(2)) },
      "INTERNAL: model 'other' is decoupled and may answer any number of times: call it with inferMany",
    ],
    ['an answer that is an error', { other: () => of(answerOf(1, { error: new InferError('NOT_FOUND', 'no row') })) }, 'NOT_FOUND: no row'],
  ])('rejects for %s', async (_what, models: Readonly<Record<string, Infer>>, text) => {
    const { instance } = await openModel(passOn, { calls: callsTo(models) });
    expect(await runOf(instance, batchOf(1))).toEqual([`0 ${text}`]);
  });

  it.each([
    [
      'a decoupled model',
      `{ model: 'many', inputs: {} }`,
      "INTERNAL: model 'many' is decoupled and may answer any number of times: call it with inferMany",
    ],
    [
      'an input without datatype',
      `{ model: 'other', inputs: { X: { shape: [1], data: [1] } } }`,
      "INTERNAL: input 'X' of a call has no datatype",
    ],
    [
      'an input that is no tensor',
      `{ model: 'other', inputs: { X: { datatype: 'INT8', shape: [1], data: [1000] } } }`,
      "INTERNAL: input 'X' of a call: number 1000 at index 0 is out of the range of INT8",
    ],
    [
      'an output that there is not',
      `{ model: 'other', inputs: {} }, { request }).then((answer) => answer.output('Z')`,
      "INTERNAL: the answer of model 'm' has no output 'Z'",
    ],
    ['a signal that is aborted', `{ model: 'never', inputs: {} }, { signal: AbortSignal.abort() }`, 'CANCELLED: the call was cancelled'],
    ['a signal that will be', `{ model: 'never', inputs: {} }, { signal: AbortSignal.timeout(5) }`, 'CANCELLED: the call was cancelled'],
  ])('rejects for %s', async (_what, call, text) => {
    const calls = callsTo({ other: () => of(answerOf(1)), many: () => of(answerOf(1)), never: () => NEVER });
    const { instance } = await openModel(caller(`await context.infer(${call}); return {};`), { calls });
    expect(await runOf(instance, batchOf(1))).toEqual([`0 ${text}`]);
  });

  it('refuses a call that would wait for itself, whichever request of the batch it is that waits', async () => {
    const { instance } = await openModel(
      `export default defineModel({ async execute(requests, context) { await context.infer({ model: 'top', inputs: {} }); return []; } });`,
      { calls: callsTo({ top: () => NEVER }) },
    );
    const request = inferRequest({ IN: floatsOf([1]) });
    const batch = makeBatch([request, { ...request, caller: { modelName: 'mid', caller: { modelName: 'top', caller: undefined } } }]);
    expect(await runOf(instance, batch)).toEqual(['INVALID_ARGUMENT: models call each other in a cycle: top -> mid -> m -> top']);
    expect(
      await runOf(
        (await openModel(caller(`await context.infer({ model: 'm', inputs: {} }); return {};`), { name: 'm_1' })).instance,
        batchOf(1),
      ),
    ).toHaveLength(1);
  });

  it('refuses what is no call, says why, and makes others after it', async () => {
    const wrong: readonly (readonly [call: string, text: string])[] = [
      ['null', 'expected { model, inputs } as a call, got null'],
      ['{}', 'model of a call: expected a name, got undefined'],
      ["{ model: Symbol('s'), inputs: {} }", 'model of a call: expected a name, got symbol'],
      ["{ model: 'other' }", 'inputs of a call: expected an object, got undefined'],
      ["{ model: 'other', inputs: new Map() }", 'inputs of a call: expected an object, got Map'],
      ["{ model: 'other', inputs: [] }", 'inputs of a call: expected an object, got Array'],
      ["{ model: 'other', inputs: { X: null } }", "input 'X' of a call: expected { shape, data }, got null"],
      ["{ model: 'other', inputs: { X: Float32Array.of(1) } }", "input 'X' of a call: expected { shape, data }, got Float32Array"],
      [
        "{ model: 'other', inputs: { X: { datatype: 'FP31', shape: [1], data: [1] } } }",
        "input 'X' of a call has the datatype FP31, which there is not",
      ],
      [
        "{ model: 'other', inputs: { X: { datatype: 'FP32', shape: [-1], data: [1] } } }",
        "input 'X' of a call: a shape is made of non-negative integers with a product below 2^53, got [-1]",
      ],
      ["{ model: 'other', inputs: {}, version: 3 }", 'version of a call: expected a string, got number'],
      ["{ model: 'other', inputs: {}, id: 5 }", 'id of a call: expected a string, got number'],
      ["{ model: 'other', inputs: {}, outputs: 'R' }", 'outputs of a call: expected an array of names, got string'],
      ["{ model: 'other', inputs: {}, outputs: [() => 'R'] }", 'outputs of a call: expected a string, got function'],
      ["{ model: 'other', inputs: {}, parameters: { a: {} } }", "parameter 'a': expected a string, boolean, number or bigint, got object"],
      ["{ model: 'other', inputs: {}, sequenceId: -1 }", 'sequenceId of a call: -1 is no unsigned integer of 64 bits'],
      [
        "{ model: 'other', inputs: {}, sequenceId: 2n ** 64n }",
        'sequenceId of a call: 18446744073709551616 is no unsigned integer of 64 bits',
      ],
      ["{ model: 'other', inputs: {}, priority: 1.5 }", 'priority of a call: 1.5 is no unsigned integer of 64 bits'],
      [
        "{ model: 'other', inputs: {}, timeoutMicroseconds: '5' }",
        'timeoutMicroseconds of a call: expected a bigint or number, got string',
      ],
    ];
    let asked = 0;
    const calls = callsTo({
      other: () => {
        asked++;
        return of(answerOf(7));
      },
    });
    for (const how of ['context.infer(make(), { request })', 'context.inferMany(make(), { request }).next()']) {
      asked = 0;
      const { instance } = await openModel(
        caller(`
          const said = [];
          for (const make of [${wrong.map(([call]) => `() => (${call})`).join(',\n')}]) {
            try { await ${how}; said.push('nothing'); } catch (error) { said.push(error.code + ' ' + error.message); }
          }
          try { await context.infer({ model: 'other', inputs: {} }, { request, signal: new AbortController() }); } catch (error) { said.push(error.message); }
          const answer = await context.infer({ model: 'other', inputs: {}, parameters: new Map([['a', 1n]]) }, { request });
          return { outputs: { OUT: answer.output('R') }, parameters: { said: said.join('\\n') } };`),
        { calls },
      );
      const { parts } = await outcomeOf(instance, batchOf(1));
      expect(String(parts[0]?.parameters.get('said')).split('\n')).toEqual([
        ...wrong.map(([, text]) => `INTERNAL ${text}`),
        'signal of a call: expected an AbortSignal, got AbortController',
      ]);
      expect([parts.map(describePart), asked]).toEqual([['0 OUT [1,1]: 7'], 1]);
    }
  });

  it('may be started and left: what becomes of a call that nobody looks at hurts nobody else', async () => {
    const other: Infer = ({ parameters }) =>
      parameters.get('ends') === true ? throwError(() => new InferError('UNAVAILABLE', 'no')) : NEVER;
    const { instance, failure } = await openModel(
      caller(`
        const ask = (ends) => context.infer({ model: 'other', inputs: {}, parameters: { ends } }, { request });
        const [first, second, third] = [ask(true), ask(false), ask(true)];
        setTimeout(() => context.infer({ model: 'other', inputs: {} }), 0);
        await first;
        await second;
        await third;`),
      { calls: callsTo({ other }) },
    );
    for (let round = 0; round < 3; round++)
      expect(await runOf(instance, batchOf(1, 2))).toEqual(['0 UNAVAILABLE: no', '1 UNAVAILABLE: no']);
    expect(await Promise.race([failure, runOf(instance, batchOf(3))])).toEqual(['0 UNAVAILABLE: no']);
  });

  it('is cancelled with the request that it is made for, or with the whole execution', async () => {
    const open = new Set<string>();
    const other: Infer = ({ id }) =>
      new Observable(() => {
        open.add(id);
        return () => open.delete(id);
      });
    const { instance } = await openModel(passOn, { calls: callsTo({ other }) });
    const batch = batchOf(1, 2, 3);
    const run = instance.run(batch).subscribe();
    await until(() => open.size === 3);
    batch.onCancelled?.(1);
    expect([...open]).toEqual(['id1', 'id3']);
    run.unsubscribe();
    expect([...open]).toEqual([]);
  });

  it('is over when the execution is over, and cannot begin later', async () => {
    const open: string[] = [];
    const other: Infer = ({ id }) =>
      new Observable(() => {
        open.push(id);
        return () => open.push('closed');
      });
    const { instance } = await openModel(
      `export default defineModel({ execute(requests, context) {
        context.infer({ model: 'other', inputs: {} }).catch((error) => console.log(error.code));
        setTimeout(() => context.infer({ model: 'other', inputs: {} }).catch((error) => console.log(error.message)), 1);
        return requests.map(() => ({}));
      } });`,
      { calls: callsTo({ other }) },
    );
    await runOf(instance, batchOf(1));
    await until(() => log.lines.length === 2);
    // Which of them the model hears of first nobody says.
    expect([open, log.lines.toSorted()]).toEqual([
      ['id1', 'closed'],
      ['info m_0: CANCELLED', 'info m_0: other models can be called only as long as execute runs'],
    ]);
  });

  it('ends with the thread', async () => {
    let closed = 0;
    const other: Infer = () => new Observable(() => () => closed++);
    const { instance, failure } = await openModel(
      `export default defineModel({ execute(requests, context) { setTimeout(() => process.exit(1), 5); return context.infer({ model: 'other', inputs: {} }); } });`,
      { calls: callsTo({ other }) },
    );
    await runOf(instance, batchOf(1));
    await failure;
    expect(closed).toBe(1);
  });
});

describe('inferMany', () => {
  it('gives every answer in turn, of none, one or many', async () => {
    const many: Infer = ({ inputs }) => {
      const [count = 0] = tensorValues(inputs.get('X') ?? floatsOf([]));
      return of(...Array.from({ length: Number(count) }, (_, index) => answerOf(index)));
    };
    const { instance } = await openModel(
      caller(`
        const values = [];
        for await (const answer of context.inferMany({ model: 'many', inputs: { X: request.input('IN') } }, { request })) values.push(answer.output('R', 'FP32').data[0]);
        return { outputs: { OUT: { shape: [1, values.length], data: values } } };`),
      { calls: callsTo({ many }) },
    );
    const seven = Array.from({ length: 500 }, (_, index) => index).join();
    expect(await runOf(instance, batchOf(0, 1, 500))).toEqual(['0 OUT [1,0]: ', '1 OUT [1,1]: 0', `2 OUT [1,500]: ${seven}`]);
  });

  it('throws at an answer that has failed, and at the end in an error', async () => {
    const many: Infer = () =>
      concat(
        of(answerOf(1)),
        throwError(() => new InferError('UNAVAILABLE', 'gone')),
      );
    const odd: Infer = () => of(answerOf(1), answerOf(2, { error: new InferError('NOT_FOUND', 'no row') }), answerOf(3));
    const body = (model: string): string => `
      let count = 0;
      try { for await (const answer of context.inferMany({ model: '${model}', inputs: {} })) count++; } catch (error) { return { parameters: {}, outputs: {}, error: new ModelError(count + ' ' + error.message, error.code) }; }
      return {};`;
    for (const [model, text] of [
      ['many', '0 UNAVAILABLE: 1 gone'],
      ['odd', '0 NOT_FOUND: 1 no row'],
    ] as const) {
      const { instance } = await openModel(caller(body(model)), { calls: callsTo({ many, odd }) });
      expect(await runOf(instance, batchOf(1))).toEqual([text]);
    }
  });

  it('cancels the call when the model has heard enough', async () => {
    let closed = 0;
    const many: Infer = () => concat(of(answerOf(1), answerOf(2)), new Observable<never>(() => () => closed++));
    const { instance } = await openModel(
      caller(
        `for await (const answer of context.inferMany({ model: 'many', inputs: {} })) return { outputs: { OUT: answer.output('R') } };`,
      ),
      { calls: callsTo({ many }) },
    );
    expect(await runOf(instance, batchOf(1))).toEqual(['0 OUT [1,1]: 1']);
    expect(closed).toBe(1);
  });

  it('has no more made than it reads, of a model that can wait', async () => {
    let most = 0;
    let given = 0;
    const many: Infer = ({ demand }) =>
      new Observable((subscriber) => {
        const give = (): void => {
          const before = given;
          while (demand?.isOpen && given < 40_000) subscriber.next(answerOf(given++));
          most = Math.max(most, given - before);
          if (given === 40_000) subscriber.complete();
        };
        if (demand !== undefined) demand.onOpen = give;
        give();
      });
    const { instance } = await openModel(
      caller(`
        const values = [];
        for await (const answer of context.inferMany({ model: 'many', inputs: {} })) {
          values.push(answer.output('R', 'FP32').data[0]);
          if (values.length % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
        }
        return { parameters: { count: values.length, inOrder: values.every((value, index) => value === index) } };`),
      { calls: callsTo({ many }) },
    );
    const said = await new Promise((resolve) =>
      instance.run(batchOf(1)).subscribe(({ parameters }) => resolve(Object.fromEntries(parameters))),
    );
    expect(said).toEqual({ count: 40_000, inOrder: true });
    expect(most).toBeLessThanOrEqual(16_384);
  });

  it('cancels a call whose answers nobody reads', async () => {
    let given = 0;
    const many: Infer = () =>
      new Observable((subscriber) => {
        for (; !subscriber.closed && given < 100_000; given++) subscriber.next(answerOf(given));
      });
    const { instance } = await openModel(
      caller(`
        const answers = context.inferMany({ model: 'many', inputs: {} });
        await new Promise((resolve) => setTimeout(resolve, 20));
        let count = 0;
        try { for await (const answer of answers) count++; } catch (error) { return { parameters: { count }, error }; }`),
      { calls: callsTo({ many }) },
    );
    expect(await runOf(instance, batchOf(1))).toEqual([
      "0 RESOURCE_EXHAUSTED: more answers of model 'many' than 32768, or 134217728 bytes, wait to be read",
    ]);
    expect(given).toBe(32_769);
  });
});

it('tells whether a model is ready, in load as well', async () => {
  const code = `let ready;
    export default defineModel({
      async load(context) { ready = [await context.isModelReady('other'), await context.isModelReady('other', '9')]; },
      execute: perRequest(async (request, context) => ({ parameters: { ready: [...ready, await context.isModelReady('none')].join() } })),
    });`;
  const { instance } = await openModel(code, { calls: callsTo({ other: () => NEVER }) });
  const seen = await new Promise((resolve) => instance.run(batchOf(1)).subscribe(({ parameters }) => resolve(parameters.get('ready'))));
  expect(seen).toBe('true,false,false');
});
