/** What one load sends and expects. */
export interface Messages {
  /** For each slot a gRPC message, a WebSocket payload, or a whole HTTP request. */
  readonly requests: readonly Buffer[];
  /** What is wrong with an answer, read in full. `jsonBytes` is HTTP's header length. */
  faultOf(slot: number, answer: Buffer, jsonBytes: number): string | undefined;
}
