/** The tensor element types of the KServe v2 protocol, by their names on the wire. */
export const datatypes = [
  'BOOL',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP16',
  'FP32',
  'FP64',
  'BYTES',
  'BF16',
] as const;

export type Datatype = (typeof datatypes)[number];

const byteSizes: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
  BF16: 2,
};

/** Bytes of one element; 0 for BYTES, whose elements differ in size. */
export const elementByteSize = (datatype: Datatype): number => byteSizes[datatype];

/** Names are case-sensitive, as in Triton. */
export const isDatatype = (name: string): name is Datatype => Object.hasOwn(byteSizes, name);
