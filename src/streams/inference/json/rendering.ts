type Form = 'json' | 'binary';

/** How each output of an answer is to be written. */
export interface Rendering {
  /** Undefined when the request listed no outputs. */
  readonly listed: ReadonlyMap<string, Form> | undefined;
  readonly otherwise: Form;
}

export const allBinary: Rendering = { listed: undefined, otherwise: 'binary' };

export const isRenderedBinary = (rendering: Rendering, name: string): boolean =>
  (rendering.listed?.get(name) ?? rendering.otherwise) === 'binary';
