import sharp from 'sharp';
import { defineModel, ModelError, perRequest } from 'weir/backend';
import { type Pixels, writePlanes } from './planes.ts';

// 25 megapixels are 75 MB as pixels: a small file can claim to be much more.
const maxPixels = 25_000_000;
const longestSide = 960;
// The detector halves its input five times.
const multiple = 32;

/** Of ImageNet, in the order in which the detector's training had it. */
const scale = { mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] } as const;

const readImage = async (file: Uint8Array): Promise<Pixels> => {
  const image = sharp(file, { limitInputPixels: maxPixels }).autoOrient().flatten({ background: 'white' }).toColourspace('srgb');
  const { data, info } = await image.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
};

const toDetectorSize = async ({ data, width, height }: Pixels): Promise<Pixels> => {
  const factor = Math.min(1, longestSide / Math.max(width, height));
  const sideOf = (side: number): number => Math.max(multiple, Math.round((side * factor) / multiple) * multiple);
  const size = { width: sideOf(width), height: sideOf(height) };
  const image = sharp(data, { raw: { width, height, channels: 3 } }).resize({ ...size, fit: 'fill', kernel: 'linear' });
  return { data: await image.raw().toBuffer(), ...size };
};

export const model = defineModel({
  load: () => {
    // What it keeps for the next image is of no use here: every one is another.
    sharp.cache(false);
    sharp.concurrency(1);
  },
  execute: perRequest(async (request) => {
    const [file] = request.input('IMAGE', 'BYTES').data;
    const pixels = await readImage(file ?? new Uint8Array()).catch((cause: Error) => {
      throw new ModelError(`IMAGE is not an image that can be read: ${cause.message}`, 'INVALID_ARGUMENT', { cause });
    });
    const small = await toDetectorSize(pixels);
    const scaled = new Float32Array(3 * small.height * small.width);
    writePlanes(small, scale, scaled, { offset: 0, columns: small.width });
    return {
      outputs: {
        PIXELS: { shape: [pixels.height, pixels.width, 3], data: pixels.data },
        SCALED: { shape: [1, 3, small.height, small.width], data: scaled },
      },
    };
  }),
});
