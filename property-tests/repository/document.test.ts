import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toDocument } from '../../src/repository/config/document.ts';
import { parseConfigText } from '../../src/repository/config/parse.ts';
import { modelConfigType } from '../../src/repository/config/proto.ts';
import { propertyParameters } from '../parameters.ts';
import { configMessage } from './config-message.ts';

/** What a front end does before protobufjs: its Long takes digits, but makes 0 of a bigint. */
const withoutBigints = (value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.map(withoutBigints);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBigints(item)]));
};

/** Whether every 64-bit integer of a message is in its document, digit by digit. */
const isExact = (message: unknown, document: unknown): boolean => {
  if (typeof message === 'bigint') return String(document) === String(message);
  if (typeof message !== 'object' || message === null) return true;
  const members = new Map(Object.entries(Object(document)));
  return Object.entries(message).every(([key, item]) => isExact(item, members.get(key)));
};

// Kills: a 64-bit field that goes through a double, an enum by number, a oneof member that is filled in, a map that loses `__proto__`.
it('gives the same document back through the message and through the text', () => {
  fc.assert(
    fc.property(configMessage(modelConfigType), (message) => {
      const document = toDocument(modelConfigType, message);
      expect(isExact(message, document)).toBe(true);
      const wire = modelConfigType.encode(modelConfigType.fromObject(Object(withoutBigints(document)))).finish();
      expect(toDocument(modelConfigType, modelConfigType.decode(wire))).toEqual(document);
      expect(toDocument(modelConfigType, document)).toEqual(document);
      const text = modelConfigType.toText(modelConfigType.fromObject(Object(withoutBigints(document))));
      expect(parseConfigText(text, 'config.pbtxt').config).toEqual(document);
    }),
    propertyParameters(0.3),
  );
});
