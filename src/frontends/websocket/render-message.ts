import type { InferError } from '../../streams/inference/error.ts';
import type { Rendering } from '../../streams/inference/json/rendering.ts';
import { writeResponse } from '../../streams/inference/json/write-response.ts';
import type { InferResponse } from '../../streams/inference/response.ts';
import type { Frames } from './frames.ts';

const final = { triton_final_response: true };
const notFinal = { triton_final_response: false };

/**
 * Final when the response says that it is the last. Reads its tensors before it returns, since they are valid no longer than `next()`.
 *
 * @throws InferError for what JSON cannot carry
 */
export const renderResponse = (frames: Frames, response: InferResponse, rendering: Rendering): Buffer => {
  const { head, tensors } = writeResponse(response, rendering, response.isLast ? final : notFinal);
  return frames.join(head, tensors);
};

/** `id` is `''` for a message that could not be read. Others follow for this id only where it is an answer of a decoupled model that has failed. */
export const renderError = (frames: Frames, id: string, { message, code }: InferError, finality: 'last' | 'more'): Buffer =>
  frames.join(JSON.stringify({ id, error: message, code, parameters: finality === 'last' ? final : notFinal }), []);
