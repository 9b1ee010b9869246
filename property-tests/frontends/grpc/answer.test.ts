import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerTemplate } from '../../../src/frontends/grpc/answer-template.ts';
import { Answer, answerError, issueError } from '../../../src/frontends/grpc/render-response.ts';
import type { ParameterValue } from '../../../src/streams/inference/parameters.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { decode, encode, type Fields, messageType } from '../../../test/frontends/grpc/support/client.ts';
import { propertyParameters } from '../../parameters.ts';

const unaryType = messageType('inference.ModelInferResponse');
const streamType = messageType('inference.ModelStreamInferResponse');

const text = fc.oneof(fc.constantFrom('', 'OUT', 'ünïcode ✓ 😀'), fc.string({ unit: 'binary', maxLength: 150, size: 'max' }));
const tensor = fc
  .tuple(
    fc.constantFrom('INT32' as const, 'BYTES' as const, 'BF16' as const),
    fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { maxLength: 4 }),
    fc.uint8Array({ maxLength: 200, size: 'max' }),
    fc.nat({ max: 10 }),
  )
  .map(([datatype, shape, bytes, start]) => new Tensor(datatype, shape, bytes, Math.min(start, bytes.length)));
const parameter: fc.Arbitrary<ParameterValue> = fc.oneof(
  fc.boolean(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.double({ noNaN: true }),
  text,
);

const response: fc.Arbitrary<InferResponse> = fc.record({
  modelName: fc.constantFrom('m', 'other', ''),
  modelVersion: fc.constantFrom('1', '12'),
  id: text,
  parameters: fc.array(fc.tuple(text, parameter), { maxLength: 4 }).map((entries) => new Map(entries)),
  outputs: fc.array(fc.tuple(fc.constantFrom('OUT', 'A', 'ü', ''), tensor), { maxLength: 4 }).map((entries) => new Map(entries)),
  isLast: fc.boolean(),
});

const parameterFields = (value: ParameterValue): Fields => {
  if (typeof value === 'boolean') return { bool_param: value };
  if (typeof value === 'bigint') return { int64_param: value.toString() };
  return typeof value === 'number' ? { double_param: value } : { string_param: value };
};

/** The same answer as a protobufjs user would write it. */
const fieldsOf = (answer: InferResponse, more: Fields = {}): Fields => ({
  model_name: answer.modelName,
  model_version: answer.modelVersion,
  id: answer.id,
  parameters: { ...Object.fromEntries([...answer.parameters].map(([key, value]) => [key, parameterFields(value)])), ...more },
  outputs: [...answer.outputs].map(([name, { datatype, shape }]) => ({ name, datatype, shape })),
  raw_output_contents: [...answer.outputs.values()].map(({ bytes }) => Buffer.from(bytes)),
});

const written = (answer: Answer): Buffer => {
  const target = Buffer.alloc(answer.byteLength + 7);
  expect(answer.copy(target, 5)).toBe(answer.byteLength);
  // Not a byte beside the place that it asked for.
  expect([...target.subarray(0, 5), ...target.subarray(-2)]).toEqual([0, 0, 0, 0, 0, 0, 0]);
  return target.subarray(5, -2);
};

// One template for all runs, as in a server: what it remembers must not leak from one answer into another.
const template = new AnswerTemplate('m', '1');

describe('Answer', () => {
  // Kills: a remembered shape for another, a length that counts characters, a negative number of less than ten bytes.
  it('writes what protobufjs writes, in exactly as many bytes as it said', () => {
    fc.assert(
      fc.property(response, (answer) => {
        expect(decode(unaryType, written(new Answer(template, answer, 'unsaid')))).toEqual(
          decode(unaryType, encode(unaryType, fieldsOf(answer))),
        );
      }),
      propertyParameters(),
    );
  });

  it('wraps it for a stream, with triton_final_response', () => {
    fc.assert(
      fc.property(response, fc.constantFrom('last' as const, 'more' as const), (answer, finality) => {
        const more = { triton_final_response: { bool_param: finality === 'last' } };
        expect(decode(streamType, written(new Answer(template, answer, finality)))).toEqual(
          decode(streamType, encode(streamType, { infer_response: fieldsOf(answer, more) })),
        );
      }),
      propertyParameters(),
    );
  });

  it('keeps its bytes when told to, whatever becomes of the tensors', () => {
    fc.assert(
      fc.property(response, (answer) => {
        const kept = new Answer(template, answer, 'last');
        const expected = written(new Answer(template, answer, 'last'));
        kept.keep();
        for (const { buffer } of answer.outputs.values()) buffer.fill(0xee);
        expect(written(kept)).toEqual(expected);
      }),
      propertyParameters(),
    );
  });
});

describe('errors in a stream', () => {
  it('are what protobufjs writes', () => {
    fc.assert(
      fc.property(text, text, text, text, fc.boolean(), (id, modelName, modelVersion, message, isLast) => {
        expect(decode(streamType, issueError(id, message))).toEqual(
          decode(streamType, encode(streamType, { error_message: message, infer_response: { id } })),
        );
        expect(decode(streamType, answerError({ id, modelName, modelVersion }, message, isLast ? 'last' : 'more'))).toEqual(
          decode(
            streamType,
            encode(streamType, {
              error_message: message,
              infer_response: {
                id,
                model_name: modelName,
                model_version: modelVersion,
                parameters: { triton_final_response: { bool_param: isLast } },
              },
            }),
          ),
        );
      }),
      propertyParameters(),
    );
  });
});
