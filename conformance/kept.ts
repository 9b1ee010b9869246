/** A difference that is kept on purpose. */
export interface Kept {
  /** Of the case's name. */
  readonly cases: RegExp;
  /** Of the difference's path. */
  readonly path: RegExp;
  readonly reason: string;
}

/** Every difference that is not in this list is a fault. `npm run conformance` fails on one, and on an entry here that nothing needs any more. */
export const kept: readonly Kept[] = [];
