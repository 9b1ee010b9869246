import type { DataPlane, ServedModel } from '../../streams/inference/data-plane.ts';
import { InferError } from '../../streams/inference/error.ts';
import type { HeaderPattern } from '../../streams/inference/header-forwarding.ts';
import type { Log } from '../../streams/inference/log.ts';
import type { ModelSpec } from '../../streams/inference/model-spec.ts';
import { AnswerRoom, answerRoomConfig } from './answer-room.ts';
import type { OpenCalls } from './open-calls.ts';
import type { ForwardedMetadata } from './parse-request.ts';
import { type ServedAnswers, servedAnswers } from './served-answers.ts';
import type { Metadata } from './transport/metadata.ts';
import { readInferRequest, type WireRequest } from './wire/infer-request.ts';
import { StringTable } from './wire/string-table.ts';
import { MalformedMessage } from './wire/wire-reader.ts';

/** What both inference calls need, for one server. */
export class InferService {
  readonly dataPlane: DataPlane;
  readonly calls: OpenCalls;
  readonly log: Log;
  readonly room = new AnswerRoom(answerRoomConfig);
  readonly #isForwarded: HeaderPattern | undefined;
  readonly #strings = new StringTable();
  readonly #answers = new WeakMap<ModelSpec, ServedAnswers>();

  constructor(dataPlane: DataPlane, calls: OpenCalls, log: Log, isForwarded: HeaderPattern | undefined) {
    this.dataPlane = dataPlane;
    this.calls = calls;
    this.log = log;
    this.#isForwarded = isForwarded;
  }

  get isShuttingDown(): boolean {
    return this.calls.isShuttingDown || this.dataPlane.isExiting();
  }

  /** @throws InferError INTERNAL, as gRPC has it, for bytes that are no such message */
  read(message: Buffer): WireRequest {
    try {
      return readInferRequest(message, this.#strings);
    } catch (error) {
      throw asParseError(error);
    }
  }

  answersOf({ spec }: ServedModel): ServedAnswers {
    const known = this.#answers.get(spec);
    if (known !== undefined) return known;
    const answers = servedAnswers(spec);
    this.#answers.set(spec, answers);
    return answers;
  }

  /** What of a call's metadata may be forwarded; undefined when the server forwards none. Of several values of one key the last counts. */
  forwarded(metadata: Metadata): ForwardedMetadata | undefined {
    if (this.#isForwarded === undefined) return undefined;
    return { isForwarded: this.#isForwarded, entries: [...metadata.entries()] };
  }
}

/** `contents` is read after the rest, so that this may come late. */
export const asParseError = (error: unknown): unknown =>
  error instanceof MalformedMessage
    ? new InferError('INTERNAL', `failed to parse ModelInferRequest: ${error.message}`, { cause: error })
    : error;
