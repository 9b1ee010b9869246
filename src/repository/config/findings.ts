import { type ErrorCode, InferError } from '../../streams/inference/error.ts';

/** Something wrong with a config. `field` is a path such as `input[0].dims` or `parameters["k"]`; `''` for the whole file. */
export interface Finding {
  /** A fault fails the load; what Triton loads though it looks wrong is a warning. */
  readonly severity: 'fault' | 'warning';
  /** Of a fault; INVALID_ARGUMENT where it is left out. */
  readonly code?: ErrorCode;
  /** Triton's sentence where there is one. */
  readonly text: string;
  readonly field: string;
  readonly wanted?: string;
  readonly got?: string;
}

type Details = Pick<Finding, 'code' | 'wanted' | 'got'>;

export const fault = (field: string, text: string, details: Details = {}): Finding => ({ severity: 'fault', field, text, ...details });

export const warning = (field: string, text: string, details: Details = {}): Finding => ({ severity: 'warning', field, text, ...details });

/** A place in a config's text, both counted from 1. `column` is 0 where only the line is known. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A finding with the file it is in and, where known, its place there. */
export interface LocatedFinding extends Finding {
  /** Path of the config; `''` for a model without one. */
  readonly file: string;
  readonly place: Place | undefined;
}

const where = ({ file, place, field, wanted, got }: LocatedFinding): string => {
  const position = place === undefined ? '' : `:${place.line}${place.column > 0 ? `:${place.column}` : ''}`;
  const parts = [file === '' ? 'no config.pbtxt' : `${file}${position}`];
  if (field !== '') parts.push(`field ${field}`);
  if (wanted !== undefined) parts.push(`wanted ${wanted}`);
  if (got !== undefined) parts.push(`got ${got}`);
  return parts.join(', ');
};

/** `text (file:line, field …, wanted …, got …)`: the sentence first, since clients look for it. */
export const describeFinding = (finding: LocatedFinding): string => `${finding.text} (${where(finding)})`;

/** That of all faults, where they have the same. */
const codeOf = (faults: readonly Finding[]): ErrorCode => {
  const [code = 'INVALID_ARGUMENT', ...others] = new Set(faults.map((each) => each.code ?? 'INVALID_ARGUMENT'));
  return others.length === 0 ? code : 'INVALID_ARGUMENT';
};

/** Everything that is wrong with one config, as one error. */
export class ConfigFaults extends InferError {
  readonly faults: readonly LocatedFinding[];

  constructor(faults: readonly LocatedFinding[]) {
    super(codeOf(faults), faults.map(describeFinding).join('; '));
    this.faults = faults;
  }
}
