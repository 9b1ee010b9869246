/** What a client saw of one answer: plain data, ready to be compared. */
export type Answer = Readonly<Record<string, unknown>>;

interface InferMessage {
  readonly model_name: string;
  readonly id: string;
  readonly parameters: Readonly<Record<string, object>>;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly string[] }[];
  /** In base64. */
  readonly raw_output_contents: readonly string[];
}

const stringsOf = (bytes: Buffer): readonly string[] => {
  const strings: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at);
    strings.push(bytes.toString('utf8', at + 4, end));
    at = end;
  }
  return strings;
};

const valuesOf = (datatype: string, bytes: Buffer): unknown => {
  if (datatype === 'BYTES') return stringsOf(bytes);
  const copy = Uint8Array.from(bytes).buffer;
  if (datatype === 'INT32') return [...new Int32Array(copy)];
  return datatype === 'FP32' ? [...new Float32Array(copy)] : bytes.toString('hex');
};

/** The first row of a report, which is the same in each, as what it says. */
const reported = (shape: readonly number[], values: unknown): unknown =>
  Array.isArray(values) && typeof values[0] === 'string' && values[0].startsWith('{') ? { shape, says: JSON.parse(values[0]) } : values;

/** Of `ModelInferResponse`, as plain data with bytes in base64. */
export const answerOf = (message: InferMessage): Answer => {
  const outputs = message.outputs.map(({ name, datatype, shape }, index) => {
    const values = valuesOf(datatype, Buffer.from(message.raw_output_contents[index] ?? '', 'base64'));
    const dims = shape.map(Number);
    return [name, name === 'REPORT' ? reported(dims, values) : { datatype, shape: dims, values }];
  });
  return { model: message.model_name, parameters: message.parameters, outputs: Object.fromEntries(outputs) };
};
