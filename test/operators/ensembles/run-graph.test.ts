import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import { noParameters, type ParameterValue } from '../../../src/streams/inference/parameters.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { HandEnsemble } from '../../support/hand-ensemble.ts';
import { makeRequest } from '../../support/model.ts';
import { chain, counts, diamond, manyThenOne } from '../../support/small-ensembles.ts';

describe('an ensemble', () => {
  it('asks each step once it has what the step takes, and answers with the last', () => {
    const e = new HandEnsemble(diamond, ['OUT']);
    const heard = e.ask({ IN: 5 });
    expect(e.model('a').last.inputs).toEqual({ x: 5 });
    e.model('a').last.answer({ y: 6 });
    expect([e.model('left').last.inputs, e.model('right').last.inputs]).toEqual([{ x: 6 }, { x: 6 }]);
    e.model('right').last.answer({ y: 8 });
    expect(e.model('join').asked).toEqual([]);
    e.model('left').last.answer({ y: 7 });
    expect(e.model('join').last.inputs).toEqual({ p: 7, q: 8 });
    e.model('join').last.answer({ y: 9 });
    expect([heard.answers, heard.last, heard.end]).toEqual([[{ OUT: 9 }], [true], 'complete']);
    expect(counts(e)).toEqual(['0:a 1=1+0+0+0', '1:left 1=1+0+0+0', '2:right 1=1+0+0+0', '3:join 1=1+0+0+0']);
    expect([...e.models.values()].map(({ held }) => held)).toEqual([0, 0, 0, 0]);
  });

  it('tells what goes where', () => {
    const { edges, stages } = new HandEnsemble(diamond, ['OUT', 'l']).running.graph();
    expect(edges.map(({ from, to, tensor }) => `${from} ${tensor} ${to}`)).toEqual([
      'request IN 0:a',
      '0:a s 1:left',
      '0:a s 2:right',
      '1:left l 3:join',
      '2:right r 3:join',
      '3:join OUT response',
      '1:left l response',
    ]);
    expect(stages[1]).toMatchObject({ name: '1:left', model: { name: 'left', version: '' } });
  });

  it('gives to each step what the request says besides its tensors', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const told = {
      id: 'q',
      parameters: new Map<string, ParameterValue>([['k', 1n]]),
      sequenceId: 7n,
      sequenceStart: true,
      sequenceEnd: false,
      priority: 3n,
      timeoutMicroseconds: 99n,
    };
    e.ask({ IN: 1 }, { ...told, caller: { modelName: 'outer', caller: undefined } });
    e.model('a').last.answer({ y: 1 });
    const caller = { modelName: 'e', caller: { modelName: 'outer', caller: undefined } };
    for (const name of ['a', 'b']) expect(e.model(name).last.request).toMatchObject({ ...told, modelName: name, modelVersion: '', caller });
    expect(e.model('b').last.request.inputs.size).toBe(1);
  });

  it('refuses a model that waits for it', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const heard = e.ask({ IN: 1 }, { caller: { modelName: 'a', caller: undefined } });
    expect(heard.end).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: "in ensemble 'e', models call each other in a cycle: a -> e -> a (step 0, model 'a')",
    });
  });

  it('runs only what the wanted outputs need, and asks a model for no more', () => {
    const e = new HandEnsemble(
      [
        { model: 'a', in: { x: 'IN' }, out: { y: 's', z: 'SIDE' } },
        { model: 'b', in: { x: 's' }, out: { y: 'OUT' } },
      ],
      ['OUT', 'SIDE'],
    );
    const heard = e.ask({ IN: 1 }, { outputs: [{ name: 'SIDE', classification: 0 }] });
    expect(e.model('a').last.request.outputs).toEqual([{ name: 'z', classification: 0 }]);
    e.model('a').last.answer({ z: 4 });
    expect([heard.answers, heard.end, e.model('b').asked.length, e.model('b').held]).toEqual([[{ SIDE: 4 }], 'complete', 0, 0]);
    e.ask({ IN: 1 });
    expect(e.model('a').last.request.outputs).toEqual([]);
  });

  it('leaves out what a step or the caller leaves out', () => {
    const e = new HandEnsemble(
      [
        { model: 'a', in: { x: 'IN', o: 'MAYBE' }, out: { y: 's', z: 'SIDE' } },
        { model: 'b', in: { x: 's', o: 'SIDE' }, out: { y: 'OUT' } },
      ],
      ['OUT', 'SIDE'],
    );
    const heard = e.ask({ IN: 1 });
    expect(e.model('a').last.inputs).toEqual({ x: 1 });
    e.model('a').last.answer({ y: 2 });
    expect(e.model('b').last.inputs).toEqual({ x: 2 });
    e.model('b').last.answer({ y: 3 });
    expect([heard.answers, heard.end]).toEqual([[{ OUT: 3 }], 'complete']);
  });

  it('says so when an output can never come', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const heard = e.ask({ IN: 1 }, { id: '4' });
    e.model('a').last.complete();
    expect(heard.end).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message:
        "in ensemble 'e', [request id: 4] unexpected deadlock, at least one output is not set while no more ensemble steps can be made",
    });
  });

  it('hands on the sequence that a step names, and says it in its answer', () => {
    const e = new HandEnsemble(
      [...chain.slice(0, 1), { model: 'b', in: { x: 't' }, out: { y: 'u' } }, { model: 'c', in: { x: 'u' }, out: { y: 'OUT' } }],
      ['OUT'],
    );
    const heard = e.ask({ IN: 1 }, { sequenceId: 1n, sequenceEnd: true });
    e.model('a').last.answer(
      { y: 2 },
      {
        parameters: new Map<string, ParameterValue>([
          ['sequence_id', 'x'],
          ['sequence_start', true],
        ]),
      },
    );
    const own = { sequenceId: 'x', sequenceStart: true, sequenceEnd: true };
    expect(e.model('b').last.request).toMatchObject(own);
    e.model('b').last.answer({ y: 3 });
    expect(e.model('c').last.request).toMatchObject(own);
    e.model('c').last.answer({ y: 4 });
    expect(heard.parameters).toEqual([
      new Map<string, unknown>([
        ['sequence_id', 'x'],
        ['sequence_start', true],
        ['sequence_end', true],
      ]),
    ]);
  });

  it.each([
    ['sequence_id', 1.5, "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING"],
    ['sequence_start', 1n, "expect parameter 'sequence_start' to be TRITONSERVER_PARAMETER_BOOL"],
    ['sequence_end', 'yes', "expect parameter 'sequence_end' to be TRITONSERVER_PARAMETER_BOOL"],
  ])('fails for a %s of another kind', (name, value, text) => {
    const e = new HandEnsemble(chain, ['OUT']);
    const heard = e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 2 }, { parameters: new Map<string, ParameterValue>([[name, value]]) });
    expect(heard.end).toMatchObject({ code: 'INVALID_ARGUMENT', message: `in ensemble 'e', ${text} (step 0, model 'a')` });
  });

  it('keeps the first of two sequences that meet, and logs it', () => {
    const e = new HandEnsemble(diamond, ['OUT']);
    e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 2 });
    const sequence = (id: bigint) => ({ parameters: new Map<string, ParameterValue>([['sequence_id', id]]) });
    e.model('left').last.answer({ y: 3 }, sequence(3n));
    e.model('right').last.answer({ y: 4 }, sequence(4n));
    expect(e.model('join').last.request.sequenceId).toBe(3n);
    expect(e.log.lines).toEqual([
      "error different sequence parameters came with the inputs of step 3, model 'join', of ensemble 'e'; the first count",
    ]);
  });
});

describe('a step that fails', () => {
  it('ends the request at once, with its own code, and cancels what runs', () => {
    const e = new HandEnsemble(diamond, ['OUT']);
    const heard = e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 2 });
    e.model('left').last.fail(
      new InferError('UNAVAILABLE', '[request id: <id_unknown>] Exceeds maximum queue size', { reason: 'REJECTED' }),
    );
    expect(heard.end).toMatchObject({
      code: 'UNAVAILABLE',
      reason: 'OTHER',
      message: "in ensemble 'e', [request id: <id_unknown>] Exceeds maximum queue size (step 1, model 'left')",
    });
    expect(e.model('right').last.isCancelled).toBe(true);
    expect(counts(e)).toEqual(['0:a 1=1+0+0+0', '1:left 1=0+1+0+0', '2:right 1=0+1+0+0', '3:join 0=0+0+0+0']);
    expect([...e.models.values()].map(({ held }) => held)).toEqual([0, 0, 0, 0]);
    expect(e.events).toEqual([]);
  });

  it('that throws fails too', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    Object.assign(e.model('a'), {
      infer: () => {
        throw new TypeError('no');
      },
    });
    expect(e.ask({ IN: 1 }).end).toMatchObject({ code: 'INTERNAL', message: "in ensemble 'e', no (step 0, model 'a')" });
  });

  it('that is not ready fails the request before anything runs', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    e.model('b').ready = false;
    expect(e.ask({ IN: 1 }).end).toMatchObject({ code: 'UNAVAILABLE', message: "in ensemble 'e', b is not ready (step 1, model 'b')" });
    expect([e.model('a').asked, e.model('a').held, e.running.isReady()]).toEqual([[], 0, false]);
  });

  it('that answers twice fails', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const heard = e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 2 }, { isLast: false });
    e.model('a').last.answer({ y: 2 }, { isLast: false });
    expect(heard.end).toMatchObject({ code: 'INTERNAL' });
    expect([e.model('a').last.isCancelled, e.model('b').last.isCancelled]).toEqual([true, true]);
  });
});

describe('a caller who goes', () => {
  it('takes the running steps along', () => {
    const e = new HandEnsemble(diamond, ['OUT']);
    const { caller } = e.ask({ IN: 1 });
    e.model('a').last.answer({ y: 2 });
    caller.unsubscribe();
    expect([e.model('left').last.isCancelled, e.model('right').last.isCancelled]).toEqual([true, true]);
    expect(e.model('left').held).toBe(0);
  });

  it('gives its permits back', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 1 });
    const [first, second] = [e.ask({ IN: 1 }), e.ask({ IN: 2 })];
    expect(e.model('a').asked.length).toBe(1);
    const third = e.ask({ IN: 3 });
    second.caller.unsubscribe();
    first.caller.unsubscribe();
    expect(e.model('a').asked.map(({ inputs }) => inputs.x)).toEqual([1, 3]);
    third.caller.unsubscribe();
    expect(counts(e)).toEqual(['0:a 3=0+3+0+0', '1:b 0=0+0+0+0']);
  });
});

describe('a limit of requests in flight', () => {
  it('holds for each step and for all requests together; the others wait in order', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 2 });
    const heard = [1, 2, 3, 4].map((byte) => e.ask({ IN: byte }));
    expect(counts(e)).toEqual(['0:a 4=0+0+2+2', '1:b 0=0+0+0+0']);
    e.model('a').asked[1]?.answer({ y: 12 });
    expect(counts(e)).toEqual(['0:a 4=1+0+1+2', '1:b 1=0+0+0+1']);
    expect(e.model('a').last.inputs).toEqual({ x: 3 });
    e.model('b').last.answer({ y: 22 });
    expect(heard.map(({ end }) => end)).toEqual(['open', 'complete', 'open', 'open']);
  });

  it('has a line that may be full', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 1, maxQueueSize: 2 });
    const heard = [1, 2, 3, 4].map((byte) => e.ask({ IN: byte }, { id: `${byte}` }));
    expect(heard.map(({ end }) => end)).toEqual([
      'open',
      'open',
      'open',
      expect.objectContaining({
        code: 'UNAVAILABLE',
        message: "in ensemble 'e', [request id: 4] Exceeds maximum queue size (step 0, model 'a')",
      }),
    ]);
  });

  it('overflows no stack with models that answer at once', () => {
    const e = new HandEnsemble(chain, ['OUT'], { limit: 1, maxQueueSize: 20_000 });
    const response = { modelName: '', modelVersion: '1', id: '', parameters: noParameters, isLast: true };
    for (const name of ['a', 'b']) {
      Object.assign(e.model(name), {
        infer: ({ inputs }: InferRequest) => of({ ...response, outputs: new Map([['y', inputs.get('x')]]) }),
      });
    }
    let answered = 0;
    const ask = (): void => {
      const inputs = new Map([['IN', new Tensor('UINT8', [1], Uint8Array.of(1))]]);
      e.running.infer(makeRequest({ modelName: 'e', inputs })).subscribe({
        complete: () => {
          answered++;
          if (answered < 20_000) ask();
        },
      });
    };
    ask();
    expect(answered).toBe(20_000);
  });
});

describe('a step that answers many times', () => {
  it('begins a row with each answer, which go on beside each other and leave in order', () => {
    const e = new HandEnsemble(manyThenOne, ['OUT']);
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    many.answer({ y: 1 }, { isLast: false });
    many.answer({ y: 2 }, { isLast: false });
    many.answer({ y: 3 });
    const [first, second, third] = e.model('b').asked;
    expect(e.model('b').asked.map(({ inputs }) => inputs.x)).toEqual([1, 2, 3]);
    third?.answer({ y: 13 });
    second?.answer({ y: 12 });
    expect(heard.answers).toEqual([]);
    expect(e.running.graph().queues).toEqual([{ name: 'order', queued: 2, limit: 16_384 }]);
    first?.answer({ y: 11 });
    expect([heard.answers, heard.last, heard.end]).toEqual([[{ OUT: 11 }, { OUT: 12 }, { OUT: 13 }], [false, false, true], 'complete']);
  });

  it('may answer not at all, or end after its last answer', () => {
    const e = new HandEnsemble(manyThenOne, ['OUT']);
    const none = e.ask({ IN: 1 });
    e.model('many').last.complete();
    expect([none.answers, none.end]).toEqual([[], 'complete']);
    const one = e.ask({ IN: 1 });
    e.model('many').last.answer({ y: 1 }, { isLast: false });
    e.model('b').last.answer({ y: 2 });
    expect([one.answers, one.last, one.end]).toEqual([[{ OUT: 2 }], [false], 'open']);
    e.model('many').last.complete();
    expect(one.end).toBe('complete');
  });

  it('is told to wait while its answers wait, and to go on when half of them have gone', () => {
    const e = new HandEnsemble(manyThenOne, ['OUT'], { limit: 2 });
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    const { demand } = many.request;
    if (demand === undefined) throw new Error('it is told nothing');
    let reopened = 0;
    demand.onOpen = () => reopened++;
    for (let byte = 1; byte <= 4; byte++) {
      expect(demand.isOpen).toBe(true);
      many.answer({ y: byte }, { isLast: false });
    }
    expect([demand.isOpen, counts(e)[1]]).toEqual([false, '1:b 4=0+0+2+2']);
    e.model('b').asked[0]?.answer({ y: 1 });
    expect([demand.isOpen, reopened]).toEqual([false, 0]);
    e.model('b').asked[1]?.answer({ y: 2 });
    expect([demand.isOpen, reopened, heard.answers.length]).toEqual([true, 1, 2]);
    heard.caller.unsubscribe();
    expect([many.isCancelled, reopened]).toEqual([true, 1]);
  });

  it('is not left waiting by a caller who goes', () => {
    const e = new HandEnsemble(manyThenOne, ['OUT'], { limit: 1 });
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    const { demand } = many.request;
    let reopened = 0;
    if (demand !== undefined) demand.onOpen = () => reopened++;
    for (let byte = 1; byte <= 2; byte++) many.answer({ y: byte }, { isLast: false });
    expect(demand?.isOpen).toBe(false);
    heard.caller.unsubscribe();
    expect([demand?.isOpen, reopened]).toEqual([true, 1]);
  });

  it('waits also while whoever asks the ensemble wants no more', () => {
    const outer = { isOpen: false, onOpen: undefined as (() => void) | undefined };
    const e = new HandEnsemble(manyThenOne, ['OUT']);
    const heard = e.ask({ IN: 1 }, { demand: outer });
    const { demand } = e.model('many').last.request;
    let reopened = 0;
    if (demand !== undefined) demand.onOpen = () => reopened++;
    expect(demand?.isOpen).toBe(false);
    outer.isOpen = true;
    outer.onOpen?.();
    expect([demand?.isOpen, reopened]).toEqual([true, 1]);
    heard.caller.unsubscribe();
    expect(outer.onOpen).toBe(undefined);
  });

  it('that does not wait fails the request past a second mark', () => {
    const e = new HandEnsemble(manyThenOne, ['OUT'], { limit: 1 });
    const heard = e.ask({ IN: 1 });
    const many = e.model('many').last;
    for (let row = 0; row < 20_000 && heard.end === 'open'; row++) many.answer({ y: 1 }, { isLast: false });
    expect(heard.end).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message:
        "in ensemble 'e', answers that wait for later steps exceed the limit of 16384 answers or 67108864 bytes (step 0, model 'many')",
    });
    expect([many.isCancelled, e.model('b').last.isCancelled, counts(e)[1]]).toEqual([true, true, '1:b 16384=0+16384+0+0']);
  });
});

describe('an ensemble that ends', () => {
  it('finishes what it has begun, by models that are kept for it', async () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const heard = e.ask({ IN: 1 });
    expect([e.model('a').held, e.model('b').held]).toEqual([1, 1]);
    let drained = false;
    const draining = e.running.drain().then(() => {
      drained = true;
    });
    expect(e.ask({ IN: 2 }, { id: '2' }).end).toMatchObject({
      code: 'UNAVAILABLE',
      message: '[request id: 2] Server is stopping, scheduler for model has stopped accepting new inference requests',
    });
    e.model('a').last.answer({ y: 2 });
    expect(drained).toBe(false);
    e.model('b').last.answer({ y: 3 });
    await draining;
    expect([heard.answers, heard.end]).toEqual([[{ OUT: 3 }], 'complete']);
  });

  it('fails what goes on when it is unloaded', () => {
    const e = new HandEnsemble(chain, ['OUT']);
    const heard = e.ask({ IN: 1 });
    e.life.unsubscribe();
    expect(heard.end).toMatchObject({ code: 'UNAVAILABLE' });
    expect([e.model('a').last.isCancelled, e.model('a').held]).toEqual([true, 0]);
  });
});

it('counts a request that succeeds as one execution of the time that its models took', () => {
  const e = new HandEnsemble(chain, ['OUT']);
  const outer = { inputMs: 1, inferMs: 1, outputMs: 1 };
  e.ask({ IN: 1 }, { spent: outer });
  const spend = (name: string, ms: number): void => {
    const { spent } = e.model(name).last.request;
    if (spent !== undefined)
      Object.assign(spent, { inputMs: spent.inputMs + ms, inferMs: spent.inferMs + 2 * ms, outputMs: spent.outputMs + 3 * ms });
    e.model(name).last.answer({ y: 1 });
  };
  spend('a', 10);
  spend('b', 1);
  expect(e.events).toEqual([
    {
      kind: 'batch-executed',
      model: 'e',
      version: '1',
      rows: 1,
      succeeded: 1,
      succeededRows: 1,
      queueMs: 0,
      computeInputMs: 11,
      computeInferMs: 22,
      computeOutputMs: 33,
      endedAtMs: 0,
    },
  ]);
  expect(outer).toEqual({ inputMs: 12, inferMs: 23, outputMs: 34 });
});
