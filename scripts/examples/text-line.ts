import { elementTypes, ModelProto, node, valueInfo } from './onnx-graph.ts';

/**
 * PP-OCRv4's recogniser, whose answer holds 6,625 probabilities for each column, with what most readers make of them in two outputs of their own: the best
 * character of each column, and its probability. Who asks for these alone is sent a few hundred bytes for a line instead of a megabyte.
 */
export const textLineModel = (recogniser: Uint8Array): Uint8Array => {
  const model = ModelProto.decode(recogniser);
  const { graph } = model;
  const [probabilities] = graph?.output ?? [];
  if (typeof probabilities?.name !== 'string' || !graph) throw new Error('the recogniser holds no graph');
  graph.node = [
    ...(graph.node ?? []),
    node('ArgMax', [probabilities.name], ['weir_best'], { axis: 2, keepdims: 0 }),
    node('Cast', ['weir_best'], ['CHARACTERS'], { to: elementTypes.INT32 }),
    node('ReduceMax', [probabilities.name], ['PROBABILITIES'], { axes: [2], keepdims: 0 }),
  ];
  graph.output = [
    valueInfo('CHARACTERS', elementTypes.INT32, ['N', 'columns']),
    valueInfo('PROBABILITIES', elementTypes.FLOAT, ['N', 'columns']),
    probabilities,
  ];
  return ModelProto.encode(model).finish();
};
