import type { Parameters } from '../../streams/inference/parameters.ts';
import { parametersLength, writeParameters } from './wire/parameter-writer.ts';

/** Parameters that come again and again, as one object, are encoded once. */
export class KnownParameters {
  #parameters: Parameters | undefined;
  #bytes: Buffer | undefined;

  /** Undefined for parameters that were not there the last time: it may well be that they do not come again. */
  bytesOf(parameters: Parameters): Buffer | undefined {
    if (parameters !== this.#parameters) {
      this.#parameters = parameters;
      this.#bytes = undefined;
      return undefined;
    }
    if (this.#bytes === undefined) {
      this.#bytes = Buffer.allocUnsafeSlow(parametersLength(parameters));
      writeParameters(this.#bytes, 0, parameters);
    }
    return this.#bytes;
  }
}
