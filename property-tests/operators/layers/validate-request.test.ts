import fc from 'fast-check';
import { expect, it } from 'vitest';
import { validateRequest } from '../../../src/operators/layers/validate-request.ts';
import { elementByteSize } from '../../../src/streams/tensors/datatype.ts';
import { elementCount, matchesShape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { answering, collect, inferRequest, inferResponse, inputSpec, modelSpec } from '../../../test/support/request-fixtures.ts';
import { anyDatatype, tensorOf } from '../../arbitraries/tensors.ts';
import { propertyParameters } from '../../parameters.ts';

const dims = fc.array(fc.constantFrom(-1, 1, 2, 3), { minLength: 1, maxLength: 2 });
const shape = fc.array(fc.nat(3), { minLength: 1, maxLength: 3 });
const anyInput = fc.record({
  datatype: anyDatatype,
  dims,
  optional: fc.boolean(),
  // What the request says of it, close enough to be right about half of the time.
  isGiven: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  given: fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, anyDatatype),
  moreRows: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
  fit: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, shape),
  spareBytes: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.constant(1)),
});

const anyModel = fc.record({ maxBatchSize: fc.nat(3), rows: fc.nat(3), inputs: fc.array(anyInput, { minLength: 1, maxLength: 3 }) });

/** A model, and of each of its inputs the tensor that is given. */
const anyCase = anyModel.chain(({ maxBatchSize, rows, inputs }) => {
  const batch = (more: number) => (maxBatchSize > 0 ? [Math.max(0, rows + more)] : []);
  const given = inputs.map(({ datatype, dims, given, fit, moreRows }) =>
    tensorOf(given ?? datatype, fit ?? [...batch(moreRows), ...dims.map((dim) => (dim === -1 ? 2 : dim))]),
  );
  return fc.record({ maxBatchSize: fc.constant(maxBatchSize), inputs: fc.constant(inputs), given: fc.tuple(...given) });
});

// Kills: `<` for `<=` on the batch size, a wildcard that matches the batch dimension, an input skipped after the first, sizes compared
// for BYTES, optional inputs counted as required.
it('accepts exactly the requests that match their model', () => {
  const parameters = propertyParameters();
  let accepted = 0;
  fc.assert(
    fc.property(anyCase, ({ maxBatchSize, inputs, given }) => {
      const spec = modelSpec({
        maxBatchSize,
        inputs: inputs.map((input, index) => inputSpec(`I${index}`, input.datatype, input.dims, { optional: input.optional })),
      });
      const tensors = inputs.flatMap((input, index) => {
        const tensor = given[index];
        if (!input.isGiven || tensor === undefined) return [];
        const bytes = new Uint8Array([...tensor.bytes, ...Array<number>(input.spareBytes).fill(0)]);
        return [{ input, index, tensor: new Tensor(tensor.datatype, tensor.shape, bytes) }];
      });
      const batchPattern = maxBatchSize > 0 ? [-1] : [];
      const firstRows = tensors[0]?.tensor.shape[0] ?? 0;
      const fits =
        inputs.every((input) => input.isGiven || input.optional) &&
        tensors.every(
          ({ input, tensor }) =>
            tensor.datatype === input.datatype &&
            matchesShape([...batchPattern, ...input.dims], tensor.shape) &&
            input.spareBytes === 0 &&
            (input.datatype === 'BYTES' || tensor.byteLength === elementCount(tensor.shape) * elementByteSize(input.datatype)) &&
            (maxBatchSize === 0 || (tensor.shape[0] === firstRows && firstRows > 0 && firstRows <= maxBatchSize)),
        );
      const request = inferRequest(Object.fromEntries(tensors.map(({ index, tensor }) => [`I${index}`, tensor])));
      const { isComplete } = collect(validateRequest(spec)(answering(inferResponse({})))(request));
      if (isComplete) accepted++;
      expect(isComplete).toBe(fits);
    }),
    parameters,
  );
  // Neither answer is a rare one, where there are runs enough to tell.
  if (parameters.numRuns >= 200) {
    expect(accepted).toBeGreaterThan(parameters.numRuns * 0.04);
    expect(accepted).toBeLessThan(parameters.numRuns * 0.96);
  }
});
