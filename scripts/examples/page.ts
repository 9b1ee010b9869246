import sharp from 'sharp';

/** What stands on the test image, line by line. */
export const pageLines = [
  'WEIR',
  'A MODEL FINDS THE LINES',
  'FIRST THE LARGE ONES',
  'THEN THE SMALL ONES',
  '2442',
  'LINES AND SPACES',
  'THE LAST LINE',
];
const scales = [3, 1.8, 2.4, 1.5, 2.4, 1.8, 2];

interface Glyph {
  readonly width: number;
  /** Strokes as an SVG path; capitals reach from 0 down to the base line at 14. */
  readonly path: string;
}

// A bare machine has no fonts, so the letters are strokes drawn here.
const glyphs: Readonly<Record<string, Glyph>> = {
  ' ': { width: 8.5, path: '' },
  '2': { width: 8, path: 'M0 4A4 4 0 1 1 7 6.5L0 14H8.4' },
  '4': { width: 9, path: 'M6.5 14V0L0 10H9' },
  A: { width: 10, path: 'M0 14L5 0L10 14M1.8 9H8.2' },
  C: { width: 9.6, path: 'M9.6 3.2A5.4 7 0 1 0 9.6 10.8' },
  D: { width: 9.5, path: 'M0 0H3.5A6 7 0 0 1 3.5 14H0Z' },
  E: { width: 8, path: 'M8 0H0V14H8M0 7H6.5' },
  F: { width: 7.5, path: 'M7.5 0H0V14M0 7H6.5' },
  G: { width: 10.5, path: 'M9.8 3A5.4 7 0 1 0 10.4 8H6' },
  H: { width: 9, path: 'M0 0V14M9 0V14M0 7H9' },
  I: { width: 0.5, path: 'M0 0V14' },
  L: { width: 7, path: 'M0 0V14H7.5' },
  M: { width: 11, path: 'M0 14V0L5.5 10L11 0V14' },
  N: { width: 9, path: 'M0 14V0L9 14V0' },
  O: { width: 11, path: 'M5.5 0A5.5 7 0 1 0 5.5 14A5.5 7 0 1 0 5.5 0Z' },
  P: { width: 8.5, path: 'M0 14V0H5A4 4 0 0 1 5 8H0' },
  R: { width: 9, path: 'M0 14V0H5A4 3.8 0 0 1 5 7.6H0M5 7.6L9 14' },
  S: { width: 8, path: 'M8 3A4 3.5 0 1 0 4 7A4 3.5 0 1 1 0 11' },
  T: { width: 9, path: 'M0 0H9M4.5 0V14' },
  U: { width: 9, path: 'M0 0V9.5A4.5 4.5 0 0 0 9 9.5V0' },
  V: { width: 10, path: 'M0 0L5 14L10 0' },
  W: { width: 14, path: 'M0 0L3.5 14L7 2L10.5 14L14 0' },
};

const letterSpace = 3;

const glyphOf = (letter: string): Glyph => {
  const glyph = glyphs[letter];
  if (glyph === undefined) throw new Error(`no strokes for '${letter}'`);
  return glyph;
};

const drawLine = (text: string, x: number, y: number, scale: number): string => {
  let at = 0;
  const strokes = [...text].map((letter) => {
    const { width, path } = glyphOf(letter);
    const stroke = `<path d="${path}" transform="translate(${at})"/>`;
    at += width + letterSpace;
    return stroke;
  });
  return `<g transform="translate(${x} ${y}) scale(${scale})">${strokes.join('')}</g>`;
};

const size = { width: 800, height: 640 };

/** A page of text as a PNG: `pageLines` from top to bottom, of several sizes. */
export const pageImage = (): Promise<Buffer> => {
  let y = 50;
  const lines = pageLines.map((text, index) => {
    const scale = scales[index] ?? 2;
    const line = drawLine(text, 60 + 30 * (index % 2), y, scale);
    y += 14 * scale + 48;
    return line;
  });
  const style = 'fill="none" stroke="#202428" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round"';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height}">
    <rect width="100%" height="100%" fill="#fbfaf6"/><g ${style}>${lines.join('')}</g></svg>`;
  return sharp(Buffer.from(svg)).png().toBuffer();
};
