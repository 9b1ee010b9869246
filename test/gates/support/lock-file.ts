interface LockedPackage {
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/**
 * Where packages came from belongs to the machine that installed them, not to the project; and `npm ci` refuses a file that lacks a package which
 * another one names, an optional one too.
 */
export const lockFileFaults = (lockFile: string): readonly string[] => {
  const { packages }: { packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(lockFile);
  const names = new Set(Object.keys(packages).map(nameOf));
  return Object.entries(packages).flatMap(([path, { resolved, dependencies, optionalDependencies }]) => [
    ...(resolved?.startsWith('http') === true ? [`${path} is resolved to a host`] : []),
    ...Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !names.has(name))
      .map((name) => `${path} needs ${name}, which is not there`),
  ]);
};
