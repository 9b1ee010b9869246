import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectGrpc } from './grpc-client.ts';
import { chunkSamples, type Detect, detectSpeech, speechSegments } from './speech.ts';
import { readWav } from './wav.ts';
import { connectWebSocket } from './websocket-client.ts';

const { values: options } = parseArgs({
  options: {
    host: { type: 'string', default: 'localhost' },
    'http-port': { type: 'string', default: '8000' },
    'grpc-port': { type: 'string', default: '8001' },
    wav: { type: 'string', default: join(import.meta.dirname, '..', 'data', 'speech-16k.wav') },
    // As fast as the server answers, instead of as fast as somebody speaks.
    fast: { type: 'boolean', default: false },
  },
});

const barWidth = 50;
const isTerminal = process.stdout.isTTY;

/** The probability of this moment, drawn over the one before. */
const drawBar = (chunk: number, speech: number): void => {
  if (!isTerminal) return;
  const filled = Math.round(speech * barWidth);
  const seconds = ((chunk * chunkSamples) / 16_000).toFixed(2).padStart(6);
  process.stdout.write(`\r${seconds} s  ${'█'.repeat(filled)}${'·'.repeat(barWidth - filled)}  ${speech.toFixed(2)}`);
};

const { sampleRate, samples } = readWav(options.wav);
if (sampleRate !== 16_000) throw new Error(`the model listens at 16000 Hz, ${options.wav} has ${sampleRate} Hz`);

const stream = async (title: string, detect: Detect): Promise<void> => {
  console.log(`\n${title}: ${(samples.length / sampleRate).toFixed(1)} s of sound in chunks of 32 ms`);
  let chunk = 0;
  const inTime: Detect = async (next) => {
    if (!options.fast) await pause((chunkSamples / sampleRate) * 1000);
    return detect(next);
  };
  const began = performance.now();
  const probabilities = await detectSpeech(samples, inTime, (speech) => drawBar(chunk++, speech));
  if (isTerminal) process.stdout.write('\r\u001b[2K');
  const segments = speechSegments(probabilities);
  for (const { startSeconds, endSeconds } of segments)
    console.log(`  speech from ${startSeconds.toFixed(2)} s to ${endSeconds.toFixed(2)} s`);
  const highest = Math.max(...probabilities);
  console.log(
    `  ${segments.length} segment(s), highest probability ${highest.toFixed(2)}, ${(performance.now() - began).toFixed(0)} ms in all`,
  );
  if (segments.length === 0) process.exitCode = 1;
};

const connections = [
  { title: 'gRPC, one bidirectional stream', connect: () => connectGrpc(`${options.host}:${options['grpc-port']}`) },
  { title: 'WebSocket, binary frames', connect: () => connectWebSocket(`ws://${options.host}:${options['http-port']}`) },
];
for (const { title, connect } of connections) {
  const connection = await connect().catch((error: unknown) => {
    console.error(`cannot reach a server there (${String(error)}): start one with \`npm start\``);
    process.exit(1);
  });
  await stream(title, connection.detect);
  connection.close();
}
