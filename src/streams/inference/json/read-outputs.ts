import { InferError } from '../error.ts';
import type { RequestedOutput } from '../request.ts';
import { asBoolean, asUnsigned, findMember, type ReadInteger, requireArray, requireString } from './json-members.ts';
import type { Rendering } from './rendering.ts';

interface RequestedOutputs {
  readonly outputs: readonly RequestedOutput[];
  readonly rendering: Rendering;
}

const binaryByDefault: RequestedOutputs = { outputs: [], rendering: { listed: undefined, otherwise: 'binary' } };
const jsonByDefault: RequestedOutputs = { outputs: [], rendering: { listed: undefined, otherwise: 'json' } };

/**
 * Reads `outputs`; the same output named twice counts once. What is listed is binary only when it says so itself: `otherwise` is for answers to
 * requests that list none.
 *
 * @throws InferError
 */
export const readOutputs = (root: unknown, readInteger: ReadInteger, otherwise: Rendering['otherwise']): RequestedOutputs => {
  const wanted = findMember(root, 'outputs') === undefined ? [] : requireArray(root, 'outputs');
  if (wanted.length === 0) return otherwise === 'binary' ? binaryByDefault : jsonByDefault;
  const outputs: RequestedOutput[] = [];
  const listed = new Map<string, Rendering['otherwise']>();
  for (const output of wanted) {
    const parameters = findMember(output, 'parameters');
    checkCombination(parameters);
    const name = requireString(output, 'name');
    const classes = findMember(parameters, 'classification');
    const classification = classes === undefined ? 0 : Number(asUnsigned(classes, readInteger, "Unable to set 'classification'"));
    if (findMember(parameters, 'shared_memory_region') !== undefined) {
      throw new InferError('UNIMPLEMENTED', `'shared_memory_region' of output '${name}' is not supported by this version of Weir`);
    }
    const isBinary = readBinary(parameters);
    if (listed.has(name)) continue;
    outputs.push({ name, classification });
    listed.set(name, isBinary ? 'binary' : 'json');
  }
  return { outputs, rendering: { listed, otherwise: 'json' } };
};

const readBinary = (parameters: unknown): boolean => {
  const binary = findMember(parameters, 'binary_data');
  return binary !== undefined && asBoolean(binary, 'binary_data');
};

const checkCombination = (parameters: unknown): void => {
  if (findMember(parameters, 'shared_memory_region') === undefined) return;
  if (findMember(parameters, 'classification') !== undefined) {
    throw new InferError('INVALID_ARGUMENT', "Output can't set both 'shared_memory_region' and 'classification'");
  }
  if (findMember(parameters, 'binary_data') === true) {
    throw new InferError('INVALID_ARGUMENT', "Output can't set both 'shared_memory_region' and 'binary_data'");
  }
};
