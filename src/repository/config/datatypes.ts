import type { Datatype } from '../../streams/tensors/datatype.ts';
import { isDatatype } from '../../streams/tensors/datatype.ts';

/** A config's `TYPE_FP32` as the wire's `FP32`, `TYPE_STRING` as `BYTES`; undefined for TYPE_INVALID. */
export const datatypeOf = (configType: string): Datatype | undefined => {
  if (configType === 'TYPE_STRING') return 'BYTES';
  const name = configType.slice('TYPE_'.length);
  return isDatatype(name) && name !== 'BYTES' ? name : undefined;
};

export const configTypeOf = (datatype: Datatype): string => (datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`);
