import { describe, expect, it } from 'vitest';
import { ImplicitState, paddingState } from '../../../src/operators/sequences/implicit-state.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { ModelSpec, OutputSpec, StateSpec } from '../../../src/streams/inference/model-spec.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makePart, makeSpec } from '../../support/model.ts';
import { makeSequenceBatching, makeState } from '../../support/sequences.ts';

const output = (name: string): OutputSpec => ({ name, datatype: 'INT32', dims: [1], reshape: undefined, labels: [] });

const stateful = (states: readonly StateSpec[], fields: Partial<ModelSpec> = {}): ModelSpec =>
  makeSpec({ outputs: [output('OUT')], sequenceBatching: makeSequenceBatching({ states }), ...fields });

const int32 = (...values: number[]): Tensor => tensorFrom('INT32', [1, values.length], values);
const part = (outputs: Record<string, Tensor>) => makePart(0, { outputs: new Map(Object.entries(outputs)) });

const inputsOf = (state: ImplicitState): Map<string, Tensor> => {
  const inputs = new Map<string, Tensor>();
  state.addTo(inputs);
  return inputs;
};

const valuesOf = (state: ImplicitState): Record<string, unknown> =>
  Object.fromEntries([...inputsOf(state)].map(([name, tensor]) => [name, [...tensorValues(tensor)]]));

it('hands a state on to the next step, and begins anew with a reset', () => {
  const state = new ImplicitState(stateful([makeState({ initial: int32(5) })]));
  expect(valuesOf(state)).toEqual({ STATE: [5] });
  state.take(part({ OUT: int32(0), STATE_OUT: int32(6) }));
  expect(valuesOf(state)).toEqual({ STATE: [6] });
  expect(valuesOf(state)).toEqual({ STATE: [6] });
  state.take(part({ OUT: int32(0), STATE_OUT: int32(7) }));
  expect(valuesOf(state)).toEqual({ STATE: [7] });
  state.reset();
  expect(valuesOf(state)).toEqual({ STATE: [5] });
});

it('takes a state of any first dimension from a model that has no batch dimension', () => {
  const initial = tensorFrom('INT32', [2], [0, 0]);
  const state = new ImplicitState(stateful([makeState({ dims: [2], initial })], { maxBatchSize: 0 }));
  expect(state.take(part({ STATE_OUT: tensorFrom('INT32', [2], [3, 4]) })).error).toBeUndefined();
  expect(valuesOf(state)).toEqual({ STATE: [3, 4] });
});

it('pairs inputs and outputs by entry of the config, however their names sort', () => {
  const states = [
    makeState({ inputName: 'Z', outputName: 'A_OUT' }),
    makeState({ inputName: 'A', outputName: 'Z_OUT' }),
    makeState({ inputName: 'M', outputName: 'M_OUT' }),
  ];
  const state = new ImplicitState(stateful(states));
  state.take(part({ M_OUT: int32(3), Z_OUT: int32(2), A_OUT: int32(1) }));
  expect(valuesOf(state)).toEqual({ Z: [1], A: [2], M: [3] });
});

it('gives one output to two states that both name it', () => {
  const state = new ImplicitState(stateful([makeState({ inputName: 'A' }), makeState({ inputName: 'B' })]));
  state.take(part({ STATE_OUT: int32(4) }));
  expect(valuesOf(state)).toEqual({ A: [4], B: [4] });
});

it('keeps the first value of a state without output', () => {
  const state = new ImplicitState(stateful([makeState({ outputName: '', initial: int32(5) })]));
  const given = part({ OUT: int32(1) });
  expect(state.take(given)).toBe(given);
  expect(valuesOf(state)).toEqual({ STATE: [5] });
});

it('copies: what the model does with its memory afterwards changes nothing', () => {
  const state = new ImplicitState(stateful([makeState()]));
  const memory = new Int32Array([1, 2, 3]);
  const bytes = Buffer.from(memory.buffer);
  state.take(part({ STATE_OUT: new Tensor('INT32', [1, 1], bytes, 4, 8) }));
  memory.fill(-1);
  expect(valuesOf(state)).toEqual({ STATE: [2] });
});

it('never writes what the running step reads: its outputs may be views of its inputs', () => {
  const swap = [makeState({ inputName: 'A', outputName: 'A_OUT' }), makeState({ inputName: 'B', outputName: 'B_OUT' })];
  const state = new ImplicitState(stateful(swap));
  state.take(part({ A_OUT: int32(1), B_OUT: int32(2) }));
  for (let step = 0; step < 5; step++) {
    const inputs = inputsOf(state);
    const [a, b] = [inputs.get('A') ?? int32(), inputs.get('B') ?? int32()];
    state.take(part({ A_OUT: b, B_OUT: a }));
    // A decoupled model may answer once more in the same step.
    state.take(part({ A_OUT: b, B_OUT: a }));
    expect(valuesOf(state)).toEqual(step % 2 === 0 ? { A: [2], B: [1] } : { A: [1], B: [2] });
  }
});

it('never writes the initial state, which all slots share', () => {
  const spec = stateful([makeState()]);
  const [one, other] = [new ImplicitState(spec), new ImplicitState(spec)];
  one.take(part({ STATE_OUT: int32(8) }));
  inputsOf(one);
  one.take(part({ STATE_OUT: int32(9) }));
  expect(valuesOf(other)).toEqual({ STATE: [0] });
  one.reset();
  one.take(part({ STATE_OUT: int32(3) }));
  expect([valuesOf(one), valuesOf(other)]).toEqual([{ STATE: [3] }, { STATE: [0] }]);
  one.reset();
  expect(valuesOf(one)).toEqual({ STATE: [0] });
});

it('lies in shared memory, two for each state, used again step after step', () => {
  const state = new ImplicitState(stateful([makeState()]));
  const tensors = new Set<Tensor>();
  for (let step = 0; step < 100; step++) {
    state.take(part({ STATE_OUT: int32(step) }));
    const tensor = inputsOf(state).get('STATE');
    if (tensor !== undefined) tensors.add(tensor);
    expect(tensor?.buffer.buffer).toBeInstanceOf(SharedArrayBuffer);
    if (step === 50) state.reset();
  }
  expect(tensors.size).toBe(2);
});

describe('what the caller sees', () => {
  it('is the part without the states', () => {
    const state = new ImplicitState(stateful([makeState()]));
    const given = part({ OUT: int32(1), STATE_OUT: int32(2) });
    const shown = state.take(given);
    expect([...shown.outputs.keys()]).toEqual(['OUT']);
    expect(shown).toEqual({ ...given, outputs: shown.outputs });
  });

  it('has a state that is an output of the model too', () => {
    const states = [makeState(), makeState({ inputName: 'B', outputName: 'B_OUT' })];
    const state = new ImplicitState(stateful(states, { outputs: [output('OUT'), output('STATE_OUT')] }));
    const shown = state.take(part({ OUT: int32(1), B_OUT: int32(3), STATE_OUT: int32(2) }));
    expect([...shown.outputs.keys()]).toEqual(['OUT', 'STATE_OUT']);
  });

  it('is the part itself where there is nothing to hide', () => {
    const given = part({ OUT: int32(1), STATE_OUT: int32(2) });
    expect(new ImplicitState(stateful([])).take(given)).toBe(given);
    expect(new ImplicitState(stateful([makeState()], { outputs: [output('STATE_OUT')] })).take(given)).toBe(given);
  });

  it('keeps the flags of the part', () => {
    const state = new ImplicitState(stateful([makeState()]));
    expect(state.take({ ...part({ STATE_OUT: int32(1) }), of: 3, isRescheduled: true })).toMatchObject({
      of: 3,
      isRescheduled: true,
      isLast: true,
      outputs: new Map(),
    });
  });
});

describe('shapes', () => {
  const growing = makeState({ dims: [-1], initial: tensorFrom('INT32', [1, 1], [0]) });

  it('follow the output, and so do BYTES of any length', () => {
    const text = makeState({ inputName: 'TEXT', outputName: 'TEXT_OUT', datatype: 'BYTES', initial: tensorFrom('BYTES', [1, 1], ['']) });
    const state = new ImplicitState(stateful([growing, text]));
    for (const words of [['a'], ['a', 'long words'], ['x'], ['y']]) {
      state.take(part({ STATE_OUT: int32(...words.map((word) => word.length)), TEXT_OUT: tensorFrom('BYTES', [1, words.length], words) }));
      const inputs = inputsOf(state);
      const [numbers, strings] = [inputs.get('STATE') ?? int32(), inputs.get('TEXT') ?? int32()];
      expect([numbers.shape, [...tensorValues(numbers)]]).toEqual([[1, words.length], words.map((word) => word.length)]);
      expect([strings.shape, tensorStrings(strings)]).toEqual([[1, words.length], words]);
      // The column of strings is a copy: a tensor used again must not answer with the last one.
      expect(Buffer.from(strings.data.values).toString()).toBe(words.join(''));
    }
  });

  it('that differ give a key, so that such rows do not share an execution', () => {
    const state = new ImplicitState(stateful([growing]));
    const other = new ImplicitState(stateful([growing]));
    expect(state.shapeKey).toBe('');
    state.take(part({ STATE_OUT: int32(1) }));
    expect(state.shapeKey).toBe('');
    state.take(part({ STATE_OUT: int32(1, 2) }));
    other.take(part({ STATE_OUT: int32(5, 6) }));
    expect(state.shapeKey).not.toBe('');
    expect(state.shapeKey).toBe(other.shapeKey);
    other.take(part({ STATE_OUT: int32(5, 6, 7) }));
    expect(state.shapeKey).not.toBe(other.shapeKey);
    state.reset();
    expect(state.shapeKey).toBe('');
  });

  it('that have grown are given back at a reset, and grow in few steps', () => {
    const state = new ImplicitState(stateful([growing]));
    const memories = new Set<ArrayBufferLike>();
    for (let length = 1; length <= 20_000; length += 100) {
      state.take(part({ STATE_OUT: new Tensor('INT32', [1, length], new Uint8Array(4 * length)) }));
      memories.add(inputsOf(state).get('STATE')?.buffer.buffer ?? new ArrayBuffer());
    }
    expect(memories.size).toBeLessThan(40);
    state.reset();
    // Two memories take turns.
    for (const value of [1, 2]) {
      state.take(part({ STATE_OUT: int32(value) }));
      expect(inputsOf(state).get('STATE')?.buffer.byteLength).toBeLessThan(1000);
    }
  });

  it('without elements and without dimensions pass', () => {
    const none = makeState({ dims: [-1] });
    const state = new ImplicitState(stateful([none]));
    state.take(part({ STATE_OUT: new Tensor('INT32', [1, 0], new Uint8Array(0)) }));
    expect(inputsOf(state).get('STATE')?.shape).toEqual([1, 0]);
    const scalar = new ImplicitState(stateful([makeState({ dims: [], initial: tensorFrom('INT32', [], [1]) })], { maxBatchSize: 0 }));
    scalar.take(part({ STATE_OUT: tensorFrom('INT32', [], [2]) }));
    expect(inputsOf(scalar).get('STATE')?.shape).toEqual([]);
  });
});

describe('a step that went wrong', () => {
  const twoStates = [makeState({ inputName: 'A', outputName: 'A_OUT' }), makeState({ inputName: 'B', outputName: 'B_OUT' })];

  it('leaves the states as they were', () => {
    const state = new ImplicitState(stateful([makeState()]));
    state.take(part({ STATE_OUT: int32(1) }));
    const failed = { ...part({ STATE_OUT: int32(2) }), error: new InferError('INTERNAL', 'no') };
    expect(state.take(failed)).toBe(failed);
    expect(valuesOf(state)).toEqual({ STATE: [1] });
  });

  it.each([
    {
      what: 'lacks a state',
      wrong: { A_OUT: int32(9) },
      says: "state 'B' of model 'm' is missing: the model gave no output 'B_OUT'",
    },
    {
      what: 'has another datatype',
      wrong: { A_OUT: int32(9), B_OUT: tensorFrom('FP32', [1, 1], [1]) },
      says: "unexpected datatype for state 'B' of model 'm'. Expected INT32, got FP32 from output 'B_OUT'",
    },
    {
      what: 'has more rows than one',
      wrong: { A_OUT: int32(9), B_OUT: tensorFrom('INT32', [2, 1], [1, 2]) },
      says: "unexpected shape for state 'B' of model 'm'. Expected a batch dimension of 1, got [2,1] from output 'B_OUT'",
    },
  ])('is an INTERNAL error where it $what, and changes no state', ({ wrong, says }) => {
    const state = new ImplicitState(stateful(twoStates));
    state.take(part({ A_OUT: int32(1), B_OUT: int32(2) }));
    const shown = state.take(part({ OUT: int32(0), ...wrong }));
    expect(shown.error).toMatchObject({ code: 'INTERNAL', message: says, reason: 'BACKEND' });
    expect(shown.outputs.size).toBe(0);
    expect(valuesOf(state)).toEqual({ A: [1], B: [2] });
  });

  it('may be an answer without states where the model is decoupled', () => {
    const state = new ImplicitState(stateful(twoStates, { decoupled: true }));
    const first = state.take({ ...part({ OUT: int32(0), A_OUT: int32(1) }), isLast: false });
    const last = state.take(part({}));
    expect([first.error, last.error]).toEqual([undefined, undefined]);
    expect([...first.outputs.keys()]).toEqual(['OUT']);
    expect(valuesOf(state)).toEqual({ A: [1], B: [0] });
  });
});

it('keeps each slot to itself over random steps', () => {
  const spec = stateful([makeState({ dims: [-1] })]);
  const slots = Array.from({ length: 3 }, () => ({ state: new ImplicitState(spec), sum: [0] }));
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let step = 0; step < 2000; step++) {
    const slot = slots[random(3)] ?? slots[0];
    if (slot === undefined) return;
    if (random(10) === 0) {
      slot.state.reset();
      slot.sum = [0];
    }
    expect(valuesOf(slot.state)).toEqual({ STATE: slot.sum });
    slot.sum = Array.from({ length: random(5) }, () => random(1000));
    slot.state.take(part({ STATE_OUT: int32(...slot.sum) }));
  }
});

it('fills a row without sequence with the states that one begins with', () => {
  const initial: Shape = [1, 1];
  const spec = stateful([makeState({ initial: tensorFrom('INT32', initial, [5]) }), makeState({ inputName: 'B' })]);
  const inputs = new Map<string, Tensor>();
  paddingState(spec)(inputs);
  expect([...inputs].map(([name, tensor]) => [name, ...tensorValues(tensor)])).toEqual([
    ['STATE', 5],
    ['B', 0],
  ]);
  const none = new Map<string, Tensor>();
  paddingState(makeSpec())(none);
  expect(none.size).toBe(0);
});
