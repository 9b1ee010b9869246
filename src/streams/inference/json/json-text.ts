declare global {
  interface JSON {
    /** A value that JSON.stringify writes as it stands. */
    rawJSON(text: string): unknown;
  }
}

/** The text of a plain document; bigints are printed in full, as JSON numbers. */
export const jsonText = (document: unknown): string => JSON.stringify(document, bigintAsNumber) ?? 'null';

const bigintAsNumber = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? JSON.rawJSON(value.toString()) : value);
