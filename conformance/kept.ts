/** A difference that is kept on purpose. */
export interface Kept {
  /** Of the cases' names. */
  readonly cases: RegExp;
  /** Of the difference's path. */
  readonly path: RegExp;
  readonly difference: string;
  readonly reason: string;
}

/** Every difference that is not in this list is a fault. `npm run conformance` fails on one, and on an entry here that nothing needs any more. */
export const kept: readonly Kept[] = [
  {
    cases: /^GET \/v2(\?.*)?$|^gRPC ServerMetadata/,
    path: /extensions\[\d+\]$/,
    difference: 'the server metadata lists fewer extensions',
    reason: 'It lists those that are there.',
  },
  {
    cases: /repository\/index .*"yes"/,
    path: /^(status|body\.error)$/,
    difference: "an index request whose `ready` is no boolean is 400 `Invalid value for 'ready': expected a boolean`",
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /(FP16|BF16) binary to JSON$/,
    path: /^body\.error$/,
    difference: 'the error that FP16 cannot be sent as JSON names the output',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /too few values$/,
    path: /^body\.error$/,
    difference: "too few values in JSON `data` are `Failed to parse 'data' field: shape does not match true shape`",
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /too (few|many) strings$/,
    path: /^(status|body\.error)$/,
    difference: 'a wrong number of strings in JSON `data` gets the error that any other datatype gets',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /header length (no number|beyond 32 bits)$/,
    path: /^body\.error$/,
    difference: 'a header length that is no 32-bit number is refused as such',
    reason: 'So do newer versions of Triton; 2.51 takes `abc` for 0, and the body for a raw tensor.',
  },
  {
    cases: /raw body of the wrong size$/,
    path: /^body\.error$/,
    difference: "the error on a raw body's size names the model's input instead of `raw_input`",
    reason: 'It is the name that the user knows.',
  },
  {
    cases: /gzip that is none$/,
    path: /^(status|body\..*)$/,
    difference: 'a body that cannot be decompressed is 400',
    reason: '2.51 goes on with nothing and may answer 200.',
  },
  {
    cases: /two inputs that disagree in rows$/,
    path: /^body\.error$/,
    difference: 'of two inputs that disagree in rows the second is named',
    reason: "Triton's order is that of a hash table.",
  },
];
