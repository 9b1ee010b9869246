import type { CallStatus } from './call-status.ts';
import type { Metadata } from './metadata.ts';
import type { Outgoing } from './outgoing.ts';

/** What a call can do: the part of the transport that the rest of the front end sees. */
export interface Call {
  /** Address and port of the client. */
  readonly peer: string;
  /** Asks for one more message or the end of them. It may have come already, and is then handed over before this returns. */
  startRead(): void;
  /**
   * Sends a message after those sent before. It asks for the bytes before it returns. `onSent` is called when the client's flow control has let
   * all of it through, and never once the call is over.
   */
  sendMessage(message: Outgoing, onSent?: () => void): void;
  /** Ends the call after what was sent. Only the first counts. */
  sendStatus(status: CallStatus): void;
}

/**
 * What happens to a call, in this order; `onCancel` last and once, when the call is over, whichever way it ended, its deadline included. None is called
 * out of `sendMessage` or `sendStatus`.
 */
export interface CallListener {
  onReceiveMetadata(metadata: Metadata): void;
  onReceiveMessage(message: Buffer): void;
  onReceiveHalfClose(): void;
  onCancel(): void;
}

/** Begins to answer a call. */
export type Serve = (call: Call) => CallListener;
