import type { Files } from './folders.ts';

const lists = (tensors: Readonly<Record<string, string>>, kind: string): string =>
  Object.entries(tensors)
    .map(([name, rest]) => `${kind} { name: "${name}" data_type: ${rest} }`)
    .join('\n');

export interface ModelText {
  /** Name to type and dims: `TYPE_FP32 dims: 4`. */
  readonly in?: Readonly<Record<string, string>>;
  readonly out?: Readonly<Record<string, string>>;
  readonly rest?: string;
  readonly versions?: readonly string[];
}

const inFolder = (name: string, config: string, versions: readonly string[] = ['1']): Files => ({
  [`${name}/config.pbtxt`]: config,
  ...Object.fromEntries(versions.map((version) => [`${name}/${version}/`, ''])),
});

/** A model of the identity backend: X to Y, of FP32 [4]. */
export const identityModel = (
  name: string,
  { in: ins = { X: 'TYPE_FP32 dims: 4' }, out = { Y: 'TYPE_FP32 dims: 4' }, rest = '', versions = ['1'] }: ModelText = {},
): Files => inFolder(name, `backend: "identity"\n${lists(ins, 'input')}\n${lists(out, 'output')}\n${rest}`, versions);

export interface StepText {
  readonly model: string;
  readonly version?: number;
  readonly in: Readonly<Record<string, string>>;
  readonly out: Readonly<Record<string, string>>;
}

const map = (kind: string, entries: Readonly<Record<string, string>>): string =>
  Object.entries(entries)
    .map(([key, value]) => `${kind}_map { key: "${key}" value: "${value}" }`)
    .join(' ');

export const stepText = ({ model, version = -1, in: ins, out }: StepText): string =>
  `{ model_name: "${model}" model_version: ${version} ${map('input', ins)} ${map('output', out)} }`;

/** An ensemble: IN to OUT, of FP32 [4]; each step stands on a line of its own. */
export const ensembleModel = (
  name: string,
  steps: readonly StepText[],
  {
    in: ins = { IN: 'TYPE_FP32 dims: 4' },
    out = { OUT: 'TYPE_FP32 dims: 4' },
    rest = '',
    versions = ['1'],
  }: ModelText & { readonly more?: string } = {},
  more = '',
): Files =>
  inFolder(
    name,
    `platform: "ensemble"\n${rest}\n${lists(ins, 'input')}\n${lists(out, 'output')}\nensemble_scheduling { ${more} step [\n${steps.map(stepText).join(',\n')}\n] }`,
    versions,
  );

/** a, then b: two models of the identity backend. */
export const chain: readonly StepText[] = [
  { model: 'a', in: { X: 'IN' }, out: { Y: 't' } },
  { model: 'b', in: { X: 't' }, out: { Y: 'OUT' } },
];
