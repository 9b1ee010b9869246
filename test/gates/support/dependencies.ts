import { importsOf } from './imports.ts';
import type { SourceFile } from './source-file.ts';

export interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const packagesOf = (files: readonly SourceFile[]): ReadonlySet<string> =>
  new Set(
    files.flatMap((file) =>
      importsOf(file)
        .filter(({ isRelative, target }) => !isRelative && !target.startsWith('node:'))
        .map(({ target }) => target),
    ),
  );

const isShipped = ({ path }: SourceFile): boolean => path.startsWith('src/');

/** What is imported and not declared, where it is needed; and what is declared for the server and not imported by it. */
export const dependencyFaults = (files: readonly SourceFile[], { name, dependencies, devDependencies }: Manifest): readonly string[] => {
  const shipped = packagesOf(files.filter(isShipped));
  const others = packagesOf(files.filter((file) => !isShipped(file)));
  return [
    ...[...shipped].filter((used) => !(used in dependencies)).map((used) => `src imports ${used}, which is no dependency`),
    ...[...others]
      .filter((used) => used !== name && !(used in dependencies) && !(used in devDependencies))
      .map((used) => `${used} is imported and not declared`),
    ...Object.keys(dependencies)
      .filter((declared) => !shipped.has(declared))
      .map((declared) => `src does not import ${declared}`),
  ];
};

const permissive = new Set(['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', '(MIT OR CC0-1.0)']);

interface LockedPackage {
  readonly license?: string;
  readonly dev?: boolean;
}

/** Packages that the server brings along under a licence that asks for more than to be named. */
export const licenceFaults = (lockFile: string): readonly string[] => {
  const { packages }: { readonly packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(lockFile);
  return Object.entries(packages)
    .filter(([path, { dev, license }]) => path !== '' && dev !== true && !permissive.has(license ?? ''))
    .map(([path, { license }]) => `${path} is under ${license ?? 'no licence'}`);
};
