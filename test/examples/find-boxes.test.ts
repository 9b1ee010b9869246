import { expect, it } from 'vitest';
import { type Box, findBoxes } from '../../scripts/examples/models/ocr_lines/1/find-boxes.ts';

const size = { width: 100, height: 60 };

/** A map of text that is sure where the boxes are. */
const mapOf = (boxes: readonly Box[], probability = 1) => {
  const data = new Float32Array(size.width * size.height);
  for (const { left, top, right, bottom } of boxes) {
    for (let y = top; y < bottom; y++) data.fill(probability, y * size.width + left, y * size.width + right);
  }
  return { ...size, data };
};

const box = (left: number, top: number, right: number, bottom: number): Box => ({ left, top, right, bottom });

it('grows a box by its area over its perimeter, and scales it to the image', () => {
  // 20 by 5: 100 · 1.5 / 50 is 3 on each side.
  const map = mapOf([box(30, 20, 50, 25)]);
  expect(findBoxes(map, size)).toEqual([box(27, 17, 53, 28)]);
  expect(findBoxes(map, { width: 1000, height: 120 })).toEqual([box(270, 34, 530, 56)]);
});

it('keeps boxes inside the image', () => {
  expect(findBoxes(mapOf([box(0, 0, 100, 6)]), size)).toEqual([box(0, 0, 100, 11)]);
});

it('finds nothing where there is none, where it is not sure, and in specks', () => {
  expect(findBoxes(mapOf([]), size)).toEqual([]);
  expect(findBoxes(mapOf([box(30, 20, 50, 25)], 0.5), size)).toEqual([]);
  expect(findBoxes(mapOf([box(30, 20, 50, 22)]), size)).toEqual([]);
});

it('sorts from top to bottom and, at one height, from left to right', () => {
  const boxes = findBoxes(mapOf([box(70, 9, 90, 14), box(10, 40, 30, 45), box(10, 11, 30, 16)]), size);
  expect(boxes.map(({ left, top }) => [left, top])).toEqual([
    [7, 8],
    [67, 6],
    [7, 37],
  ]);
});

it('joins words of a line, with a speck between them', () => {
  const words = [box(10, 10, 40, 16), box(52, 10, 80, 16)];
  const [line, ...others] = findBoxes(mapOf(words), size);
  expect([line?.left, line?.right, others]).toEqual([6, 84, []]);
  expect(findBoxes(mapOf([...words, box(45, 12, 48, 15)]), size)).toEqual([line]);
});
