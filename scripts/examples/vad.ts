import { elementTypes, int64Constant, ModelProto, node, valueInfo } from './onnx-graph.ts';

const sampleRate = 16_000;
const chunkSamples = 512;
const contextSamples = 64;
const stateSize = 128;

/**
 * Silero's voice activity detector as a model that can be batched. As shipped it wants context and chunk in one input, has the batch of its
 * state at axis 1, and takes the sample rate as a scalar. Around its graph come: `Concat` of CONTEXT and AUDIO, a `Transpose` of the state on
 * either side, the rate as a constant, and a `Slice` that hands the last samples on as the next context.
 */
export const vadModel = (silero: Uint8Array): Uint8Array => {
  const model = ModelProto.decode(silero);
  const { graph } = model;
  if (graph?.node === undefined || graph.node === null) throw new Error('the voice detector holds no graph');
  const { FLOAT } = elementTypes;
  graph.initializer = [
    ...(graph.initializer ?? []),
    int64Constant('sr', [], [sampleRate]),
    int64Constant('weir_last_start', [1], [-contextSamples]),
    int64Constant('weir_last_end', [1], [chunkSamples]),
    int64Constant('weir_last_axis', [1], [1]),
  ];
  graph.node = [
    node('Concat', ['CONTEXT', 'AUDIO'], ['input'], { axis: 1 }),
    node('Transpose', ['STATE'], ['state'], { perm: [1, 0, 2] }),
    ...graph.node,
    node('Identity', ['output'], ['SPEECH']),
    node('Transpose', ['stateN'], ['STATE_OUT'], { perm: [1, 0, 2] }),
    node('Slice', ['AUDIO', 'weir_last_start', 'weir_last_end', 'weir_last_axis'], ['CONTEXT_OUT']),
  ];
  graph.input = [
    valueInfo('AUDIO', FLOAT, ['N', chunkSamples]),
    valueInfo('CONTEXT', FLOAT, ['N', contextSamples]),
    valueInfo('STATE', FLOAT, ['N', 2, stateSize]),
  ];
  graph.output = [
    valueInfo('SPEECH', FLOAT, ['N', 1]),
    valueInfo('CONTEXT_OUT', FLOAT, ['N', contextSamples]),
    valueInfo('STATE_OUT', FLOAT, ['N', 2, stateSize]),
  ];
  return ModelProto.encode(model).finish();
};
