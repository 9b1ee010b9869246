import fc from 'fast-check';
import { expect, it } from 'vitest';
import { frameReader } from '../../../src/backends/python/frame-reader.ts';
import { type Frame, frameBytes, frameFlags, writeFrame } from '../../../src/backends/python/frames.ts';

const size = fc.maxSafeNat();
const arbitraryFrame = fc.record({
  kind: fc.nat(255),
  flags: fc.nat(0x7f),
  segment: fc.nat(0xffff),
  id: fc.nat(0xffff_ffff),
  block: fc.nat(0xffff_ffff),
  freed: fc.nat(0xffff_ffff),
  offset: size,
  length: size,
});
const arbitraryMessage = fc.tuple(arbitraryFrame, fc.option(fc.string({ unit: 'grapheme', maxLength: 50 }), { nil: undefined }));

const encode = ([frame, text]: readonly [Frame, string | undefined]): {
  readonly frame: Frame;
  readonly text: string;
  readonly bytes: Buffer;
} => {
  const payload = Buffer.from(text ?? '');
  const whole = text === undefined ? frame : { ...frame, flags: frame.flags | frameFlags.inline, length: payload.byteLength };
  const head = Buffer.alloc(frameBytes);
  writeFrame(head, 0, whole);
  return { frame: whole, text: text ?? '', bytes: Buffer.concat([head, payload]) };
};

it('reads messages back however the stream is cut', () => {
  // Kills a reader that forgets the rest of a chunk, or that takes a head without its payload.
  fc.assert(
    fc.property(fc.array(arbitraryMessage, { maxLength: 8 }), fc.array(fc.nat(1000), { maxLength: 20 }), (messages, cuts) => {
      const encoded = messages.map(encode);
      const bytes = Buffer.concat(encoded.map((each) => each.bytes));
      const seen: { readonly frame: Frame; readonly text: string }[] = [];
      const read = frameReader((frame, payload) => seen.push({ frame, text: payload.toString() }));
      let at = 0;
      for (const cut of [...cuts, bytes.byteLength]) {
        read(Buffer.from(bytes.subarray(at, at + cut)));
        at = Math.min(bytes.byteLength, at + cut);
      }
      expect(seen).toEqual(encoded.map(({ frame, text }) => ({ frame, text })));
    }),
  );
});

it('refuses a payload that nobody sends', () => {
  const head = Buffer.alloc(frameBytes);
  writeFrame(head, 0, { kind: 42, flags: frameFlags.inline, segment: 0, id: 0, block: 0, freed: 0, offset: 0, length: 2 ** 40 });
  expect(() => frameReader(() => undefined)(head)).toThrow(RangeError);
});
