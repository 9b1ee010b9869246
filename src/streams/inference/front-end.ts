/**
 * Connections that the system keeps for a server that is too busy to take them; it may have a lower bound of its own. Beyond it a client believes
 * that it is connected and is heard by nobody for a minute, so Node's 511 is too few for a second of short connections.
 */
export const waitingConnections = 4096;

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
