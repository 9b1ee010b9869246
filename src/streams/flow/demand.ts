/**
 * Whether whoever takes what a producer makes has room for more. A producer that cannot wait may take no notice: what it makes is bounded elsewhere. It is open
 * once nobody takes anything any more, so that no producer waits for someone who has gone.
 */
export interface Demand {
  /** Asked before each thing that is made. */
  readonly isOpen: boolean;
  /** Set by a producer that waits, one at most: called each time it opens again, perhaps while the producer itself emits. */
  onOpen: (() => void) | undefined;
}
