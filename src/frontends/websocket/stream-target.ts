/** What the path of a connection says about the model; `''` where it says nothing. */
export interface StreamTarget {
  readonly modelName: string;
  /** Decimal digits. */
  readonly modelVersion: string;
}

const streamPath = /^\/v2\/(?:models\/([^/]+)(?:\/versions\/([0-9]+))?\/)?stream$/;

/** Undefined when the path is not one of ours. As on Triton's paths a query is ignored and nothing is percent-decoded. */
export const streamTarget = (url: string): StreamTarget | undefined => {
  const match = streamPath.exec(url.split('?', 1)[0] ?? '');
  if (match === null) return undefined;
  return { modelName: match[1] ?? '', modelVersion: match[2] ?? '' };
};
