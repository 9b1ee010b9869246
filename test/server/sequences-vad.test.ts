import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Chunk, chunkSamples, type Segment, speechSegments } from '../../examples/clients/speech.ts';
import { readWav } from '../../examples/clients/wav.ts';
import { vadModel } from '../../scripts/examples/vad.ts';
import { Server } from '../../src/index.ts';
import { tensorFrom } from '../../src/streams/tensors/tensor-from-values.ts';
import { type ModelRepository, modelRepository } from './support/model-repository.ts';
import { grpcClients, grpcLine, type Line, webSocketLine } from './support/vad-lines.ts';

const root = join(import.meta.dirname, '..', '..');
const local = { address: '127.0.0.1', port: 0 };

/** Long enough that nobody is idle by being slow, which on a busy machine can take a while. */
const idleMs = 4000;

const chunks = (): readonly Chunk[] => {
  const { samples } = readWav(join(root, 'examples', 'data', 'speech-16k.wav'));
  const count = Math.floor(samples.length / chunkSamples);
  return Array.from({ length: count }, (_, index) => ({
    samples: samples.subarray(index * chunkSamples, (index + 1) * chunkSamples),
    isFirst: index === 0,
    isLast: index === count - 1,
  }));
};

const sound = chunks();
const middle = Math.floor(sound.length / 2);

let repository: ModelRepository;
let server: Server;

beforeAll(async () => {
  const written = await readFile(join(root, 'scripts', 'examples', 'models', 'vad', 'config.pbtxt'), 'utf8');
  const config = written.replace(/max_sequence_idle_microseconds: \d+/, `max_sequence_idle_microseconds: ${idleMs * 1000}`);
  expect(config).not.toBe(written);
  repository = await modelRepository({ vad: config, stateless: '' });
  const silero = await readFile(join(root, 'node_modules', '@ricky0123', 'vad-web', 'dist', 'silero_vad_v5.onnx'));
  // Without a config it is what its file says: a model that batches, whose caller carries what it remembers.
  for (const name of ['vad', 'stateless']) await writeFile(join(repository.path, name, '1', 'model.onnx'), vadModel(silero));
  server = await Server.start({ modelRepository: repository.path, http: local, grpc: local, log: { warning: false } });
});

afterAll(async () => {
  await server.close();
  await repository[Symbol.asyncDispose]();
});

const listen = async (line: Line, from: number, to: number): Promise<number[]> => {
  const probabilities: number[] = [];
  for (const chunk of sound.slice(from, to)) probabilities.push(await line.say(chunk));
  return probabilities;
};

const wholeSound = async (line: Line): Promise<number[]> => {
  const probabilities = await listen(line, 0, sound.length);
  await line.close();
  return probabilities;
};

interface Outcome {
  readonly segments: readonly Segment[];
  readonly failures: readonly string[];
}

const failureOf = (step: Promise<number>): Promise<string> =>
  step.then(
    () => 'none',
    (error: Error) => error.message,
  );

/** Says everything, and nothing that is wrong. */
const wellBehaved = async (line: Line): Promise<Outcome> => ({ segments: speechSegments(await wholeSound(line)), failures: [] });

/** Goes away in the middle, with a step under way. */
const killed = async (line: Line): Promise<Outcome> => {
  await listen(line, 0, middle);
  const [next] = sound.slice(middle);
  if (next !== undefined) line.say(next).catch(() => undefined);
  line.hangUp();
  return { segments: [], failures: [] };
};

/** Says nothing until its sequence has been given up, goes on as if nothing had been, and then begins anew. */
const idle = async (line: Line): Promise<Outcome> => {
  await listen(line, 0, middle);
  await pause(idleMs + 500);
  const failures: string[] = [];
  for (const chunk of sound.slice(middle, middle + 2)) failures.push(await failureOf(line.say(chunk)));
  return { segments: speechSegments(await wholeSound(line)), failures };
};

/** Forgets the START of its first steps, and then begins anew. */
const outOfOrder = async (line: Line): Promise<Outcome> => {
  const failures: string[] = [];
  for (const chunk of sound.slice(1, 3)) failures.push(await failureOf(line.say(chunk)));
  return { segments: speechSegments(await wholeSound(line)), failures };
};

const behaviours: Readonly<Record<number, (line: Line) => Promise<Outcome>>> = { 7: killed, 21: idle, 42: outOfOrder };

/** 64 streams at once; the sequence id of each is `firstId` and its number. */
const outcomes = async (firstId: number, open: (sequenceId: number, index: number) => Promise<Line>): Promise<readonly Outcome[]> => {
  const lines = await Promise.all(Array.from({ length: 64 }, (_, index) => open(firstId + index, index)));
  return Promise.all(lines.map((line, index) => (behaviours[index] ?? wellBehaved)(line)));
};

/** What the model hears whose caller carries the states, with nobody beside it. */
const alone = async (): Promise<readonly Segment[]> => {
  const probabilities: number[] = [];
  let carried = {
    CONTEXT: tensorFrom('FP32', [1, 64], new Float32Array(64)),
    STATE: tensorFrom('FP32', [1, 2, 128], new Float32Array(256)),
  };
  for (const { samples } of sound) {
    const inputs = { AUDIO: { shape: [1, chunkSamples], values: samples }, ...carried };
    const answer = await server.model('stateless').inferOnce({ inputs });
    probabilities.push(Number(answer.values('SPEECH')[0]));
    carried = { CONTEXT: answer.tensor('CONTEXT_OUT'), STATE: answer.tensor('STATE_OUT') };
  }
  return speechSegments(probabilities);
};

const check = (firstId: number, all: readonly Outcome[], segments: readonly Segment[]): void => {
  const needsStart = (index: number): string =>
    `inference request for sequence ${firstId + index} to model 'vad' must specify the START flag on the first request of the sequence`;
  for (const [index, outcome] of all.entries()) {
    const who = `sequence ${firstId + index}`;
    expect(outcome.segments, who).toEqual(index === 7 ? [] : segments);
    expect(outcome.failures, who).toHaveLength(index === 21 || index === 42 ? 2 : 0);
  }
  for (const failure of all[42]?.failures ?? []) expect(failure).toContain(needsStart(42));
  const [first, second] = all[21]?.failures ?? [];
  expect(first).toMatch(/idle/);
  expect(second).toContain(needsStart(21));
};

// Both at once, so that they share the wait for the idle limit.
it('64 streams over gRPC and 64 over WebSocket hear what one hears alone, whatever three of them do', { timeout: 120_000 }, async () => {
  const segments = await alone();
  expect(segments.length).toBeGreaterThan(0);
  const { grpc = 0, http = 0 } = server.ports;
  const clients = grpcClients(grpc, 8);
  const [overGrpc, overWebSocket] = await Promise.all([
    outcomes(1000, (id, index) => grpcLine(clients(index), id)),
    outcomes(2000, (id) => webSocketLine(http, id)),
  ]);
  check(1000, overGrpc, segments);
  check(2000, overWebSocket, segments);
});
