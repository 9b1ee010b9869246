/** The script `name` beside the module `moduleUrl`, in the language in which that module itself was loaded: `.ts` in development, `.js` in the package. */
export const workerScript = (name: string, moduleUrl: string): URL =>
  new URL(`./${name}${moduleUrl.endsWith('.ts') ? '.ts' : '.js'}`, moduleUrl);
