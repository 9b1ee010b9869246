import protobuf from 'protobufjs';
import type { Finding, Place } from './findings.ts';
import { fault } from './findings.ts';
import { nearestName } from './nearest-name.ts';
import type { Positions } from './positions.ts';

export interface SyntaxError {
  readonly finding: Finding;
  readonly place: Place | undefined;
}

/** Parses, or throws the parser's error. */
type Parse = (text: string) => unknown;

const messageOf = (parse: Parse, text: string): string | undefined => {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

/**
 * Index of the token at which the parser gave up, for its messages that carry no line: the last token of the shortest beginning of the text
 * with the same message. The parser goes from left to right, so every longer beginning has it too.
 */
const faultyToken = (parse: Parse, text: string, { tokens }: Positions, message: string): number => {
  let low = 0;
  let high = tokens.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (messageOf(parse, text.slice(0, tokens[middle]?.end)) === message) high = middle;
    else low = middle + 1;
  }
  return low;
};

const wantedBy = (type: protobuf.Type, field: string, message: string): string => {
  if (message.endsWith('multiple values')) return 'one value';
  if (!message.endsWith('enum value expected')) return message.replace(/^\.inference\.\S+: /, '').replace(/ expected$/, '');
  const found = type.root.lookup(field);
  const names = found instanceof protobuf.Field && found.resolve().resolvedType instanceof protobuf.Enum ? found.resolvedType : undefined;
  return names instanceof protobuf.Enum ? `one of ${Object.keys(names.values).join(', ')}` : 'a name of the enum';
};

const unknownField = (type: protobuf.Type, message: string): Pick<Finding, 'text' | 'wanted' | 'got'> | undefined => {
  const [, owner, name] = /^\.(\S+): unknown field '(.*)' \(line \d+\)$/.exec(message) ?? [];
  if (owner === undefined || name === undefined) return undefined;
  const known = type.root.lookup(`.${owner}`);
  const near = known instanceof protobuf.Type ? nearestName(name, Object.keys(known.fields)) : undefined;
  const text = `Message type "${owner}" has no field named "${name}"`;
  return { text, wanted: near === undefined ? `a field of ${owner}` : `'${near}'`, got: `'${name}'` };
};

/** The parser's error as a fault: Triton's sentence, then where the text goes wrong and what was wanted there. */
export const syntaxError = (
  type: protobuf.Type,
  parse: Parse,
  text: string,
  file: string,
  positions: Positions,
  error: Error,
): SyntaxError => {
  const beginning = `failed to read text proto from ${file}`;
  const line = Number(/\(line (\d+)\)$/.exec(error.message)?.[1]);
  const unknown = unknownField(type, error.message);
  if (unknown !== undefined) {
    const token = positions.tokens.find(({ text: name, start }) => `'${name}'` === unknown.got && positions.placeAt(start).line === line);
    const place = token === undefined ? { line, column: 0 } : positions.placeAt(token.start);
    const field = token === undefined ? '' : positions.fieldAt(token.start);
    return { finding: { ...unknown, severity: 'fault', field, text: `${beginning}: ${unknown.text}` }, place };
  }
  if (!Number.isNaN(line)) {
    const what = error.message.replace(/ \(line \d+\)$/, '');
    return { finding: fault('', `${beginning}: ${what}`), place: { line, column: 0 } };
  }
  const token = positions.tokens[faultyToken(parse, text, positions, error.message)];
  const field = token === undefined ? '' : positions.fieldAt(token.start);
  const owner = /^(\.inference\.\S+): /.exec(error.message)?.[1] ?? '';
  const wanted = wantedBy(type, owner, error.message);
  const got = token === undefined ? '' : token.text;
  const finding = fault(field, `${beginning}: ${error.message}`, { wanted, got });
  return { finding, place: token === undefined ? undefined : positions.placeAt(token.start) };
};
