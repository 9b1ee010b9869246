/** Headers that are the transport's own and no business of a call. */
const ofTransport = new Set(['grpc-timeout', 'grpc-encoding', 'grpc-accept-encoding', 'accept-encoding', 'te', 'content-type']);

const isOfCall = (name: string): boolean => !name.startsWith(':') && !ofTransport.has(name);

/** gRPC marks keys of binary values by their end; these travel as base64, several in one header with commas between them. */
const isBinary = (name: string): boolean => name.endsWith('-bin');

const decode = (value: string): string => Buffer.from(value, 'base64').toString();

/** What a client says of a call in its headers, in the order in which they came. */
export class Metadata {
  /** Names and values in turn, as HTTP/2 gives them: names are in small letters. */
  readonly #headers: readonly string[];

  constructor(headers: readonly string[]) {
    this.#headers = headers;
  }

  /** The values of binary keys are read as UTF-8. */
  *entries(): Generator<readonly [name: string, value: string]> {
    for (let at = 0; at + 1 < this.#headers.length; at += 2) {
      const [name = '', value = ''] = this.#headers.slice(at, at + 2);
      if (!isOfCall(name)) continue;
      if (!isBinary(name)) yield [name, value];
      else for (const part of value.split(',')) yield [name, decode(part)];
    }
  }

  /** Whether there is such a header with exactly this value. */
  has(name: string, value: string): boolean {
    for (let at = 0; at + 1 < this.#headers.length; at += 2) {
      if (this.#headers[at] === name && this.#headers[at + 1] === value) return true;
    }
    return false;
  }
}
