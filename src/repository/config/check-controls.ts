import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigControl, ConfigControlInput, ModelConfig } from './model-config.ts';
import { idsOf } from './sequence-ids.ts';

const choices = "'int32_false_true', 'fp32_false_true' or 'bool_false_true'";

interface Choice {
  readonly field: string;
  readonly entries: readonly unknown[];
}

const choicesOf = ({ int32_false_true, fp32_false_true, bool_false_true }: ConfigControl): readonly Choice[] =>
  [
    { field: 'int32_false_true', entries: int32_false_true },
    { field: 'fp32_false_true', entries: fp32_false_true },
    { field: 'bool_false_true', entries: bool_false_true },
  ].filter(({ entries }) => entries.length > 0);

const checkFlag = (name: string, control: ConfigControl, field: string): readonly Finding[] => {
  const end = `for ${control.kind} for ${name}`;
  const given = choicesOf(control);
  const [first, second] = given;
  if (first === undefined) return [fault(field, `sequence batching must specify either ${choices} ${end}`)];
  if (second !== undefined) {
    const text = `sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and 'bool_false_true' ${end}`;
    return [fault(`${field}.${second.field}`, text)];
  }
  if (first.entries.length === 2) return [];
  const text = `sequence batching control '${first.field}' must have exactly 2 entries ${end}`;
  return [fault(`${field}.${first.field}`, text, { wanted: '[ false, true ]', got: `[${first.entries.join(',')}]` })];
};

const checkId = (name: string, control: ConfigControl, field: string): readonly Finding[] => {
  const [given] = choicesOf(control);
  if (given !== undefined) {
    const text = `sequence batching must not specify either ${choices} for ${control.kind} for ${name}`;
    return [fault(`${field}.${given.field}`, text)];
  }
  if (idsOf(control.data_type) !== undefined) return [];
  const text = `unexpected data type for control ${control.kind} for ${name}. Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING`;
  return [fault(`${field}.data_type`, text, { got: control.data_type })];
};

/** What Triton loads though it looks wrong. */
const checkOdd = ({ name, input }: ModelConfig, { name: tensor, control }: ConfigControlInput, field: string): readonly Finding[] => {
  const findings: Finding[] = [];
  if (control.length === 0) findings.push(warning(field, `sequence batching control tensor '${tensor}' has no control for ${name}`));
  if (control.length > 1) {
    findings.push(warning(field, `sequence batching control tensor '${tensor}' has several kinds for ${name}, and one value`));
  }
  if (input.some((each) => each.name === tensor)) {
    const text = `sequence batching control tensor '${tensor}' is an input of model ${name} too: what clients send there is replaced`;
    findings.push(warning(`${field}.name`, text));
  }
  return findings;
};

/** Faults of the control inputs of a sequence model. */
export const checkControls = (config: ModelConfig, inputs: readonly ConfigControlInput[]): readonly Finding[] => {
  const { name } = config;
  const findings: Finding[] = [];
  const tensors = new Set<string>();
  const kinds = new Set<string>();
  inputs.forEach((input, index) => {
    const field = `sequence_batching.control_input[${index}]`;
    if (input.name === '') findings.push(fault(field, `sequence batching control tensor must have a name for ${name}`));
    else if (tensors.has(input.name)) {
      const text = `sequence batching control tensor '${input.name}' is specified for multiple control kinds for ${name}`;
      findings.push(fault(`${field}.name`, text));
    }
    tensors.add(input.name);
    findings.push(...checkOdd(config, input, field));
    input.control.forEach((control, at) => {
      const here = `${field}.control[${at}]`;
      if (kinds.has(control.kind))
        findings.push(fault(`${here}.kind`, `sequence batching specifies multiple ${control.kind} tensors for ${name}`));
      kinds.add(control.kind);
      findings.push(...(control.kind === 'CONTROL_SEQUENCE_CORRID' ? checkId : checkFlag)(name, control, here));
    });
  });
  return findings;
};
