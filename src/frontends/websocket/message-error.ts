import type { ErrorCode } from '../../streams/inference/error.ts';
import { InferError } from '../../streams/inference/error.ts';

/** A message that begins no request. */
export class MessageError extends InferError {
  /** Which request the answer names; `''` for a message that cannot be read as a whole. */
  readonly id: string;

  constructor(id: string, code: ErrorCode, message: string) {
    super(code, message);
    this.id = id;
  }
}
