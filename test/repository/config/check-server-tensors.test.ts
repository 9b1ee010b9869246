import { describe, expect, it } from 'vitest';
import type { ModelSignature } from '../../../src/streams/inference/backend.ts';
import { prepare, tensor } from '../support/prepare.ts';

const failure = (config: string, signature: ModelSignature): Promise<string> =>
  prepare({ config, signature }).then(
    () => 'it was prepared',
    (error: Error) => error.message,
  );

describe('a sequence model', () => {
  const signature: ModelSignature = {
    inputs: [tensor('X', 'FP32', -1, 4), tensor('START', 'INT32', -1, 1), tensor('ID', 'UINT64', -1, 1), tensor('S_IN', 'FP32', -1, 2, -1)],
    outputs: [tensor('Y', 'FP32', -1, 4), tensor('S_OUT', 'FP32', -1, 2, -1)],
  };
  const control = (name: string, kind: string, value: string) => `{ name: "${name}" control { kind: CONTROL_SEQUENCE_${kind} ${value} } }`;
  const state = (fields: string) => `state { input_name: "S_IN" output_name: "S_OUT" ${fields} }`;
  const sequences = (...parts: string[]) => `max_batch_size: 8 sequence_batching { ${parts.join(' ')} }`;
  const start = `control_input ${control('START', 'START', 'int32_false_true: [ 0, 1 ]')}`;
  const id = `control_input ${control('ID', 'CORRID', 'data_type: TYPE_UINT64')}`;
  const whole = state('data_type: TYPE_FP32 dims: [ 2, -1 ]');

  it('is completed without what the server gives it', async () => {
    const { spec } = await prepare({ config: sequences(start, id, whole), signature });
    expect(spec.inputs.map(({ name }) => name)).toEqual(['X']);
    expect(spec.outputs.map(({ name }) => name)).toEqual(['Y']);
    expect(spec.sequenceBatching?.controls.map(({ name }) => name)).toEqual(['START', 'ID']);
    expect(spec.dynamicBatching).toBeUndefined();
  });

  it('may show its states', async () => {
    const outputs = 'output [ { name: "Y" data_type: TYPE_FP32 dims: 4 }, { name: "S_OUT" data_type: TYPE_FP32 dims: [ 2, -1 ] } ]';
    const { spec } = await prepare({ config: `${sequences(start, id, whole)} ${outputs}`, signature });
    expect(spec.outputs.map(({ name }) => name)).toEqual(['Y', 'S_OUT']);
  });

  it.each([
    [
      sequences(start.replace('int32', 'fp32'), id, whole),
      "unable to load model 'm', sequence control 'START', the model expects data-type INT32 but the model configuration specifies data-type TYPE_FP32",
    ],
    [
      sequences(start, id.replace('TYPE_UINT64', 'TYPE_STRING'), whole),
      "unable to load model 'm', sequence control 'ID', the model expects data-type UINT64 but the model configuration specifies data-type TYPE_STRING",
    ],
    [
      sequences(start.replace('"START"', '"BEGIN"'), id, whole),
      "configuration specified sequence control 'BEGIN', but model does not provide that input",
    ],
    [
      sequences(start.replace('"START"', '"X"'), id, whole),
      "unable to load model 'm', sequence control 'X' in model has dims [4] but dims [1] is expected",
    ],
    [
      sequences(start, id, whole.replace('"S_IN"', '"S"')),
      "unable to load model 'm', state input 'S' is no input of the model, allowed inputs are: X, START, ID, S_IN",
    ],
    [
      sequences(start, id, whole.replace('"S_OUT"', '"S"')),
      "unable to load model 'm', state output 'S' is no output of the model, allowed outputs are: Y, S_OUT",
    ],
    [
      sequences(start, id, whole.replace('TYPE_FP32', 'TYPE_INT64')),
      "unable to load model 'm', configuration expects datatype TYPE_INT64 for state input 'S_IN', model provides TYPE_FP32",
    ],
    [
      sequences(start, id, whole.replace('[ 2, -1 ]', '[ 3, -1 ]')),
      "unable to load model 'm', configuration expects shape [-1,3,1] for state input 'S_IN', model provides [-1,2,-1]",
    ],
    [
      sequences(start, id, whole.replace('[ 2, -1 ]', '[ -1, 5 ]')),
      "unable to load model 'm', configuration expects shape [-1,1,5] for state input 'S_IN', model provides [-1,2,-1]",
    ],
  ])('must have them as the config says: %s', async (config, text) => {
    expect(await failure(config, signature)).toContain(text);
  });

  it('may begin with states of sizes that the config leaves open', async () => {
    const initial = 'initial_state { name: "zeros" data_type: TYPE_FP32 dims: [ 2, 3 ] zero_data: true }';
    const { spec } = await prepare({ config: sequences(start, id, state(`data_type: TYPE_FP32 dims: [ -1, -1 ] ${initial}`)), signature });
    expect(spec.sequenceBatching?.states[0]?.initial.shape).toEqual([1, 2, 3]);
  });

  it('says every disagreement at once, and where', async () => {
    const config = sequences(start.replace('int32', 'bool').replace('[ 0, 1 ]', '[ false, true ]'), id, whole.replace('[ 2', '[ 3'));
    const message = await failure(config, signature);
    expect(message).toContain("sequence control 'START', the model expects data-type INT32");
    expect(message).toContain('field sequence_batching.control_input[0], wanted TYPE_INT32, got TYPE_BOOL');
    expect(message).toContain("for state output 'S_OUT'");
  });

  it('counts them among its inputs', async () => {
    const config = `${sequences(start, whole)} input { name: "X" data_type: TYPE_FP32 dims: 4 } output { name: "Y" data_type: TYPE_FP32 dims: 4 }`;
    expect(await failure(config, signature)).toContain("unable to load model 'm', configuration expects 3 inputs, model provides 4");
  });
});

describe('a ragged model', () => {
  const signature: ModelSignature = {
    inputs: [tensor('X', 'FP32', -1), tensor('N', 'INT32', -1), tensor('SHAPES', 'FP32', -1, 2)],
    outputs: [tensor('SUM', 'FP32', -1, 1), tensor('ALL', 'FP32', -1)],
  };
  const input = 'input { name: "X" data_type: TYPE_FP32 dims: [ -1, 3 ] allow_ragged_batch: true }';
  const outputs = 'output [ { name: "SUM" data_type: TYPE_FP32 dims: 1 }, { name: "ALL" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]';
  const told = (kind: string, name: string, type: string) =>
    `batch_input { kind: ${kind} target_name: "${name}" data_type: ${type} source_input: "X" }`;
  const counts = told('BATCH_ELEMENT_COUNT', 'N', 'TYPE_INT32');
  const shapes = told('BATCH_ITEM_SHAPE', 'SHAPES', 'TYPE_FP32');
  const scatter = 'batch_output { target_name: "ALL" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "X" }';
  const ragged = (...parts: string[]) => `max_batch_size: 8 dynamic_batching { } ${parts.join(' ')}`;

  it('has its elements end to end, and is told of them', async () => {
    const { spec } = await prepare({ config: ragged(input, outputs, counts, shapes, scatter), signature });
    expect(spec.inputs).toMatchObject([{ name: 'X', dims: [-1, 3], allowRagged: true }]);
    expect(spec.batchInputs.map(({ names }) => names)).toEqual([['N'], ['SHAPES']]);
    expect(spec.batchOutputs).toEqual([{ names: ['ALL'], source: 'X' }]);
  });

  it('is not completed where its tensors are counted with those of the batch', async () => {
    expect(await failure(ragged(outputs, counts, shapes, scatter), signature)).toContain("unknown source input name 'X'");
  });

  it.each([
    [
      ragged(input.replace('allow_ragged_batch: true', 'allow_ragged_batch: true optional: true'), outputs, counts, shapes, scatter),
      "unable to load model 'm', configuration expects model provides input with shape [-1] for ragged input 'X', which is not supported for optional input",
    ],
    [
      ragged(
        input.replaceAll('"X"', '"SHAPES"'),
        outputs,
        counts.replace('"X"', '"SHAPES"'),
        told('BATCH_ELEMENT_COUNT', 'X', 'TYPE_INT32'),
      ),
      "unable to load model 'm', configuration expects model provides input with shape [-1]  for ragged input 'SHAPES', model provides [-1,2]",
    ],
    [
      ragged(input, outputs, counts.replace('TYPE_INT32', 'TYPE_FP32'), shapes, scatter),
      "unable to load model 'm', configuration expects datatype TYPE_FP32 for batch input 'N', model provides TYPE_INT32",
    ],
    [
      ragged(input, outputs, counts.replace('"N"', '"M"'), shapes, scatter),
      "unable to load model 'm', batch input 'M' is no input of the model, allowed inputs are: X, N, SHAPES",
    ],
    [
      ragged(input, outputs, counts.replace('"N"', '"SHAPES"'), shapes.replace('"SHAPES"', '"N"'), scatter),
      "unable to load model 'm', configuration expects shape [-1] for batch input 'SHAPES', model provides [-1,2]",
    ],
    [
      ragged(input.replace('[ -1, 3 ]', '-1'), outputs.replace('[ -1, 3 ]', '[ 3, -1 ]'), counts, shapes, scatter),
      "unable to load model 'm', batch output 'ALL' has dimensions of any size where its source 'X' has none",
    ],
    [ragged(input, outputs, counts, scatter), "unable to load model 'm', configuration expects 2 inputs, model provides 3"],
  ])('must be so in its file: %s', async (config, text) => {
    expect(await failure(config, signature)).toContain(text);
  });
});

describe('a model that pads', () => {
  const signature: ModelSignature = {
    inputs: [tensor('X', 'FP32', -1, -1), tensor('MASK', 'INT64', -1, -1)],
    outputs: [tensor('Y', 'FP32', -1, -1)],
  };
  const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`;
  const padding = (mask: string) => `${parameter('weir_pad_inputs', 'X')} ${parameter('weir_pad_mask', mask)}`;

  it('is completed without its mask', async () => {
    const { spec } = await prepare({ config: `max_batch_size: 8 ${padding('MASK')}`, signature });
    expect(spec.inputs.map(({ name }) => name)).toEqual(['X']);
    expect(spec.batchOptions.padding?.mask).toEqual({ name: 'MASK', datatype: 'INT64' });
  });

  it('takes the mask that its config says', async () => {
    expect(await failure(`max_batch_size: 8 ${padding('MASK:TYPE_FP32')}`, signature)).toContain(
      "unable to load model 'm', configuration expects datatype TYPE_FP32 for padding mask 'MASK', model provides TYPE_INT64",
    );
    const flat = { ...signature, inputs: [tensor('X', 'FP32', -1, -1), tensor('MASK', 'INT64', -1)] };
    expect(await failure(`max_batch_size: 8 ${padding('MASK')}`, flat)).toContain(
      "unable to load model 'm', configuration expects shape [-1,-1] for padding mask 'MASK', model provides [-1]",
    );
  });
});
