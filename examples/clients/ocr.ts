import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Line, readLines, readPage } from './ocr-client.ts';

// Reads the text of an image: `npm run ocr`, or `npm run ocr -- my-image.jpg`.
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { host: { type: 'string', default: 'localhost' }, 'http-port': { type: 'string', default: '8000' } },
});
const image = readFileSync(positionals[0] ?? join(import.meta.dirname, '..', 'data', 'page.png'));
const address = `${options.host}:${options['http-port']}`;

const began = performance.now();
const print = ({ text, score }: Line): void =>
  console.log(`  ${(performance.now() - began).toFixed(0).padStart(6)} ms  ${score.toFixed(2)}  ${text}`);

try {
  console.log('ocr_stream over WebSocket, each line as it is read:');
  for await (const line of readLines(`ws://${address}`, image)) print(line);
  console.log('ocr over HTTP, all lines at once:');
  for (const line of await readPage(`http://${address}`, image)) print(line);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
