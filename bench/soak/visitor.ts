import type { Target } from './target.ts';

/** A client that comes, does one thing, and goes. Its visit rejects when the server did not do what it should. */
export interface Visitor {
  readonly name: string;
  visit(target: Target): Promise<void>;
}

/** @throws Error that says what was wanted and what came */
export const expectSame = (what: string, wanted: unknown, got: unknown): void => {
  if (wanted !== got) throw new Error(`${what}: wanted ${wanted}, got ${got}`);
};

/** Somewhere in the time that the slow model takes, or shortly after it. */
export const someMs = (): number => Math.random() * 30;
