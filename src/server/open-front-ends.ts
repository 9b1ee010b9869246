import type { GrpcListening } from '../frontends/grpc/serve-grpc.ts';
import type { HttpListening } from '../frontends/http/serve.ts';
import { toInferError } from '../streams/inference/error.ts';
import type { Listening } from '../streams/inference/front-end.ts';
import type { Log } from '../streams/inference/log.ts';
import { describeError } from './describe-error.ts';

export type OpenFrontEnd =
  | ({ readonly kind: 'grpc' } & GrpcListening)
  | ({ readonly kind: 'http' } & HttpListening)
  | ({ readonly kind: 'metrics' } & Listening);

/** A front end that is wanted. */
export interface FrontEnd {
  readonly kind: OpenFrontEnd['kind'];
  open(): Promise<OpenFrontEnd>;
}

// Programs that start servers look for these lines.
const startedNames = { grpc: 'GRPCInferenceService', http: 'HTTPService', metrics: 'Metrics Service' } as const;
const failedNames = { grpc: 'GRPC', http: 'HTTP', metrics: 'Metrics' } as const;

/** `address:port`, with brackets around an IPv6 address. */
const place = ({ address, port }: Listening): string => (address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`);

/**
 * Opens one after the other, and says where each listens. `opened` has those that are open, also after a failure.
 *
 * @throws Error with the line for the operator
 */
export const openFrontEnds = async (wanted: readonly FrontEnd[], opened: OpenFrontEnd[], log: Log): Promise<void> => {
  for (const { kind, open } of wanted) {
    try {
      const listening = await open();
      opened.push(listening);
      log.info(`Started ${startedNames[kind]} at ${place(listening)}`);
    } catch (cause) {
      throw new Error(`failed to start ${failedNames[kind]} service: ${describeError(toInferError(cause))}`, { cause });
    }
  }
};
