import type { Finding, LocatedFinding } from './config/findings.ts';
import type { ReadModel } from './read-model.ts';

/** Findings with their places in the config's text. */
export const locate = ({ written }: Pick<ReadModel, 'written'>, findings: readonly Finding[]): readonly LocatedFinding[] =>
  findings.map((finding) => ({
    ...finding,
    file: written.file,
    place: finding.field === '' ? undefined : written.positions?.find(finding.field),
  }));
