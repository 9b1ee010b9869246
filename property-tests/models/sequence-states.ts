import type { StateSpec } from '../../src/streams/inference/model-spec.ts';
import type { Tensor, Tensors } from '../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { tensorStrings, tensorValues } from '../../src/streams/tensors/tensor-values.ts';

/** Three states: a number of one shape, a list that grows and shrinks, a text. */
export interface States {
  readonly sum: number;
  readonly list: readonly number[];
  readonly text: string;
}

export const initialStates: States = { sum: 7, list: [1, 2], text: 'once' };

/** What a step makes of its states: each depends on all that came before, in order. */
export const nextStates = ({ sum, list, text }: States, n: number): States => ({
  sum: (Math.imul(sum, 31) + n) | 0,
  list: list.length > 4 ? [n & 255] : [...list, (n + sum) & 255],
  text: text.length > 12 ? `${n}` : `${text} ${n}`,
});

// Names of outputs sort the other way round than names of inputs: pairs are those of the config.
const names = { sum: ['A', 'Z'], list: ['B', 'Y'], text: ['C', 'X'] } as const;
/** The output that the caller sees too. */
export const shownState = names.list[1];

const tensors = ({ sum, list, text }: States, batches: boolean): Record<keyof States, Tensor> => {
  const shape = (size: number): number[] => (batches ? [1, size] : [size]);
  return {
    sum: tensorFrom('INT32', shape(1), [sum]),
    list: tensorFrom('UINT8', shape(list.length), list),
    text: tensorFrom('BYTES', shape(1), [text]),
  };
};

export const stateSpecs = (batches: boolean): StateSpec[] => {
  const initial = tensors(initialStates, batches);
  return [
    { inputName: names.sum[0], outputName: names.sum[1], datatype: 'INT32', dims: [1], initial: initial.sum },
    { inputName: names.list[0], outputName: names.list[1], datatype: 'UINT8', dims: [-1], initial: initial.list },
    { inputName: names.text[0], outputName: names.text[1], datatype: 'BYTES', dims: [1], initial: initial.text },
  ];
};

/** The states that a request brings to the model. Throws when one is missing. */
export const readStates = (inputs: Tensors): States => {
  const input = (name: string): Tensor => {
    const tensor = inputs.get(name);
    if (tensor === undefined) throw new Error(`no state ${name}`);
    return tensor;
  };
  return {
    sum: Number(tensorValues(input(names.sum[0]))[0]),
    list: [...tensorValues(input(names.list[0]))].map(Number),
    text: tensorStrings(input(names.text[0]))[0] ?? '',
  };
};

export const writeStates = (outputs: Map<string, Tensor>, states: States, batches: boolean): void => {
  const written = tensors(states, batches);
  outputs.set(names.text[1], written.text);
  outputs.set(names.sum[1], written.sum);
  outputs.set(names.list[1], written.list);
};

export const sameStates = (one: States, other: States): boolean => JSON.stringify(one) === JSON.stringify(other);

/** What comes after `next()` may write where the tensors were. */
export const spoil = (outputs: Tensors): void => {
  for (const { bytes } of outputs.values()) bytes.fill(0xee);
};
