import type { Protocol } from '../load/load.ts';

/** Audio in real time: so many streams, each of which sends a chunk every 32 ms whether it has been answered or not. */
export interface RealTime {
  readonly protocol: Extract<Protocol, 'grpc-stream' | 'websocket'>;
  readonly port: number;
  readonly model: string;
  readonly streams: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export interface RealTimeResult {
  readonly answered: number;
  /** Chunks that had no answer long after the end. */
  readonly missing: number;
  /** The first thing that went wrong; `''` for nothing. */
  readonly fault: string;
  /** From the moment at which a chunk was due to its answer. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How late the generator itself sent, at the 99th percentile. */
  readonly lateMs: number;
}

/** 512 samples at 16 kHz. */
export const chunkMs = 32;
