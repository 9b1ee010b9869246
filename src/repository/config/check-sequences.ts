import { checkControls } from './check-controls.ts';
import { checkStates } from './check-states.ts';
import type { Finding } from './findings.ts';
import { fault, warning } from './findings.ts';
import type { ConfigSequenceBatching, ModelConfig } from './model-config.ts';

const checkOldest = ({ name, max_batch_size }: ModelConfig, oldest: NonNullable<ConfigSequenceBatching['oldest']>): readonly Finding[] => {
  const findings: Finding[] = [];
  const at = 'sequence_batching.oldest';
  oldest.preferred_batch_size.forEach((size, index) => {
    const field = `${at}.preferred_batch_size[${index}]`;
    const details = { wanted: `1 to ${max_batch_size}`, got: String(size) };
    if (size <= 0) findings.push(fault(field, `sequence batching preferred batch size must be positive for ${name}`, details));
    else if (size > max_batch_size) {
      findings.push(fault(field, `sequence batching preferred batch size must be <= max batch size for ${name}`, details));
    }
  });
  const candidates = oldest.max_candidate_sequences;
  if (candidates < 0) {
    const text = `a negative 'max_candidate_sequences' is taken for none for ${name}`;
    findings.push(warning(`${at}.max_candidate_sequences`, text, { got: String(candidates) }));
  }
  return findings;
};

const checkDirect = (name: string, utilization: number): readonly Finding[] => {
  // Triton's sentence shuts out 0, which is the default.
  if (utilization >= 0 && utilization <= 1) return [];
  const text = `sequence batching minimum slot utilization must be in range (0.0, 1.0] for ${name}`;
  return [fault('sequence_batching.direct.minimum_slot_utilization', text, { wanted: '0 to 1', got: String(utilization) })];
};

/** Faults of `sequence_batching`. */
export const checkSequences = (config: ModelConfig): readonly Finding[] => {
  const { name, sequence_batching: sequences } = config;
  if (sequences === undefined) return [];
  return [
    ...checkControls(config, sequences.control_input),
    ...checkStates(name, sequences.state),
    ...(sequences.oldest === undefined ? [] : checkOldest(config, sequences.oldest)),
    ...(sequences.direct === undefined ? [] : checkDirect(name, sequences.direct.minimum_slot_utilization)),
  ];
};
