import { noParameters, type Parameters, type ParameterValue } from '../../streams/inference/parameters.ts';

const valueText = (value: ParameterValue): string => (typeof value === 'bigint' ? String(value) : JSON.stringify(value));

/** Parameters as the JSON object that Python models read; `''` for none. */
export const parametersText = (parameters: Parameters): string => {
  if (parameters.size === 0) return '';
  const members: string[] = [];
  for (const [key, value] of parameters) members.push(`${JSON.stringify(key)}:${valueText(value)}`);
  return `{${members.join(',')}}`;
};

/** What a model's process wrote: an object of booleans, integers and strings. */
export const parseParameters = (text: string): Parameters => {
  if (text === '') return noParameters;
  const parsed = JSON.parse(text, (_key, value: unknown, { source }) =>
    typeof value === 'number' && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value,
  );
  const parameters = new Map<string, ParameterValue>();
  if (typeof parsed !== 'object' || parsed === null) return parameters;
  for (const [key, value] of Object.entries(parsed)) {
    if (typeof value === 'boolean' || typeof value === 'string' || typeof value === 'bigint' || typeof value === 'number')
      parameters.set(key, value);
  }
  return parameters;
};
