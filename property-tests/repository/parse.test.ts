import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ConfigFaults } from '../../src/repository/config/findings.ts';
import { parseConfigText } from '../../src/repository/config/parse.ts';
import { propertyParameters } from '../parameters.ts';

const words = [
  'name',
  'input',
  'dims',
  'max_batch_size',
  'parameters',
  'key',
  'value',
  'TYPE_FP32',
  'true',
  '"x"',
  "'",
  '1',
  '-',
  '99999999999999999999',
  'nmae',
];
const signs = ['{', '}', '[', ']', ':', ',', ';', '<', '>', '\n', '# x\n', '$', ' '];

// Kills: a scanner that loops or throws on broken text, a place outside the text.
it('parses any text or tells where it goes wrong', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...words, ...signs), fc.constantFrom(' ', ' ', '\n')), { maxLength: 60, size: 'max' }),
      (parts) => {
        const text = parts.flat().join('');
        const lines = text.split('\n');
        try {
          parseConfigText(text, 'config.pbtxt');
        } catch (error) {
          if (!(error instanceof ConfigFaults)) throw error;
          for (const { place } of error.faults) {
            expect(place?.line ?? 0).toBeLessThanOrEqual(lines.length);
            expect(place?.column ?? 0).toBeLessThanOrEqual((lines[(place?.line ?? 1) - 1]?.length ?? 0) + 1);
          }
          expect(error.faults).toHaveLength(1);
        }
      },
    ),
    propertyParameters(),
  );
});
