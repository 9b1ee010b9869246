import { tokenAt } from './mark-bare-numbers.ts';

interface SyntaxProblem {
  readonly message: string;
  /** Index in the text, in UTF-16 units. */
  readonly at: number;
}

/**
 * The first fault of a JSON text in Triton's words, or undefined for a sound one; the bare tokens `NaN`, `Inf` and `Infinity` are sound.
 * For texts that JSON.parse has refused: some thirty times slower than it. Nesting must have been bounded before.
 */
export const explainSyntaxError = (text: string): SyntaxProblem | undefined => {
  try {
    new Reader(text).readDocument();
    return undefined;
  } catch (problem) {
    if (problem instanceof Fault) return problem;
    throw problem;
  }
};

class Fault extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const isDigit = (character: string | undefined): boolean => character !== undefined && character >= '0' && character <= '9';
const fourHexDigits = /^[0-9a-fA-F]{4}$/;
const simpleEscapes = '"\\/bfnrt';

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): void {
    this.#skipBlanks();
    if (this.#at >= this.#text.length) throw this.#fault('The document is empty.');
    this.#readValue();
    this.#skipBlanks();
    if (this.#at < this.#text.length) throw this.#fault('The document root must not be followed by other values.');
  }

  #readValue(): void {
    const character = this.#text[this.#at];
    if (character === '{') this.#readObject();
    else if (character === '[') this.#readArray();
    else if (character === '"') this.#readString();
    else if (character === 't') this.#readWord('true');
    else if (character === 'f') this.#readWord('false');
    else if (character === 'n') this.#readWord('null');
    else this.#readNumber();
  }

  #readObject(): void {
    this.#at++;
    this.#skipBlanks();
    if (this.#take('}')) return;
    for (;;) {
      if (this.#text[this.#at] !== '"') throw this.#fault('Missing a name for object member.');
      this.#readString();
      this.#skipBlanks();
      if (!this.#take(':')) throw this.#fault('Missing a colon after a name of object member.');
      this.#skipBlanks();
      this.#readValue();
      this.#skipBlanks();
      if (this.#take('}')) return;
      if (!this.#take(',')) throw this.#fault('Missing a comma or } after an object member.');
      this.#skipBlanks();
    }
  }

  #readArray(): void {
    this.#at++;
    this.#skipBlanks();
    if (this.#take(']')) return;
    for (;;) {
      this.#readValue();
      this.#skipBlanks();
      if (this.#take(']')) return;
      if (!this.#take(',')) throw this.#fault('Missing a comma or ] after an array element.');
      this.#skipBlanks();
    }
  }

  #readWord(word: string): void {
    for (const character of word) {
      if (!this.#take(character)) throw this.#fault('Invalid value.');
    }
  }

  #readNumber(): void {
    const start = this.#at;
    this.#take('-');
    const token = tokenAt(this.#text, this.#at);
    if (token !== undefined) {
      this.#at += token.length;
      return;
    }
    if (!isDigit(this.#text[this.#at])) throw this.#fault('Invalid value.');
    if (!this.#take('0')) this.#skipDigits();
    if (this.#take('.')) this.#needDigits('Miss fraction part in number.');
    if (this.#take('e') || this.#take('E')) {
      if (!this.#take('+')) this.#take('-');
      this.#needDigits('Miss exponent in number.');
    }
    if (!Number.isFinite(Number(this.#text.slice(start, this.#at)))) throw this.#fault('Number too big to be stored in double.', start);
  }

  #readString(): void {
    const opening = this.#at;
    this.#at++;
    for (;;) {
      const character = this.#text[this.#at];
      if (character === undefined) throw this.#fault('Missing a closing quotation mark in string.', opening);
      if (character === '"') break;
      if (character === '\\') this.#readEscape();
      else if (character < ' ') throw this.#fault('Invalid encoding in string.');
      else this.#at++;
    }
    this.#at++;
  }

  #readEscape(): void {
    const start = this.#at;
    const letter = this.#text[start + 1];
    if (letter !== 'u') {
      if (letter === undefined || !simpleEscapes.includes(letter)) throw this.#fault('Invalid escape character in string.', start);
      this.#at += 2;
      return;
    }
    const unit = this.#readHex(start);
    if (unit < 0xd800 || unit > 0xdfff) return;
    const isPair = unit <= 0xdbff && this.#text.startsWith('\\u', this.#at);
    const low = isPair ? this.#readHex(start) : 0;
    if (low < 0xdc00 || low > 0xdfff) throw this.#fault('The surrogate pair in string is invalid.', start);
  }

  /** Reads `\uXXXX`; a fault lies at `start`, where the whole escape begins. */
  #readHex(start: number): number {
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    if (!fourHexDigits.test(digits)) throw this.#fault('Incorrect hex digit after \\u escape in string.', start);
    this.#at += 6;
    return Number.parseInt(digits, 16);
  }

  #needDigits(message: string): void {
    if (!isDigit(this.#text[this.#at])) throw this.#fault(message);
    this.#skipDigits();
  }

  #skipDigits(): void {
    while (isDigit(this.#text[this.#at])) this.#at++;
  }

  #skipBlanks(): void {
    for (;;) {
      const character = this.#text[this.#at];
      if (character !== ' ' && character !== '\n' && character !== '\r' && character !== '\t') return;
      this.#at++;
    }
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #fault(message: string, at = this.#at): Fault {
    return new Fault(message, at);
  }
}
