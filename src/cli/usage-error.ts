/** The command line cannot be followed. The message is for the person who typed it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
