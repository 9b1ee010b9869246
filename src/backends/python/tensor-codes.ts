import type { Datatype } from '../../streams/tensors/datatype.ts';

/** Datatypes by their number in Triton's interface; `stub/weir_stub/datatypes.py` has the same numbers. */
const byCode: readonly (Datatype | undefined)[] = [
  undefined,
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
];

const codes: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  UINT8: 2,
  UINT16: 3,
  UINT32: 4,
  UINT64: 5,
  INT8: 6,
  INT16: 7,
  INT32: 8,
  INT64: 9,
  FP16: 10,
  FP32: 11,
  FP64: 12,
  BYTES: 13,
  BF16: 14,
};

export const codeOf = (datatype: Datatype): number => codes[datatype];

export const datatypeOf = (code: number): Datatype | undefined => byCode[code];
