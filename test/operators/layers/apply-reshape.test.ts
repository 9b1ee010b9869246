import { expect, it } from 'vitest';
import { applyReshape } from '../../../src/operators/layers/apply-reshape.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { Shape } from '../../../src/streams/tensors/shape.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
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

const tensor = (shape: Shape): Tensor => new Tensor('INT8', shape, new Uint8Array(100), 1, 1 + shape.reduce((a, b) => a * b, 1));

const seenShapes = (spec: ReturnType<typeof modelSpec>, inputs: Record<string, Tensor>): unknown => {
  const seen: InferRequest[] = [];
  const infer = applyReshape(spec)((request) => {
    seen.push(request);
    return answering(inferResponse({}))(request);
  });
  collect(infer(inferRequest(inputs)));
  return seen.map((request) => [...request.inputs].map(([name, { shape, start, end }]) => [name, shape, end - start]));
};

const answeredShapes = (spec: ReturnType<typeof modelSpec>, outputs: Record<string, Tensor>): unknown =>
  collect(applyReshape(spec)(answering(inferResponse(outputs)))(inferRequest({}))).values.map((response) =>
    [...response.outputs].map(([name, { shape }]) => [name, shape]),
  );

it('gives inputs the model’s shapes, scalars and variable sizes too', () => {
  const spec = modelSpec({
    inputs: [
      inputSpec('S', 'INT8', [1], { reshape: [] }),
      inputSpec('V', 'INT8', [-1, 4, -1], { reshape: [2, -1, 2, -1] }),
      inputSpec('P', 'INT8', [2]),
    ],
  });
  const inputs = { S: tensor([1]), V: tensor([3, 4, 5]), P: tensor([2]) };
  expect(seenShapes(spec, inputs)).toEqual([
    [
      ['S', [], 1],
      ['V', [2, 3, 2, 5], 60],
      ['P', [2], 2],
    ],
  ]);
  expect(inputs.V.shape).toEqual([3, 4, 5]);
});

it('keeps the batch dimension both ways', () => {
  const spec = modelSpec({
    maxBatchSize: 8,
    inputs: [inputSpec('S', 'INT8', [1], { reshape: [] })],
    outputs: [outputSpec('O', 'INT8', [1], { reshape: [] }), outputSpec('W', 'INT8', [-1, 6], { reshape: [2, -1, 3] })],
  });
  expect(seenShapes(spec, { S: tensor([7, 1]) })).toEqual([[['S', [7], 7]]]);
  expect(answeredShapes(spec, { O: tensor([7]), W: tensor([7, 2, 1, 3]) })).toEqual([
    [
      ['O', [7, 1]],
      ['W', [7, 1, 6]],
    ],
  ]);
});

it('passes what has no reshape untouched', () => {
  const spec = modelSpec({ inputs: [inputSpec('S', 'INT8', [1], { reshape: [] })], outputs: [outputSpec('O', 'INT8', [1])] });
  const response = inferResponse({ O: tensor([1]) });
  expect(collect(applyReshape(spec)(answering(response))(inferRequest({}))).values[0]).toBe(response);
});

it('fails an answer whose rank is not its reshape’s', () => {
  const spec = modelSpec({ outputs: [outputSpec('O', 'INT8', [4], { reshape: [2, 2] })] });
  expect(failureOf(applyReshape(spec)(answering(inferResponse({ O: tensor([4]) })))(inferRequest({})))).toBe(
    "INTERNAL: unexpected shape for tensor 'O' of model 'm'. Expected [2,2], got [4]",
  );
});
