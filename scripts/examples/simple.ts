import { elementTypes, encodeModel, node, valueInfo } from './onnx-graph.ts';

/** Sum and difference of two rows of 16 integers: the shape of the example that Triton's client examples talk to. */
export const simpleModel = (): Uint8Array =>
  encodeModel(
    {
      name: 'simple',
      nodes: [node('Add', ['INPUT0', 'INPUT1'], ['OUTPUT0']), node('Sub', ['INPUT0', 'INPUT1'], ['OUTPUT1'])],
      inputs: ['INPUT0', 'INPUT1'].map((name) => valueInfo(name, elementTypes.INT32, ['N', 16])),
      outputs: ['OUTPUT0', 'OUTPUT1'].map((name) => valueInfo(name, elementTypes.INT32, ['N', 16])),
    },
    16,
  );
