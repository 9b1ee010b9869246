import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineModel, perRequest } from 'weir/backend';
import { readLine } from './read-line.ts';

let alphabet: readonly string[] = [];
let minScore = 0;

export const model = defineModel({
  load({ parameters, modelDirectory }) {
    const file = readFileSync(join(modelDirectory, parameters.get('characters') ?? ''), 'utf8');
    // The recogniser was trained with the space after those of the file.
    alphabet = [...file.trimEnd().split('\n'), ' '];
    minScore = Number(parameters.get('min_score'));
  },
  execute: perRequest((request) => {
    const characters = request.input('CHARACTERS', 'INT32');
    const probabilities = request.input('PROBABILITIES', 'FP32');
    const boxes = request.input('BOXES', 'INT32');
    const [rows = 0, columns = 0] = characters.shape;
    const lines = Array.from({ length: rows }, (_, row) => {
      const ofRow = <T extends Int32Array | Float32Array>(data: T, size: number) => data.subarray(row * size, (row + 1) * size) as T;
      const line = readLine(ofRow(characters.data, columns), ofRow(probabilities.data, columns), alphabet);
      return { ...line, box: ofRow(boxes.data, 4) };
    }).filter(({ text, score }) => text !== '' && score >= minScore);
    return {
      outputs: {
        TEXT: { shape: [lines.length], data: lines.map(({ text }) => text) },
        SCORE: { shape: [lines.length], data: Float32Array.from(lines, ({ score }) => score) },
        BOX: { shape: [lines.length, 4], data: Int32Array.from(lines.flatMap(({ box }) => [...box])) },
      },
    };
  }),
});
