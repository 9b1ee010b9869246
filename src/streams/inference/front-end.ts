/** A front end that is listening. */
export interface Listening {
  readonly address: string;
  readonly port: number;
  /**
   * Takes no new connection, lets calls in flight end, then closes what is left when `deadline` aborts. Resolves when nothing of it is left:
   * no socket, no timer.
   */
  close(deadline: AbortSignal): Promise<void>;
}
