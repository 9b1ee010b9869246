import { describe, expect, it } from 'vitest';
import { okStatus, toStatus } from '../../../../src/frontends/grpc/transport/call-status.ts';
import { trailers } from '../../../../src/frontends/grpc/transport/headers.ts';
import { InferError } from '../../../../src/streams/inference/error.ts';

const sent = (message: string): string => String(trailers(toStatus(new InferError('INTERNAL', message)))['grpc-message']);

describe('trailers', () => {
  it('of a call that went well have its status alone', () => {
    expect(trailers(okStatus)).toEqual({ 'grpc-status': '0' });
  });

  it('of one that did not have its text too', () => {
    expect(trailers(toStatus(new InferError('NOT_FOUND', 'no such model')))).toEqual({
      'grpc-status': '5',
      'grpc-message': 'no%20such%20model',
    });
    expect(trailers(toStatus(new InferError('UNKNOWN', '')))).toEqual({ 'grpc-status': '2', 'grpc-message': '' });
  });

  it.each(['ünlesbar', '100 % "of" it', 'a\nb\tc\r\0\x7f', '日本語 🙂', '%41', "[expected] {'a'} <b> #?&=+;/"])('carry %j', (text) => {
    expect(sent(text)).toMatch(/^[\x21-\x7e]*$/);
    expect(decodeURIComponent(sent(text))).toBe(text);
  });

  it('put something readable where a text is not well-formed', () => {
    expect(decodeURIComponent(sent('a \ud83d b \ude42'))).toBe('a \ufffd b \ufffd');
  });
});

describe('a long text', () => {
  const limit = 7 * 1024;

  it.each([
    ['letters', 'y', 1],
    ['blanks', ' ', 3],
    ['characters of two bytes', 'ü', 6],
    ['characters of three bytes', '語', 9],
    ['pairs of surrogates', '🙂', 12],
  ])('of %s is cut where it would not fit a header block, and whole up to there', (_, character, encoded) => {
    const most = Math.floor(limit / encoded);
    expect(decodeURIComponent(sent(character.repeat(most)))).toBe(character.repeat(most));
    expect(decodeURIComponent(sent(character.repeat(most + 1)))).toBe(`${character.repeat(most)}…`);
    expect(decodeURIComponent(sent(character.repeat(100_000)))).toBe(`${character.repeat(most)}…`);
    expect(sent(character.repeat(100_000)).length).toBeLessThan(8192 - 500);
  });

  it('is never cut within a character', () => {
    for (let ahead = 0; ahead < 12; ahead++) {
      const text = decodeURIComponent(sent('y'.repeat(ahead) + '🙂'.repeat(1000)));
      expect(text).toMatch(/^y*(?:🙂)+…$/u);
    }
  });
});
