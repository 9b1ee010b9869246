/** Upright, in pixels; right and bottom are the first ones outside. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** The probability of text for each pixel, in rows from the top. */
export interface TextMap {
  readonly data: Float32Array;
  readonly width: number;
  readonly height: number;
}

const pixelThreshold = 0.3;
const boxThreshold = 0.6;
const shortestSide = 3;
// The detector marks the inner of a line only: a box grows by its area over its perimeter, times this.
const unclipRatio = 1.5;

interface Region extends Box {
  /** Mean probability of its pixels. */
  readonly score: number;
}

/** The pixels that hang together with the one at `start`, corners included. Marks them in `seen`. */
const followRegion = ({ data, width, height }: TextMap, seen: Uint8Array, stack: number[], start: number): Region => {
  let [left, top, right, bottom] = [width, height, 0, 0];
  let [sum, count] = [0, 0];
  stack.push(start);
  seen[start] = 1;
  for (let pixel = stack.pop(); pixel !== undefined; pixel = stack.pop()) {
    const x = pixel % width;
    const y = (pixel - x) / width;
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
    sum += data[pixel] ?? 0;
    count++;
    for (let nearY = Math.max(0, y - 1); nearY <= Math.min(height - 1, y + 1); nearY++) {
      for (let nearX = Math.max(0, x - 1); nearX <= Math.min(width - 1, x + 1); nearX++) {
        const near = nearY * width + nearX;
        if (seen[near] === 1 || (data[near] ?? 0) <= pixelThreshold) continue;
        seen[near] = 1;
        stack.push(near);
      }
    }
  }
  return { left, top, right, bottom, score: sum / count };
};

const unclip = ({ left, top, right, bottom }: Box): Box => {
  const [width, height] = [right - left, bottom - top];
  const by = (width * height * unclipRatio) / (2 * (width + height));
  return { left: left - by, top: top - by, right: right + by, bottom: bottom + by };
};

/** The least box around both. */
const around = (a: Box, b: Box): Box => ({
  left: Math.min(a.left, b.left),
  top: Math.min(a.top, b.top),
  right: Math.max(a.right, b.right),
  bottom: Math.max(a.bottom, b.bottom),
});

const heightOf = ({ top, bottom }: Box): number => bottom - top;

/** Whether at least half of the lower one is at the height of the other. */
const areBeside = (a: Box, b: Box): boolean =>
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) >= Math.min(heightOf(a), heightOf(b)) / 2;

/** Boxes that stand beside each other, from top to bottom. */
const rowsOf = (boxes: readonly Box[]): readonly (readonly Box[])[] => {
  const rows: { extent: Box; readonly boxes: Box[] }[] = [];
  for (const box of boxes.toSorted((a, b) => a.top - b.top)) {
    const row = rows.find(({ extent }) => areBeside(extent, box));
    row?.boxes.push(box);
    if (row === undefined) rows.push({ extent: box, boxes: [box] });
    else row.extent = around(row.extent, box);
  }
  return rows.map((row) => row.boxes);
};

/** The lines of a row from left to right. The detector ends a box at a wide space: those nearer than their height are one line. */
const joinNear = (row: readonly Box[]): readonly Box[] => {
  const lines: Box[] = [];
  for (const box of row.toSorted((a, b) => a.left - b.left)) {
    const line = lines.at(-1);
    if (line !== undefined && box.left - line.right <= heightOf(line)) lines[lines.length - 1] = around(line, box);
    else lines.push(box);
  }
  return lines;
};

/** Where lines of text are, in pixels of an image of the size given. Upright boxes only: text that slants is cut with what lies beside it. */
export const findBoxes = (map: TextMap, size: { readonly width: number; readonly height: number }): readonly Box[] => {
  const seen = new Uint8Array(map.data.length);
  const stack: number[] = [];
  const boxes: Box[] = [];
  for (let pixel = 0; pixel < map.data.length; pixel++) {
    if (seen[pixel] === 1 || (map.data[pixel] ?? 0) <= pixelThreshold) continue;
    const region = followRegion(map, seen, stack, pixel);
    const isText = region.score >= boxThreshold && Math.min(region.right - region.left, region.bottom - region.top) >= shortestSide;
    if (isText) boxes.push(unclip(region));
  }
  const [scaleX, scaleY] = [size.width / map.width, size.height / map.height];
  return rowsOf(boxes)
    .flatMap(joinNear)
    .map(({ left, top, right, bottom }) => ({
      left: Math.max(0, Math.floor(left * scaleX)),
      top: Math.max(0, Math.floor(top * scaleY)),
      right: Math.min(size.width, Math.ceil(right * scaleX)),
      bottom: Math.min(size.height, Math.ceil(bottom * scaleY)),
    }));
};
