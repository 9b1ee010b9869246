import sharp from 'sharp';
import type { ModelRequest } from 'weir/backend';
import { type Pixels, writePlanes } from '../../ocr_image/1/planes.ts';
import { type Box, findBoxes } from './find-boxes.ts';

const lineHeight = 48;
const [narrowest, widest] = [48, 3200];
const scale = { mean: [0.5, 0.5, 0.5], deviation: [0.5, 0.5, 0.5] } as const;

/** An image whose lines are known. */
export interface Page {
  readonly pixels: Pixels;
  readonly boxes: readonly Box[];
}

/** @throws ModelError */
export const pageOf = (request: ModelRequest): Page => {
  const image = request.input('PIXELS', 'UINT8');
  const map = request.input('MAP', 'FP32');
  const [height = 0, width = 0] = image.shape;
  const [, , mapHeight = 0, mapWidth = 0] = map.shape;
  const boxes = findBoxes({ data: map.data, width: mapWidth, height: mapHeight }, { width, height });
  return { pixels: { data: image.data, width, height }, boxes };
};

/** A line of the page in the height that the recogniser reads. */
export const cutLine = async ({ pixels: { data, width, height } }: Page, { left, top, right, bottom }: Box): Promise<Pixels> => {
  const area = { left, top, width: right - left, height: bottom - top };
  const lineWidth = Math.min(widest, Math.max(narrowest, Math.round((area.width * lineHeight) / area.height)));
  const line = await sharp(data, { raw: { width, height, channels: 3 } })
    .extract(area)
    .resize(lineWidth, lineHeight, { fit: 'fill', kernel: 'linear' })
    .raw()
    .toBuffer();
  return { data: line, width: lineWidth, height: lineHeight };
};

/** Lines as rows of one batch, as wide as the widest. Right of the others is grey, which is 0. */
export const lineTensors = (lines: readonly Pixels[], boxes: readonly Box[]) => {
  const columns = Math.max(...lines.map(({ width }) => width));
  const rowLength = 3 * lineHeight * columns;
  const planes = new Float32Array(lines.length * rowLength);
  for (const [row, line] of lines.entries()) writePlanes(line, scale, planes, { offset: row * rowLength, columns });
  return {
    LINES: { shape: [lines.length, 3, lineHeight, columns], data: planes },
    BOXES: { shape: [lines.length, 4], data: Int32Array.from(boxes.flatMap(({ left, top, right, bottom }) => [left, top, right, bottom])) },
  };
};
