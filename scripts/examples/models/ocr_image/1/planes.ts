/** Pixels as sharp gives them: rows from the top, RGB, 8 bits each. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** What makes 0 to 1 into a model's numbers: `(value - mean) / deviation`, for blue, green and red. */
export interface Scale {
  readonly mean: readonly [number, number, number];
  readonly deviation: readonly [number, number, number];
}

/**
 * Writes pixels as three planes, blue, green and red, which is the order that the models were trained in.
 *
 * @param at where the first plane begins in `planes`, and how many columns it has; those right of the pixels keep what they hold
 */
export const writePlanes = (
  { data, width, height }: Pixels,
  { mean, deviation }: Scale,
  planes: Float32Array,
  at: { readonly offset: number; readonly columns: number },
): void => {
  for (const [plane, channel] of [2, 1, 0].entries()) {
    const factor = 1 / 255 / (deviation[plane] ?? 1);
    const shift = (mean[plane] ?? 0) / (deviation[plane] ?? 1);
    for (let y = 0; y < height; y++) {
      const row = at.offset + (plane * height + y) * at.columns;
      for (let x = 0; x < width; x++) planes[row + x] = (data[(y * width + x) * 3 + channel] ?? 0) * factor - shift;
    }
  }
};
