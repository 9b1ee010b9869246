import type { InferRequest } from '../../src/streams/inference/request.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { makeRequest } from '../../test/support/model.ts';

/** A request without id, and the number of the content that it equals, if it is not the first with it. */
interface Content {
  readonly request: InferRequest;
  readonly same?: number;
}

const bytes = Buffer.from(Array.from({ length: 16 }, (_, n) => n));

const withInput = (tensor: Tensor, fields: Partial<InferRequest> = {}): InferRequest =>
  makeRequest({ ...fields, inputs: new Map([['IN', tensor]]) });

const plain = new Tensor('UINT8', [2, 8], bytes);
const asked = (...names: readonly string[]) => names.map((name) => ({ name, classification: 0 }));

/** Few contents that are easy to take for each other. */
export const contents: readonly Content[] = [
  { request: withInput(plain) },
  { request: withInput(new Tensor('UINT8', [4, 4], bytes)) },
  { request: withInput(new Tensor('INT8', [2, 8], bytes)) },
  { request: withInput(plain, { parameters: new Map([['p', 1n]]) }) },
  { request: withInput(plain, { parameters: new Map([['p', '1']]) }) },
  { request: withInput(plain, { outputs: asked('OUT') }) },
  { request: withInput(plain, { outputs: asked('OUT', 'OTHER') }) },
  { request: withInput(plain, { outputs: asked('OTHER', 'OUT') }), same: 6 },
  { request: withInput(new Tensor('UINT8', [2, 8], Buffer.concat([bytes, bytes]), 16, 32), { sequenceId: 3n, priority: 1n }), same: 0 },
];
