interface StartErrorOptions extends ErrorOptions {
  readonly threadsEnded: boolean;
}

/** The server could not start, and what had started is closed again. The message is the whole line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** False while a worker thread may still be inside native code. */
  readonly threadsEnded: boolean;

  constructor(message: string, { threadsEnded, ...options }: StartErrorOptions) {
    super(message, options);
    this.threadsEnded = threadsEnded;
  }
}
