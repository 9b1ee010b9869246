interface StartErrorOptions extends ErrorOptions {
  readonly step: StartError['step'];
  readonly threadsEnded: boolean;
}

/** The server could not start, and what had started is closed again. The message is the whole line for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** What could not be done: load the models, or listen at the ports. */
  readonly step: 'load' | 'listen';
  /** False while a worker thread may still be inside native code. */
  readonly threadsEnded: boolean;

  constructor(message: string, { step, threadsEnded, ...options }: StartErrorOptions) {
    super(message, options);
    this.step = step;
    this.threadsEnded = threadsEnded;
  }
}
