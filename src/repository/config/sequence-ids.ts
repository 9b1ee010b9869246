import type { ControlInput } from '../../streams/inference/model-spec.ts';

type IdDatatype = Extract<ControlInput, { readonly kind: 'CORRID' }>['datatype'];

const idDatatypes: ReadonlyMap<string, IdDatatype> = new Map([
  ['TYPE_UINT64', 'UINT64'],
  ['TYPE_INT64', 'INT64'],
  ['TYPE_UINT32', 'UINT32'],
  ['TYPE_INT32', 'INT32'],
  ['TYPE_STRING', 'BYTES'],
]);

/** How a control input holds sequence ids; undefined for a type that it cannot have. */
export const idsOf = (configType: string): IdDatatype | undefined => idDatatypes.get(configType);
