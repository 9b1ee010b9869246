import { readFileSync } from 'node:fs';

export interface Sound {
  readonly sampleRate: number;
  /** In [-1, 1]. */
  readonly samples: Float32Array;
}

/** Reads a mono 16-bit PCM WAV file. */
export const readWav = (path: string): Sound => {
  const file = readFileSync(path);
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE') throw new Error(`${path} is not a WAV file`);
  let sampleRate = 0;
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    const start = at + 8;
    if (name === 'fmt ') {
      const [format, channels, bits] = [file.readUInt16LE(start), file.readUInt16LE(start + 2), file.readUInt16LE(start + 14)];
      if (format !== 1 || channels !== 1 || bits !== 16) throw new Error(`${path} is not mono 16-bit PCM`);
      sampleRate = file.readUInt32LE(start + 4);
    }
    if (name === 'data') {
      const end = Math.min(start + size, file.length);
      const samples = new Float32Array((end - start) >> 1);
      for (let i = 0; i < samples.length; i++) samples[i] = file.readInt16LE(start + 2 * i) / 32_768;
      return { sampleRate, samples };
    }
    at = start + size + (size & 1);
  }
  throw new Error(`${path} holds no sound`);
};
