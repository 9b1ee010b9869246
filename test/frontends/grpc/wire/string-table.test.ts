import { describe, expect, it } from 'vitest';
import { StringTable } from '../../../../src/frontends/grpc/wire/string-table.ts';
import { MalformedMessage } from '../../../../src/frontends/grpc/wire/wire-reader.ts';

const read = (table: StringTable, text: string | Buffer): string => {
  const bytes = Buffer.from(text);
  const around = Buffer.concat([Buffer.from('<'), bytes, Buffer.from('>')]);
  return table.recurring(around, 1, 1 + bytes.length);
};

describe('StringTable', () => {
  it('reads what it has never seen, has seen, and has forgotten', () => {
    const table = new StringTable();
    const texts = Array.from({ length: 5000 }, (_, index) => `tensor_${index}_ü`);
    for (let round = 0; round < 2; round++) for (const text of texts) expect(read(table, text)).toBe(text);
  });

  it('tells strings apart that share a slot or a beginning', () => {
    const table = new StringTable();
    for (const text of ['INPUT0', 'INPUT1', 'INPUT', 'INPUT00', '', 'i'.repeat(65), 'i'.repeat(64)]) {
      expect(read(table, text)).toBe(text);
      expect(read(table, text)).toBe(text);
    }
  });

  it('does not keep the message that a string came in', () => {
    const table = new StringTable();
    const message = Buffer.from('INPUT0');
    table.recurring(message, 0, 6);
    message.fill('X');
    expect(read(table, 'INPUT0')).toBe('INPUT0');
    expect(read(table, 'XXXXXX')).toBe('XXXXXX');
  });

  it('refuses what is no UTF-8', () => {
    const table = new StringTable();
    expect(() => read(table, Buffer.of(0xff, 0xfe))).toThrow(MalformedMessage);
    expect(() => table.single(Buffer.of(0xc3), 0, 1)).toThrow(MalformedMessage);
  });
});
