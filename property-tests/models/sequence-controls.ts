import type { ControlInput } from '../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../src/streams/inference/request.ts';
import { tensorStrings, tensorValues } from '../../src/streams/tensors/tensor-values.ts';

/** Not 0 and 1: what the config says counts. */
const whenFalse = 3;
const whenTrue = 8;

/** All four control inputs: flags of one datatype, ids as they are. */
export const controlSpecs = (datatype: 'INT32' | 'FP32' | 'BOOL', ids: 'numbers' | 'texts'): ControlInput[] => {
  const values = datatype === 'BOOL' ? { whenFalse: 0, whenTrue: 1 } : { whenFalse, whenTrue };
  return [
    { kind: 'START', name: 'START', datatype, ...values },
    { kind: 'END', name: 'END', datatype, ...values },
    { kind: 'READY', name: 'READY', datatype, ...values },
    { kind: 'CORRID', name: 'CORRID', datatype: ids === 'numbers' ? 'UINT64' : 'BYTES' },
  ];
};

export interface Controls {
  readonly start: boolean;
  readonly end: boolean;
  readonly ready: boolean;
  readonly id: bigint | string;
}

/** What the model is told about a row. Throws for a value that is neither. */
export const readControls = ({ inputs }: InferRequest): Controls => {
  const flag = (name: string): boolean => {
    const tensor = inputs.get(name);
    const value = tensor === undefined ? undefined : Number(tensorValues(tensor)[0]);
    if (value === whenTrue || value === 1) return true;
    if (value === whenFalse || value === 0) return false;
    throw new Error(`${name} is ${value}`);
  };
  const id = inputs.get('CORRID');
  if (id === undefined) throw new Error('no CORRID');
  return {
    start: flag('START'),
    end: flag('END'),
    ready: flag('READY'),
    id: id.datatype === 'BYTES' ? (tensorStrings(id)[0] ?? '') : BigInt(String(tensorValues(id)[0])),
  };
};

/** 0 for no id. */
export const idOf = (key: number, ids: 'numbers' | 'texts'): bigint | string => {
  if (ids === 'texts') return key === 0 ? '' : `séquence ${key}`;
  // Ids whose low half says nothing.
  return key === 0 ? 0n : (BigInt(key) << 33n) + 5n;
};
