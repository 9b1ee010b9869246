import type { Tensor as OrtTensor } from 'onnxruntime-node';
import type { Datatype } from '../../streams/tensors/datatype.ts';

/** The datatypes that onnxruntime-node can carry: all but BF16. */
export type CarriedDatatype = Exclude<Datatype, 'BF16'>;

const datatypes: Readonly<Partial<Record<OrtTensor.Type, CarriedDatatype>>> = {
  bool: 'BOOL',
  uint8: 'UINT8',
  uint16: 'UINT16',
  uint32: 'UINT32',
  uint64: 'UINT64',
  int8: 'INT8',
  int16: 'INT16',
  int32: 'INT32',
  int64: 'INT64',
  float16: 'FP16',
  float32: 'FP32',
  float64: 'FP64',
  string: 'BYTES',
};

/** The protocol's name of an ONNX Runtime element type; undefined for one that the protocol does not have (4-bit integers). */
export const datatypeOf = (type: OrtTensor.Type): CarriedDatatype | undefined => datatypes[type];
