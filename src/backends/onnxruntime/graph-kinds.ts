import protobuf from 'protobufjs';

const { Reader } = protobuf;

type Fields = ReadonlyMap<number, readonly (Uint8Array | number)[]>;

/** Fields of one message by number: embedded ones as bytes, small integers as numbers, the rest left out. */
const fieldsOf = (message: Uint8Array): Fields => {
  const reader = Reader.create(message);
  const fields = new Map<number, (Uint8Array | number)[]>();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const number = tag >>> 3;
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if ((tag & 7) === 2) values.push(reader.bytes());
    else if ((tag & 7) === 0) values.push(reader.uint32());
    else reader.skipType(tag & 7);
  }
  return fields;
};

const messagesAt = (fields: Fields, number: number): readonly Uint8Array[] =>
  (fields.get(number) ?? []).filter((value) => typeof value !== 'number');

const elementNames: readonly string[] =
  'UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 BF16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ UINT4 INT4 FLOAT4E2M1'.split(
    ' ',
  );

const elementName = (fields: Fields): string => {
  const number = fields.get(1)?.find((value) => typeof value === 'number') ?? 0;
  return elementNames[number] ?? `element type ${number}`;
};

/** A `TypeProto` in words: `BF16 tensor`, `sequence of map from INT64 to FLOAT tensor`. */
const kindOf = (type: Uint8Array | undefined): string => {
  if (type === undefined) return 'value of unknown type';
  const fields = fieldsOf(type);
  const [tensor, sequence, map, optional, sparse] = [1, 4, 5, 9, 8].map((number) => messagesAt(fields, number)[0]);
  if (tensor !== undefined) return `${elementName(fieldsOf(tensor))} tensor`;
  if (sequence !== undefined) return `sequence of ${kindOf(messagesAt(fieldsOf(sequence), 1)[0])}`;
  if (map !== undefined) return `map from ${elementName(fieldsOf(map))} to ${kindOf(messagesAt(fieldsOf(map), 2)[0])}`;
  if (optional !== undefined) return `optional ${kindOf(messagesAt(fieldsOf(optional), 1)[0])}`;
  if (sparse !== undefined) return `sparse ${elementName(fieldsOf(sparse))} tensor`;
  return 'value of unknown type';
};

/**
 * What the inputs and outputs of an ONNX file are, in words, by name. onnxruntime-node tells only of the tensors that it can carry; this
 * names the others. Reads `ModelProto.graph` (7) and its `input` (11) and `output` (12), and throws when the bytes are no protobuf.
 */
export const graphKinds = (model: Uint8Array): ReadonlyMap<string, string> => {
  const kinds = new Map<string, string>();
  for (const graph of messagesAt(fieldsOf(model), 7)) {
    const fields = fieldsOf(graph);
    for (const value of [...messagesAt(fields, 11), ...messagesAt(fields, 12)]) {
      const parts = fieldsOf(value);
      const name = messagesAt(parts, 1)[0];
      if (name !== undefined) kinds.set(Buffer.from(name).toString(), kindOf(messagesAt(parts, 2)[0]));
    }
  }
  return kinds;
};
