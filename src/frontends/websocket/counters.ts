/** What the front end has to tell a gauge. */
export interface WebSocketCounters {
  readonly open: number;
  readonly requestsInFlight: number;
  /** Answers that wait for slow readers. */
  readonly outboxBytes: number;
  /** Connections that have ended, by close code; 1006 for those cut off. A client's own codes count under 3000 and 4000. */
  readonly closes: ReadonlyMap<number, number>;
}

/** Codes from here on are free for clients to make up: counted by thousand, so that they cannot fill the map. */
const firstClientCode = 3000;

export const countClose = (closes: Map<number, number>, code: number): void => {
  const key = code < firstClientCode ? code : Math.floor(code / 1000) * 1000;
  closes.set(key, (closes.get(key) ?? 0) + 1);
};

/** Codes that the library closes with by itself; the peer's answer, if any, does not tell them. */
const libraryCodes: Readonly<Record<string, number>> = {
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 1009,
  WS_ERR_INVALID_UTF8: 1007,
  WS_ERR_TOO_MANY_BUFFERED_PARTS: 1008,
};

/** The close code that goes with an error of the socket or of the library; undefined for a connection that broke. */
export const closeCodeOf = (error: Error & { readonly code?: string }): number | undefined => {
  const code = error.code ?? '';
  return code.startsWith('WS_ERR_') ? (libraryCodes[code] ?? 1002) : undefined;
};
