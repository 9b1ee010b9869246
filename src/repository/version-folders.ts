/** Folders of a model that hold no version. */
const otherFolders = new Set(['warmup', 'initial_state', 'configs']);

const highestVersion = 2n ** 63n - 1n;

export interface VersionFolders {
  /** Decimal digits. */
  readonly versions: readonly string[];
  /** For the log. */
  readonly warnings: readonly string[];
}

const complaint = (name: string): string | undefined => {
  if (/^0\d+$/.test(name)) return `ignore version directory '${name}' which contains leading zeros in its directory name`;
  if (/^\d+$/.test(name) && BigInt(name) <= highestVersion) return undefined;
  return `ignore version directory '${name}' which fails to convert to integral number`;
};

/** Tells a model's version folders from its other ones. */
export const versionFolders = (names: readonly string[]): VersionFolders => {
  const versions: string[] = [];
  const warnings: string[] = [];
  for (const name of names) {
    if (otherFolders.has(name)) continue;
    const warning = complaint(name);
    if (warning === undefined) versions.push(name);
    else warnings.push(warning);
  }
  return { versions, warnings };
};
