import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formBatch } from '../../../src/operators/batching/form-batch.ts';
import type { Batch, Part } from '../../../src/streams/inference/backend.ts';
import type { ModelSpec } from '../../../src/streams/inference/model-spec.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { skipBytesElements } from '../../../src/streams/tensors/bytes-elements.ts';
import { elementByteSize } from '../../../src/streams/tensors/datatype.ts';
import { elementCount, type Shape } from '../../../src/streams/tensors/shape.ts';
import { splitRows } from '../../../src/streams/tensors/split.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makePart } from '../../../test/support/model.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../../test/support/request-fixtures.ts';
import { anyDatatype, tensorOf } from '../../arbitraries/tensors.ts';
import { propertyParameters } from '../../parameters.ts';

/** Dims of an input X, any of them variable, and requests for them, of one to three rows. */
const anyCase = fc
  .record({ datatype: anyDatatype, dims: fc.array(fc.constantFrom(-1, -1, 2), { minLength: 1, maxLength: 3 }) })
  .chain(({ datatype, dims }) => {
    const shape = fc.tuple(fc.integer({ min: 1, max: 3 }), ...dims.map((size) => (size === -1 ? fc.nat(4) : fc.constant(size))));
    const tensors = fc.array(
      shape.chain((sizes) => tensorOf(datatype, sizes)),
      { minLength: 1, maxLength: 4 },
    );
    return fc.record({ datatype: fc.constant(datatype), dims: fc.constant(dims), tensors });
  });

const batchOf = (requests: readonly InferRequest[]): Batch => {
  const rows = requests.map(({ inputs }) => inputs.get('X')?.shape[0] ?? 0);
  const totalRows = rows.reduce((sum, count) => sum + count, 0);
  return { requests, rows, totalRows, wholeInputs: new Map(), times: { inputEndMs: 0, outputStartMs: 0 } };
};

const given = ({ inputs }: InferRequest, name: string): Tensor => {
  const tensor = inputs.get(name);
  if (tensor === undefined) throw new Error(`a request has no ${name}`);
  return tensor;
};

/** The model: from a batch to an answer for each request. */
type Model = (batch: Batch) => readonly Part[];

const answers = (spec: ModelSpec, model: Model, requests: readonly InferRequest[]): readonly Part[] => {
  const formed = formBatch(spec)?.(batchOf(requests));
  if (formed === undefined) throw new Error('nothing was added to the batch');
  return model(formed.batch).map((part) => formed.cut?.(part) ?? part);
};

/** What a client sees: shapes and bytes. */
const seen = ({ outputs, error }: Part) => ({
  error,
  outputs: Object.fromEntries([...outputs].map(([name, { datatype, shape, bytes }]) => [name, { datatype, shape, bytes: [...bytes] }])),
});

const concatenated = (requests: readonly InferRequest[], name: string): Buffer =>
  Buffer.concat(requests.map((request) => given(request, name).bytes));

const alone = (spec: ModelSpec, model: Model, requests: readonly InferRequest[]) =>
  requests.flatMap((request) => answers(spec, model, [request])).map(seen);

const together = (spec: ModelSpec, model: Model, requests: readonly InferRequest[]) => answers(spec, model, requests).map(seen);

/** The batch's elements end to end, and where each request's lie as the model is told: it knows nothing else of them. */
const raggedModel: Model = ({ requests, rows, wholeInputs }) => {
  const whole = concatenated(requests, 'X');
  const { datatype } = given(requests[0] ?? inferRequest({}), 'X');
  const numbers = (name: string): number[] => {
    const tensor = wholeInputs.get(name);
    return tensor === undefined ? [] : [...tensorValues(tensor)].map(Number);
  };
  const ends = numbers('ENDS');
  const counts = numbers('COUNTS');
  const sums = numbers('SUMS');
  const items = wholeInputs.get('ITEMS')?.shape[1] ?? 0;
  const shapes = numbers('ITEMS');
  let from = 0;
  let row = 0;
  return requests.map((_, of) => {
    const count = (ends[of + 1] ?? 0) - (ends[of] ?? 0);
    if (count !== counts[of] || sums[of] !== ends[of + 1]) throw new Error('the counts disagree');
    const item = shapes.slice(row * items, (row + 1) * items);
    row += rows[of] ?? 0;
    const to = datatype === 'BYTES' ? skipBytesElements(whole, from, whole.byteLength, count) : from + count * elementByteSize(datatype);
    const output = new Tensor(datatype, [rows[of] ?? 0, ...item], whole, from, to);
    from = to;
    return makePart(of, { outputs: new Map([['Y', output]]) });
  });
};

// Kills: sums without the last count, a zero at the wrong end, counts without the batch dimension, one item for each request.
it('tells a model that gets requests end to end where each of them lies', () => {
  fc.assert(
    fc.property(anyCase, ({ datatype, dims, tensors }) => {
      const told = (kind: ModelSpec['batchInputs'][number]['kind'], ...names: string[]) => ({
        kind,
        names,
        datatype: 'INT32' as const,
        source: 'X',
      });
      const spec = modelSpec({
        maxBatchSize: 16,
        inputs: [inputSpec('X', datatype, dims, { allowRagged: true })],
        batchInputs: [
          told('BATCH_ELEMENT_COUNT', 'COUNTS'),
          told('BATCH_ACCUMULATED_ELEMENT_COUNT', 'SUMS'),
          told('BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO', 'ENDS'),
          told('BATCH_ITEM_SHAPE', 'ITEMS'),
        ],
      });
      const requests = tensors.map((tensor) => inferRequest({ X: tensor }));
      const all = together(spec, raggedModel, requests);
      expect(all).toEqual(alone(spec, raggedModel, requests));
      expect(all.map(({ outputs }) => outputs.Y)).toEqual(tensors.map(({ shape, bytes }) => ({ datatype, shape, bytes: [...bytes] })));
    }),
    propertyParameters(),
  );
});

/** One tensor of all rows, as a model has them that gathers: `Y` is `X` again, and `KNOWN` of each row how many elements the mask tells. */
const paddedModel: Model = ({ requests, rows, totalRows }) => {
  const [first] = requests;
  if (first === undefined) return [];
  const gathered = (name: string): Tensor => {
    const { datatype, shape } = given(first, name);
    for (const request of requests) {
      if (given(request, name).shape.slice(1).join() !== shape.slice(1).join()) throw new Error('requests are not equally long');
    }
    return new Tensor(datatype, [totalRows, ...shape.slice(1)], concatenated(requests, name));
  };
  const mask = gathered('MASK');
  const perRow = elementCount(mask.shape.slice(1));
  const marks = [...tensorValues(mask)].map(Number);
  const known = Uint8Array.from({ length: totalRows }, (_, row) =>
    marks.slice(row * perRow, (row + 1) * perRow).reduce((sum, mark) => sum + mark, 0),
  );
  const outputs = new Map([
    ['Y', splitRows(gathered('X'), rows)],
    ['KNOWN', splitRows(new Tensor('UINT8', [totalRows], known), rows)],
  ]);
  return requests.map((_, of) =>
    makePart(of, { outputs: new Map([...outputs].flatMap(([name, pieces]) => (pieces[of] === undefined ? [] : [[name, pieces[of]]]))) }),
  );
};

const sizes = (shape: Shape): number => elementCount(shape.slice(1));

// Kills: rows that begin where those of the client do, the longest along one axis for all, a mask of ones everywhere, outputs cut along the wrong
// axis or not at all, tensors read from the start of their buffer, strings that are not filled up or read from the wrong place.
it('gives each request of a batch that is filled up what it would get alone', () => {
  const masks = fc.constantFrom('BOOL', 'INT32', 'FP32', 'FP16', 'INT64', 'BF16');
  fc.assert(
    fc.property(anyCase, masks, fc.constantFrom(0, 1), ({ datatype, dims, tensors }, mask, value) => {
      const isVariable = dims.includes(-1);
      fc.pre(isVariable);
      const spec = modelSpec({
        maxBatchSize: 16,
        inputs: [inputSpec('X', datatype, dims)],
        outputs: [outputSpec('Y', datatype, dims), outputSpec('KNOWN', 'UINT8', [1])],
        batchOptions: {
          groupByParameter: undefined,
          unequalShapes: false,
          padding: { inputs: ['X'], value: datatype === 'BYTES' ? 0 : value, mask: { name: 'MASK', datatype: mask }, outputs: ['Y'] },
        },
      });
      const requests = tensors.map((tensor) => inferRequest({ X: tensor }));
      const all = together(spec, paddedModel, requests);
      expect(all).toEqual(alone(spec, paddedModel, requests));
      expect(all.map(({ outputs }) => outputs.Y)).toEqual(tensors.map(({ shape, bytes }) => ({ datatype, shape, bytes: [...bytes] })));
      expect(all.map(({ outputs }) => outputs.KNOWN?.bytes)).toEqual(
        tensors.map(({ shape }) => Array<number>(shape[0] ?? 0).fill(sizes(shape))),
      );
    }),
    propertyParameters(),
  );
});
