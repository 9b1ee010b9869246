import { posix } from 'node:path';
import type { Node } from 'oxc-parser';
import { Visitor } from 'oxc-parser';
import { parseSource, type SourceFile } from './source-file.ts';

export interface Import {
  /** The path of a project file, or the name of a package; built-in modules keep their `node:`. */
  readonly target: string;
  readonly isRelative: boolean;
  /** Imported names; `*` for a whole module. */
  readonly names: readonly string[];
}

const packageName = (specifier: string): string => {
  if (specifier.startsWith('node:')) return specifier;
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
};

const importFrom = (path: string, specifier: string, names: readonly string[]): Import => {
  const isRelative = specifier.startsWith('.');
  return { target: isRelative ? posix.join(posix.dirname(path), specifier) : packageName(specifier), isRelative, names };
};

const literalText = (node: Node): string | undefined =>
  node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;

/** Every way in which a file reaches another: imports of values and types, re-exports, `import()` in code and in types, `new URL(…, import.meta.url)`. */
export const importsOf = (file: SourceFile): readonly Import[] => {
  const { module, program } = parseSource(file);
  const found: Import[] = [];
  const add = (specifier: string, names: readonly string[]): void => {
    found.push(importFrom(file.path, specifier, names));
  };

  for (const { moduleRequest, entries } of module.staticImports) {
    add(
      moduleRequest.value,
      entries.map(({ importName }) => importName.name ?? (importName.kind === 'Default' ? 'default' : '*')),
    );
  }
  for (const { entries } of module.staticExports) {
    for (const { moduleRequest, importName } of entries) {
      if (moduleRequest !== null) add(moduleRequest.value, [importName.name ?? '*']);
    }
  }
  const addLiteral = (node: Node): void => {
    const specifier = literalText(node);
    if (specifier !== undefined) add(specifier, ['*']);
  };
  new Visitor({
    ImportExpression: ({ source }) => addLiteral(source),
    TSImportType: ({ source }) => addLiteral(source),
    NewExpression: ({ callee, arguments: args }) => {
      const [specifier] = args;
      if (callee.type === 'Identifier' && callee.name === 'URL' && specifier !== undefined && specifier.type !== 'SpreadElement') {
        const text = literalText(specifier);
        if (text?.startsWith('.') === true && text.endsWith('.ts')) add(text, ['*']);
      }
    },
  }).visit(program);
  return found;
};
