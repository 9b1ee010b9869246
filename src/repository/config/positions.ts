import protobuf from 'protobufjs';
import type { Place } from './findings.ts';

export interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Where things stand in a config's text. Knows places only: values come from the parser. */
export interface Positions {
  readonly tokens: readonly Token[];
  /** Keys of maps that stand there before: the last one counts. */
  readonly repeatedKeys: readonly string[];
  /** The place of a field, or of the nearest thing around it that is in the text. */
  find(field: string): Place | undefined;
  /** The field within which an offset lies; `''` outside all. */
  fieldAt(offset: number): string;
  placeAt(offset: number): Place;
}

interface Mark {
  readonly field: string;
  readonly start: number;
  end: number;
}

const tokenPattern = /#[^\n]*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[A-Za-z0-9_.+$]+|[^\sA-Za-z0-9_.+$]/g;

const tokensOf = (text: string): Token[] => {
  const tokens: Token[] = [];
  for (const match of text.matchAll(tokenPattern)) {
    const [token] = match;
    if (!token.startsWith('#')) tokens.push({ text: token, start: match.index, end: match.index + token.length });
  }
  return tokens;
};

/** Deeper than any config; the parser refuses such a text. */
const deepest = 64;

/** Walks the tokens along the message type. Stops understanding, but never fails, where the text is no config. */
class Walk {
  readonly marks: Mark[] = [];
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  message(type: protobuf.Type | undefined, path: string, close: string, depth = 0): void {
    const counts = new Map<string, number>();
    for (let token = this.#tokens[this.#next]; token !== undefined; token = this.#tokens[this.#next]) {
      this.#next++;
      if (token.text === close) return;
      if (/^[A-Za-z_]/.test(token.text)) this.#field(type, path, token, counts, depth);
    }
  }

  #field(type: protobuf.Type | undefined, path: string, name: Token, counts: Map<string, number>, depth: number): void {
    const field = type?.fields[name.text]?.resolve();
    if (this.#text() === ':') this.#next++;
    const isList = this.#text() === '[';
    if (isList) this.#next++;
    for (let item = 0; ; item++) {
      if (isList && this.#text() === ']') break;
      const index = counts.get(name.text) ?? 0;
      counts.set(name.text, index + 1);
      this.#value(field, `${path}${name.text}`, index, item === 0 ? name : undefined, depth);
      if (!isList || this.#text() !== ',') break;
      this.#next++;
    }
    if (isList && this.#text() === ']') this.#next++;
  }

  #value(field: protobuf.Field | undefined, path: string, index: number, name: Token | undefined, depth: number): void {
    const first = this.#tokens[this.#next];
    // A sign is a token of its own.
    if (first?.text === '-') this.#next++;
    const start = name?.start ?? first?.start ?? 0;
    const here = this.#pathOf(field, path, index);
    // The first item of a repeated field is found by the field's own name too.
    const marks = here === path || index > 0 ? [here] : [path, here];
    const made = marks.map((mark): Mark => ({ field: mark, start, end: first?.end ?? start }));
    this.marks.push(...made);
    this.#next++;
    const close = first?.text === '{' ? '}' : '>';
    if (depth < deepest && (first?.text === '{' || first?.text === '<')) {
      const inner = field?.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
      if (field?.map) this.#entry(inner, here, close, depth + 1);
      else this.message(inner, `${here}.`, close, depth + 1);
    }
    const end = this.#tokens[this.#next - 1]?.end ?? start;
    for (const mark of made) mark.end = end;
  }

  /** A map's entry: the fields of its value are fields of the entry. */
  #entry(type: protobuf.Type | undefined, path: string, close: string, depth: number): void {
    const counts = new Map<string, number>();
    for (let token = this.#tokens[this.#next]; token !== undefined; token = this.#tokens[this.#next]) {
      this.#next++;
      if (token.text === close) return;
      const at = this.#next + (this.#text() === ':' ? 1 : 0);
      const open = this.#tokens[at]?.text;
      if (depth < deepest && token.text === 'value' && (open === '{' || open === '<')) {
        this.#next = at + 1;
        this.message(type, `${path}.`, open === '{' ? '}' : '>', depth + 1);
      } else if (/^[A-Za-z_]/.test(token.text)) this.#field(undefined, `${path}.`, token, counts, depth);
    }
  }

  #pathOf(field: protobuf.Field | undefined, path: string, index: number): string {
    if (field?.map) return `${path}[${this.#key()}]`;
    return field?.repeated ? `${path}[${index}]` : path;
  }

  /** The key of the map entry that begins here, as it is written. */
  #key(): string {
    for (let ahead = this.#next; ahead < Math.min(this.#tokens.length, this.#next + 64); ahead++) {
      if (this.#tokens[ahead]?.text === 'key') return this.#tokens[ahead + 2]?.text.replaceAll("'", '"') ?? '""';
    }
    return '""';
  }

  #text(): string | undefined {
    return this.#tokens[this.#next]?.text;
  }
}

/** `input[0].dims[1]` → `input[0].dims` → `input[0]` → `input`; `''` where there is nothing further out. */
const outward = (field: string): string => {
  const outer = field.replace(/(?:\["[^"]*"\]|\[\d*\]|\.?[^.[\]]+)$/, '');
  return outer === field ? '' : outer;
};

/** Finds the place of every field in a config's text. */
export const positionsOf = (type: protobuf.Type, text: string): Positions => {
  const tokens = tokensOf(text);
  const walk = new Walk(tokens);
  // A stray closing bracket ends a message: go on after it.
  walk.message(type, '', '');
  const keys = walk.marks.map(({ field }) => field).filter((field) => field.endsWith('"]'));
  const byField = new Map(walk.marks.toReversed().map((mark) => [mark.field, mark]));
  const placeAt = (offset: number): Place => {
    const before = text.slice(0, offset);
    const lineStart = before.lastIndexOf('\n') + 1;
    return { line: before.split('\n').length, column: offset - lineStart + 1 };
  };
  return {
    tokens,
    placeAt,
    repeatedKeys: keys.filter((field, index) => keys.indexOf(field) < index),
    find(field) {
      for (let name = field; name !== ''; name = outward(name)) {
        const mark = byField.get(name);
        if (mark !== undefined) return placeAt(mark.start);
      }
      return undefined;
    },
    fieldAt(offset) {
      return walk.marks.findLast((mark) => mark.start <= offset && offset < mark.end)?.field ?? '';
    },
  };
};
