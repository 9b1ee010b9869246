import { describe, expect, it } from 'vitest';
import { validateRequest } from '../../../src/operators/layers/validate-request.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import {
  answering,
  collect,
  failureOf,
  inferRequest,
  inferResponse,
  inputSpec,
  modelSpec,
  outputSpec,
} from '../../support/request-fixtures.ts';

const bytes = (datatype: Datatype, shape: Shape, byteLength: number): Tensor => new Tensor(datatype, shape, new Uint8Array(byteLength));

const validated = (spec: ModelSpec) => validateRequest(spec)(answering(inferResponse({})));

const fault = (spec: ModelSpec, request: InferRequest): string => failureOf(validated(spec)(request));

const accepts = (spec: ModelSpec, request: InferRequest): void => {
  expect(collect(validated(spec)(request))).toMatchObject({ error: undefined, isComplete: true, values: [{ modelName: 'm' }] });
};

const prefixed = (text: string): string => `INVALID_ARGUMENT: [request id: <id_unknown>] ${text}`;

const note =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to ' +
  'specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs ' +
  'for more info on max_batch_size.';

const flat = modelSpec({
  inputs: [inputSpec('A', 'FP32', [-1, 2]), inputSpec('B', 'BYTES', [2])],
  outputs: [outputSpec('O', 'FP32', [-1])],
});
const strings = tensorFrom('BYTES', [2], ['x', '']);
const good = { A: bytes('FP32', [3, 2], 24), B: strings };

const batching = modelSpec({ maxBatchSize: 4, inputs: [inputSpec('A', 'INT32', [16]), inputSpec('B', 'INT32', [-1])] });
const rows = (count: number, width = 16): Tensor => bytes('INT32', [count, width], Math.max(0, count * width * 4));

describe('what fits', () => {
  it('passes, in any order, an input of no elements too', () => {
    accepts(flat, inferRequest(good));
    accepts(flat, inferRequest({ B: strings, A: bytes('FP32', [0, 2], 0) }, { outputs: [{ name: 'O', classification: 0 }] }));
    accepts(batching, inferRequest({ A: rows(4), B: rows(4, 7) }));
    accepts(batching, inferRequest({ A: rows(1), B: rows(1, 0) }));
    accepts(flat, inferRequest({ ...good, A: new Tensor('FP32', [1, 2], new Uint8Array(12), 2, 10) }));
  });

  it('is handed on as the same request', () => {
    const request = inferRequest(good);
    const seen: InferRequest[] = [];
    const infer = validateRequest(flat)((given) => {
      seen.push(given);
      return answering(inferResponse({}))(given);
    });
    collect(infer(request));
    collect(infer(inferRequest({})));
    expect(seen).toEqual([request]);
    expect(seen[0]).toBe(request);
  });
});

describe('names', () => {
  it('refuses an unknown output before anything else', () => {
    const request = inferRequest({}, { outputs: [{ name: 'potato', classification: 0 }] });
    expect(fault(flat, request)).toBe("INVALID_ARGUMENT: unexpected inference output 'potato' for model 'm'");
  });

  it('refuses an unknown input', () => {
    expect(fault(flat, inferRequest({ A: good.A, C: strings }))).toBe("INVALID_ARGUMENT: unexpected inference input 'C' for model 'm'");
  });

  it('counts inputs', () => {
    expect(fault(flat, inferRequest({ B: strings }, { id: 'x7' }))).toBe(
      "INVALID_ARGUMENT: [request id: x7] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['B'], but missing required input(s) ['A']. " +
        'Please provide all required input(s).',
    );
    expect(fault(flat, inferRequest({}))).toBe(
      prefixed(
        "expected 2 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing required input(s) ['A','B']. Please provide all required input(s).",
      ),
    );
    expect(fault(flat, inferRequest({ ...good, C: strings }))).toBe(
      prefixed(
        "expected 2 inputs but got 3 inputs for model 'm'. Got input(s) ['A','B','C'], but missing required input(s) ]. Please provide all required input(s).",
      ),
    );
  });

  it('counts inputs before it looks at any', () => {
    expect(fault(batching, inferRequest({ A: rows(5) }))).toMatch(/expected 2 inputs but got 1 inputs/);
  });

  it('names a missing required input even where optional ones make up the number', () => {
    const spec = modelSpec({
      inputs: [inputSpec('R', 'INT8', [1]), inputSpec('S', 'INT8', [1]), inputSpec('T', 'INT8', [1], { optional: true })],
    });
    const one = bytes('INT8', [1], 1);
    accepts(spec, inferRequest({ R: one, S: one }));
    accepts(spec, inferRequest({ R: one, S: one, T: one }));
    const text = "for model 'm'. Got input(s) ['R','T'], but missing required input(s) ['S']. Please provide all required input(s).";
    expect(fault(spec, inferRequest({ R: one, T: one }))).toBe(
      prefixed(`expected number of inputs between 2 and 3 but got 2 inputs ${text}`),
    );
    expect(fault(spec, inferRequest({ R: one }))).toMatch(/expected number of inputs between 2 and 3 but got 1 inputs/);
  });
});

describe('batches', () => {
  it.each<[string, Record<string, Tensor>]>([
    ["input 'A' has no shape but model requires batch dimension for 'm'", { A: bytes('INT32', [], 4), B: rows(1) }],
    ["input 'B' batch size does not match other inputs for 'm'", { A: rows(2), B: rows(3) }],
    ["inference request batch-size must be <= 4 for 'm'", { A: rows(5), B: rows(5) }],
    ["tensor 'A' contains an invalid dimension in shape [-1,16]", { A: rows(-1), B: rows(1) }],
    ["input byte size mismatch for input 'A' for model 'm'. Expected 64, got 0", { A: rows(0), B: rows(0) }],
    ["input byte size mismatch for input 'A' for model 'm'. Expected 64, got 0", { A: rows(0), B: rows(2) }],
    [
      "input byte size mismatch for input 'A' for model 'm'. Expected 64, got 8",
      { A: new Tensor('INT32', [0, 16], new Uint8Array(12), 2, 10), B: rows(0) },
    ],
    ["inference request batch-size must be >= 1 for 'm'", { B: rows(0, 0), A: rows(0) }],
  ])('%s', (text, inputs) => {
    expect(fault(batching, inferRequest(inputs))).toBe(prefixed(text));
  });

  it('counts strings of no rows', () => {
    const spec = modelSpec({ maxBatchSize: 4, inputs: [inputSpec('S', 'BYTES', [3])] });
    expect(fault(spec, inferRequest({ S: bytes('BYTES', [0, 3], 0) }))).toBe(
      prefixed("expected 3 string elements for inference input 'S' for model 'm', got 0"),
    );
  });
});

describe('datatypes and shapes', () => {
  it('names both datatypes', () => {
    const spec = modelSpec({ inputs: [inputSpec('U', 'UINT32', [1])] });
    expect(fault(spec, inferRequest({ U: bytes('INT32', [1], 4) }))).toBe(
      prefixed("inference input 'U' data-type is 'INT32', but model 'm' expects 'UINT32'"),
    );
  });

  it('says what it expected, with the batch dimension where there is one', () => {
    const spec = modelSpec({ maxBatchSize: 8, inputs: [inputSpec('A', 'INT32', [1])] });
    expect(fault(spec, inferRequest({ A: bytes('INT32', [3], 12) }))).toBe(
      prefixed(`unexpected shape for input 'A' for model 'm'. Expected [-1,1], got [3]. ${note}`),
    );
    expect(fault(batching, inferRequest({ A: rows(1, 17), B: rows(1) }))).toBe(
      prefixed(`unexpected shape for input 'A' for model 'm'. Expected [-1,16], got [1,17]. ${note}`),
    );
    for (const shape of [[2], [1, 2, 1]]) {
      const [count = 0] = shape;
      expect(fault(batching, inferRequest({ A: rows(count), B: bytes('INT32', shape, 8) }))).toBe(
        prefixed(`unexpected shape for input 'B' for model 'm'. Expected [-1,-1], got [${shape.join()}]. ${note}`),
      );
    }
    expect(fault(flat, inferRequest({ ...good, A: bytes('FP32', [3, 3], 36) }))).toBe(
      prefixed("unexpected shape for input 'A' for model 'm'. Expected [-1,2], got [3,3]. "),
    );
  });

  it('refuses dimensions that are no sizes', () => {
    expect(fault(flat, inferRequest({ ...good, A: bytes('FP32', [-1, 2], 8) }))).toBe(
      prefixed("All input dimensions should be specified for input 'A' for model 'm', got [-1,2]"),
    );
    expect(fault(flat, inferRequest({ ...good, A: bytes('FP32', [0.5, 2], 4) }))).toBe(
      prefixed("tensor 'A' contains an invalid dimension in shape [0.5,2]"),
    );
  });

  it.each<[string, Shape, Datatype]>([
    ["element count for tensor 'W' exceeds maximum size of 9223372036854775807", [2 ** 32, 2 ** 31], 'INT8'],
    ["element count for tensor 'W' exceeds maximum size of 9223372036854775807", [2 ** 62, 2 ** 62], 'BYTES'],
    ["byte size for tensor 'W' exceeds maximum size of 9223372036854775807", [2 ** 31, 2 ** 31], 'FP32'],
    ["input byte size mismatch for input 'W' for model 'm'. Expected 8000000000, got 4", [1, 2_000_000_000], 'FP32'],
    // So many, 2 ** 63 - 1, are not too many.
    ["input byte size mismatch for input 'W' for model 'm'. Expected 9223372036854776000, got 4", [153_092_023, 60_247_241_209], 'INT8'],
    ["expected 4611686018427388000 string elements for inference input 'W' for model 'm', got 1", [2 ** 31, 2 ** 31], 'BYTES'],
  ])('%s: %j %s', (text, shape, datatype) => {
    const spec = modelSpec({ inputs: [inputSpec('W', datatype, [-1, -1])] });
    expect(fault(spec, inferRequest({ W: bytes(datatype, shape, 4) }))).toBe(prefixed(text));
  });

  it('compares byte sizes', () => {
    expect(fault(flat, inferRequest({ ...good, A: bytes('FP32', [3, 2], 25) }))).toBe(
      prefixed("input byte size mismatch for input 'A' for model 'm'. Expected 24, got 25"),
    );
  });
});

describe('strings', () => {
  it.each<[string, readonly number[]]>([
    ["expected 2 string elements for inference input 'B' for model 'm', got 0", []],
    ["expected 2 string elements for inference input 'B' for model 'm', got 1", [1, 0, 0, 0, 7]],
    ["unexpected number of string elements 3 for inference input 'B' for model 'm', expecting 2", [0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9]],
    [
      "incomplete string length indicator for inference input 'B' for model 'm', expecting 4 bytes but only 2 bytes available. Please make sure the " +
        'string length indicator is in one buffer.',
      [0, 0, 0, 0, 0, 0, 0, 0, 1, 0],
    ],
    ["expected 2 string elements for inference input 'B' for model 'm', got 1", [9, 0, 0, 0, 1]],
  ])('%s', (text, elements) => {
    const buffer = new Uint8Array([0xaa, ...elements, 0xaa]);
    const request = inferRequest({ ...good, B: new Tensor('BYTES', [2], buffer, 1, buffer.length - 1) });
    expect(fault(flat, request)).toBe(prefixed(text));
  });

  it.each([
    [[255, 255, 255, 255, 1], 'expecting string of length 4294967295 but only 1 bytes available'],
    [[9, 0, 0, 0], 'expecting string of length 9 but only 0 bytes available'],
  ])('refuses a last string that is cut off, in the words of the backend: %j', (last, text) => {
    const B = new Tensor('BYTES', [2], Uint8Array.of(0, 0, 0, 0, ...last));
    expect(fault(flat, inferRequest({ ...good, B }))).toBe(`INVALID_ARGUMENT: incomplete string data for inference input 'B', ${text}`);
  });
});

describe('sequence ids', () => {
  const sequences = (datatype: 'UINT64' | 'INT32' | 'BYTES' | undefined): ModelSpec =>
    modelSpec({
      inputs: [inputSpec('A', 'INT32', [1])],
      sequenceBatching: {
        strategy: { kind: 'direct', maxQueueDelayMs: 0, minimumSlotUtilization: 0 },
        maxIdleMs: 1000,
        controls: [
          { kind: 'START', name: 'START', datatype: 'INT32', whenFalse: 0, whenTrue: 1 },
          ...(datatype === undefined ? [] : [{ kind: 'CORRID' as const, name: 'ID', datatype }]),
        ],
        states: [],
        isIterative: false,
        endsIdleWithStep: false,
      },
    });
  const A = bytes('INT32', [1], 4);
  const from = (sequenceId: bigint | string): InferRequest => inferRequest({ A }, { sequenceId });

  it('are of the kind of the control that holds them', () => {
    for (const datatype of ['UINT64', 'INT32'] as const) {
      accepts(sequences(datatype), from(7n));
      expect(fault(sequences(datatype), from('seven'))).toBe(
        prefixed(`sequence batching control 'ID' data-type is 'BYTES', but model 'm' expects '${datatype}'`),
      );
    }
    accepts(sequences('BYTES'), from('seven'));
    expect(fault(sequences('BYTES'), from(7n))).toBe(
      prefixed("sequence batching control 'ID' data-type is 'UINT64', but model 'm' expects 'BYTES'"),
    );
  });

  it('are of any kind without such a control, and missing ones are left to the scheduler', () => {
    for (const id of [7n, 'seven', 0n, '']) accepts(sequences(undefined), from(id));
    for (const datatype of ['UINT64', 'BYTES'] as const) for (const id of [0n, '']) accepts(sequences(datatype), from(id));
  });

  it('have no more than 128 bytes, for any model', () => {
    accepts(sequences('BYTES'), from('x'.repeat(128)));
    const tooLong = 'UNIMPLEMENTED: string correlation ID cannot be longer than 128 characters';
    expect(fault(sequences('BYTES'), from('x'.repeat(129)))).toBe(tooLong);
    expect(fault(flat, inferRequest(good, { sequenceId: 'é'.repeat(65) }))).toBe(tooLong);
  });

  it('are the server’s to write: a client that sends a control is told so', () => {
    const START = bytes('INT32', [1], 4);
    expect(fault(sequences('UINT64'), inferRequest({ START }))).toBe("INVALID_ARGUMENT: unexpected inference input 'START' for model 'm'");
  });
});
