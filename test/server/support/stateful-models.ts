import { initializer, node, onnxModel } from '../../support/onnx-models.ts';

const number = (name: string) => ({ name, datatype: 'FP32' as const, dims: ['batch', 1] });

/** INPUT FP32 [batch,1] and the state SUM → OUTPUT, and SUM_OUT: their sum. */
export const accumulator = (): Uint8Array =>
  onnxModel({
    inputs: [number('INPUT'), number('SUM')],
    outputs: [number('OUTPUT'), number('SUM_OUT')],
    nodes: [node('Add', ['INPUT', 'SUM'], ['SUM_OUT']), node('Identity', ['SUM_OUT'], ['OUTPUT'])],
  });

/** OUTPUT FP32 [batch,2] is the sum and the count of INPUT so far; sorted by name, the states' inputs and outputs stand the other way round. */
export const sumAndCount = (): Uint8Array =>
  onnxModel({
    inputs: [number('INPUT'), number('Z_SUM'), number('A_COUNT')],
    outputs: [{ name: 'OUTPUT', datatype: 'FP32', dims: ['batch', 2] }, number('A_SUM'), number('Z_COUNT')],
    nodes: [
      node('Add', ['INPUT', 'Z_SUM'], ['A_SUM']),
      node('Add', ['A_COUNT', 'ONE'], ['Z_COUNT']),
      node('Concat', ['A_SUM', 'Z_COUNT'], ['OUTPUT'], { attributes: { axis: 1 } }),
    ],
    initializers: [initializer('ONE', 'FP32', [], new Float32Array([1]))],
  });

/** Every INPUT so far end to end: HISTORY_OUT is HISTORY and INPUT, OUTPUT the same. Along axis 1 where it batches, else 0. */
export const history = (datatype: 'FP32' | 'BYTES', { batches }: { readonly batches: boolean }): Uint8Array => {
  const rows = batches ? ['batch'] : [];
  return onnxModel({
    inputs: [
      { name: 'INPUT', datatype, dims: [...rows, 1] },
      { name: 'HISTORY', datatype, dims: [...rows, 'before'] },
    ],
    outputs: ['OUTPUT', 'HISTORY_OUT'].map((name) => ({ name, datatype, dims: [...rows, 'after'] })),
    nodes: [
      node('Concat', ['HISTORY', 'INPUT'], ['HISTORY_OUT'], { attributes: { axis: rows.length } }),
      node('Identity', ['HISTORY_OUT'], ['OUTPUT']),
    ],
  });
};

/** OUTPUT FP32 [batch,5]: START, END and READY, the low bits of CORRID, and INPUT. */
export const controls = (): Uint8Array =>
  onnxModel({
    inputs: [
      number('INPUT'),
      { name: 'START', datatype: 'INT32', dims: ['batch', 1] },
      number('END'),
      { name: 'READY', datatype: 'BOOL', dims: ['batch', 1] },
      { name: 'CORRID', datatype: 'UINT64', dims: ['batch', 1] },
    ],
    outputs: [{ name: 'OUTPUT', datatype: 'FP32', dims: ['batch', 5] }],
    nodes: [
      ...['START', 'READY', 'CORRID'].map((name) => node('Cast', [name], [`${name}_FP32`], { attributes: { to: 1 } })),
      node('Concat', ['START_FP32', 'END', 'READY_FP32', 'CORRID_FP32', 'INPUT'], ['OUTPUT'], { attributes: { axis: 1 } }),
    ],
  });

/** OUTPUT BYTES [batch,1] is the sequence's id, for any INPUT. */
export const nameOfSequence = (): Uint8Array =>
  onnxModel({
    inputs: [
      { name: 'INPUT', datatype: 'BYTES', dims: ['batch', 1] },
      { name: 'ID', datatype: 'BYTES', dims: ['batch', 1] },
    ],
    outputs: [{ name: 'OUTPUT', datatype: 'BYTES', dims: ['batch', 2] }],
    nodes: [node('Concat', ['INPUT', 'ID'], ['OUTPUT'], { attributes: { axis: 1 } })],
  });
