/** How much of one stream may be in the server at once. */
export interface StreamMarks {
  /** Requests that are read but not answered; reading waits at either of them. */
  readonly requests: number;
  readonly requestBytes: number;
  /** Answers waiting for the client, and those expected of requests in flight: reading waits above it while one waits for the client. */
  readonly pauseAboveBytes: number;
  /** The same while none does: no fault of the client's then, and what the requests in flight wait for may be among those not read, as the END of a sequence. */
  readonly expectAboveBytes: number;
  /** Answers waiting for the client: above it a request gets RESOURCE_EXHAUSTED in place of its answer. */
  readonly refuseAboveBytes: number;
  /** Handed to the transport and not sent: enough to fill a packet, small beside the marks. */
  readonly transportBytes: number;
}

export const streamMarks: StreamMarks = {
  requests: 4096,
  requestBytes: 64 * 2 ** 20,
  pauseAboveBytes: 16 * 2 ** 20,
  expectAboveBytes: 256 * 2 ** 20,
  refuseAboveBytes: 32 * 2 ** 20,
  transportBytes: 64 * 2 ** 10,
};
