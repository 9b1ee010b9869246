import protobuf from 'protobufjs';
import type { FieldRow } from './fields.ts';
import { fieldRows } from './fields.ts';
import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ModelConfig } from './model-config.ts';
import { modelConfigType } from './proto.ts';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `ModelInput`, `ModelVersionPolicy.Latest`. */
export const messageName = (type: protobuf.Type): string => type.fullName.slice('.inference.'.length);

/** Whether the user has set the field to anything but its default. */
const isSet = (field: protobuf.Field, value: unknown): boolean => {
  if (value === undefined) return false;
  if (field.map) return Object.keys(isFields(value) ? value : {}).length > 0;
  if (Array.isArray(value)) return value.length > 0;
  if (field.resolvedType instanceof protobuf.Type) return true;
  if (field.resolvedType instanceof protobuf.Enum) return value !== field.resolvedType.valuesById[0];
  return !(value === '' || value === false || value === 0 || value === '0');
};

const refusal = (row: FieldRow, field: string, model: string): Finding => {
  const text = row.text ?? `'${field}' is not supported by this version of Weir`;
  return fault(field, `${text} for ${model}`);
};

const walk = (type: protobuf.Type, message: Fields, path: string, model: string): readonly Finding[] =>
  type.fieldsArray.flatMap((field) => {
    const value = message[field.name];
    if (!isSet(field, value)) return [];
    const here = `${path}${field.name}`;
    const row = fieldRows[messageName(type)]?.[field.name];
    if (row === undefined || row.decision === 'refused') return [refusal(row ?? { decision: 'refused', note: '' }, here, model)];
    const inner = field.resolvedType;
    if (!(inner instanceof protobuf.Type) || field.map) return [];
    if (Array.isArray(value)) return value.flatMap((item, index) => (isFields(item) ? walk(inner, item, `${here}[${index}].`, model) : []));
    return isFields(value) ? walk(inner, value, `${here}.`, model) : [];
  });

const checkParameters = (config: ModelConfig): readonly Finding[] =>
  Object.keys(config.parameters).flatMap((key) => {
    const field = `parameters["${key}"]`;
    if (key === '') return [warning(field, `a parameter of model ${config.name} has no key`)];
    return [];
  });

/** A fault for every field that the config sets and this version does not have. */
export const checkFields = (config: ModelConfig): readonly Finding[] => [
  ...walk(modelConfigType, { ...config }, '', config.name),
  ...checkParameters(config),
];
