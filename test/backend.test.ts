import { expect, expectTypeOf, it } from 'vitest';
import {
  defineModel,
  type ExecuteContext,
  type Model,
  ModelError,
  type ModelRequest,
  type ModelTensor,
  perRequest,
} from '../src/backend.ts';

it('gives a model back as it is', () => {
  const model: Model = { execute: () => [] };
  expect(defineModel(model)).toBe(model);
});

it('types the elements of a tensor by its datatype', () => {
  const model = defineModel({
    async execute(requests, context) {
      const [request] = requests;
      if (request === undefined) return [];
      expectTypeOf(request.input('A', 'FP32').data).toEqualTypeOf<Float32Array>();
      expectTypeOf(request.input('A', 'BYTES').data).toEqualTypeOf<readonly Buffer[]>();
      expectTypeOf(request.optionalInput('A', 'UINT64')).toEqualTypeOf<ModelTensor<'UINT64'> | undefined>();
      expectTypeOf(context.allocate('BF16', [1])).toEqualTypeOf<Uint16Array>();
      expectTypeOf(
        (await context.infer({ model: 'm', inputs: { X: request.input('A') } })).output('B', 'INT8').data,
      ).toEqualTypeOf<Int8Array>();
      return [{ outputs: { OUT: request.input('A'), MADE: { shape: [1], data: ['text'] } } }, new ModelError('no', 'NOT_FOUND'), undefined];
    },
  });
  expect(model.execute).toBeTypeOf('function');
  expectTypeOf(
    defineModel({
      async *execute([request]) {
        yield { request, isLast: true };
      },
    }),
  ).toEqualTypeOf<Model>();
});

const [first, second] = [{ id: '1' }, { id: '2' }] as unknown as [ModelRequest, ModelRequest];
const context = {} as ExecuteContext;

it('answers at once for a handler that does, and later for one that does not', async () => {
  const handle = (request: ModelRequest) => {
    if (request === second) throw new RangeError('far');
    return { parameters: { id: request.id } };
  };
  const [answer, error] = await perRequest(handle)([first, second], context);
  expect(Array.isArray(perRequest(handle)([first], context))).toBe(true);
  expect([answer, error]).toEqual([{ parameters: { id: '1' } }, new ModelError('far')]);
  const later = perRequest(async (request) => handle(request))([first, second], context);
  expect([later instanceof Promise, await later]).toEqual([true, [{ parameters: { id: '1' } }, new ModelError('far')]]);
});
