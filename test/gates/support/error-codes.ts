import { Visitor } from 'oxc-parser';
import { parseSource, readProjectFile } from './source-file.ts';

/** The members of the type `ErrorCode`, in their order. */
export const errorCodes = (): readonly string[] => {
  const path = 'src/streams/inference/error.ts';
  const codes: string[] = [];
  new Visitor({
    TSTypeAliasDeclaration: ({ id, typeAnnotation }) => {
      if (id.name !== 'ErrorCode' || typeAnnotation.type !== 'TSUnionType') return;
      for (const member of typeAnnotation.types) {
        if (member.type === 'TSLiteralType' && member.literal.type === 'Literal') codes.push(String(member.literal.value));
      }
    },
  }).visit(parseSource({ path, text: readProjectFile(path) }).program);
  return codes;
};

export interface ErrorRow {
  readonly code: string;
  readonly http: string;
  readonly grpc: string;
}

/** The rows of the table of codes in `docs/errors.md`. */
export const errorRows = (document: string): readonly ErrorRow[] =>
  [...document.matchAll(/^\| `([A-Z_]+)` \|[^|]+\| (\S+) \| (\S+) \|$/gm)].map(([, code = '', http = '', grpc = '']) => ({
    code,
    http,
    grpc,
  }));
