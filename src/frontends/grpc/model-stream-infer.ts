import { type Place, WaitingList } from '../../streams/flow/waiting-list.ts';
import { InferError } from '../../streams/inference/error.ts';
import { shuttingDown, toClientError } from './client-error.ts';
import { asParseError, type InferService } from './infer-service.ts';
import type { OpenCall } from './open-calls.ts';
import { type ForwardedMetadata, parseRequest } from './parse-request.ts';
import { parseVersion } from './parse-version.ts';
import { answerError, issueError } from './render-response.ts';
import type { StreamMarks } from './stream-marks.ts';
import { StreamOutlet } from './stream-outlet.ts';
import { type StreamMessage, StreamRequest, type StreamRequestOwner } from './stream-request.ts';
import type { Call, CallListener, Serve } from './transport/call.ts';
import { type CallStatus, okStatus, toStatus } from './transport/call-status.ts';
import type { Metadata } from './transport/metadata.ts';
import type { WireRequest } from './wire/infer-request.ts';

const noRoom = (): InferError =>
  new InferError('RESOURCE_EXHAUSTED', 'too many bytes of answers wait to be sent: the client reads them too slowly');

/**
 * `ModelStreamInfer`: any number of requests on one call. It is read for as long as the server has room for what it asks, so that a fast
 * client is paused and a slow one pauses itself.
 */
class InferStream implements CallListener, OpenCall, StreamRequestOwner {
  place: Place<OpenCall> | undefined;
  readonly #call: Call;
  readonly #service: InferService;
  readonly #marks: StreamMarks;
  readonly #outlet: StreamOutlet;
  /** Requests that are not answered in full, or whose answer waits for its turn. */
  readonly #active = new WaitingList<StreamRequest>();
  #activeBytes = 0;
  #reservedBytes = 0;
  #forwarded: ForwardedMetadata | undefined;
  #endsAtError = false;
  #isReading = false;
  #isAsking = false;
  #isHalfClosed = false;
  #isEnding = false;

  constructor(call: Call, service: InferService, marks: StreamMarks) {
    this.#call = call;
    this.#service = service;
    this.#marks = marks;
    this.#outlet = new StreamOutlet({
      call,
      marks,
      onRoom: () => {
        this.#wakeModels();
        this.#read();
      },
      onRead: () => this.#read(),
      onRefused: () => this.#end(toStatus(noRoom())),
      onSent: (request) => {
        request.isSent = true;
        this.#settle(request);
      },
    });
  }

  get requestsInFlight(): number {
    return this.#active.length;
  }

  get outboxBytes(): number {
    return this.#outlet.queuedBytes;
  }

  onReceiveMetadata(metadata: Metadata): void {
    const { calls } = this.#service;
    if (this.#service.isShuttingDown) {
      this.#isEnding = true;
      this.#call.sendStatus(toStatus(shuttingDown()));
      return;
    }
    this.#forwarded = this.#service.forwarded(metadata);
    this.#endsAtError = metadata.has('triton_grpc_error', 'true');
    calls.add(this);
    this.#read();
  }

  onReceiveMessage(message: Buffer): void {
    this.#isReading = false;
    if (this.#isEnding) return;
    try {
      this.#accept(this.#service.read(message));
    } catch (error) {
      this.#end(toStatus(toClientError(error, this.#service.log)));
    }
    this.#read();
  }

  onReceiveHalfClose(): void {
    this.#isReading = false;
    this.#isHalfClosed = true;
    this.#finishWhenIdle();
  }

  onCancel(): void {
    this.#isEnding = true;
    this.#cancelAll();
    this.#outlet.close();
    this.#service.calls.delete(this);
  }

  /** Answers what is in flight, refuses what comes meanwhile, then ends. */
  shutDown(): void {
    this.#finishWhenIdle();
  }

  onMessage(request: StreamRequest, message: StreamMessage): void {
    if (this.#isEnding) return;
    this.#release(request);
    if (this.#outlet.takesAnswers) this.#outlet.send(request, message);
    else this.onFailure(request, noRoom());
  }

  get takesMore(): boolean {
    return this.#outlet.isOpen;
  }

  onAnswerError(request: StreamRequest, error: unknown): void {
    if (this.#isEnding) return;
    const failure = toClientError(error, this.#service.log);
    if (this.#endsAtError) this.#end(toStatus(failure));
    else this.onMessage(request, answerError(request.asked, failure.message, 'more'));
  }

  onFailure(request: StreamRequest, error: unknown): void {
    if (this.#isEnding) return;
    const failure = toClientError(error, this.#service.log);
    const isIssueError = request.isBeingIssued && failure.reason !== 'BACKEND';
    this.#release(request);
    request.unsubscribe();
    if (this.#endsAtError && !isIssueError) {
      this.#end(toStatus(failure));
      return;
    }
    const { message } = failure;
    this.#outlet.send(request, isIssueError ? issueError(request.asked.id, message) : answerError(request.asked, message, 'last'));
    this.#settle(request);
  }

  onEnd(request: StreamRequest): void {
    this.#release(request);
    this.#settle(request);
  }

  /** Asks for the next message, in a loop: it may have come already and is then handed over before `startRead` returns. */
  #read(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (!this.#isReading && !this.#isHalfClosed && !this.#isEnding && this.#hasRoom()) {
      this.#isReading = true;
      this.#call.startRead();
    }
    this.#isAsking = false;
  }

  /** A request holds room for its answer from the start, so that answers find some when they come. One may always run. */
  #hasRoom(): boolean {
    const { requests, requestBytes, pauseAboveBytes, expectAboveBytes } = this.#marks;
    if (!this.#outlet.isOpen) return false;
    if (this.#active.length === 0) return true;
    if (this.#active.length >= requests || this.#activeBytes >= requestBytes) return false;
    const answerBytes = this.#reservedBytes + this.#outlet.queuedBytes;
    return answerBytes < (this.#outlet.isUnread ? pauseAboveBytes : expectAboveBytes);
  }

  #accept(wire: WireRequest): void {
    const request = new StreamRequest(this, wire, wire.bytes.length);
    request.place = this.#active.push(request);
    this.#activeBytes += request.requestBytes;
    try {
      this.#issue(request, wire);
    } catch (error) {
      if (!request.closed) this.onFailure(request, asParseError(error));
    }
  }

  #issue(request: StreamRequest, wire: WireRequest): void {
    const service = this.#service;
    if (service.isShuttingDown) throw shuttingDown();
    const version = parseVersion(wire.modelVersion);
    const served = service.dataPlane.model(wire.modelName, version);
    request.setModel(service.answersOf(served), served.spec.decoupled ? 'decoupled' : 'single');
    this.#reservedBytes += request.reservedBytes;
    if (request.isInTurn) this.#outlet.lineUp(request);
    const parsed = parseRequest(wire, version, served.spec, this.#forwarded);
    request.wantsEmptyFinal = parsed.wantsEmptyFinal;
    served.infer(request.isInTurn ? parsed.request : { ...parsed.request, demand: request }).subscribe(request);
    request.isBeingIssued = false;
  }

  /** Who goes first, and may take all of the room, is the last the next time. */
  #wakeModels(): void {
    for (let left = this.#active.length; left > 0 && this.takesMore; left--) {
      const request = this.#active.first;
      if (request?.place === undefined) return;
      this.#active.renew(request.place);
      request.reopen();
    }
  }

  #release(request: StreamRequest): void {
    this.#reservedBytes -= request.reservedBytes;
    request.reservedBytes = 0;
  }

  /** Forgets a request that has ended and whose message has gone. */
  #settle(request: StreamRequest): void {
    if (!request.closed || (request.isInTurn && !request.isSent)) return;
    if (request.place === undefined || !this.#active.remove(request.place)) return;
    this.#activeBytes -= request.requestBytes;
    this.#finishWhenIdle();
    this.#read();
  }

  #finishWhenIdle(): void {
    if (this.#active.length > 0) return;
    if (this.#isHalfClosed) this.#end(okStatus);
    else if (this.#service.calls.isShuttingDown) this.#end(toStatus(shuttingDown()));
  }

  #end(status: CallStatus): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#cancelAll();
    this.#outlet.end(status);
  }

  #cancelAll(): void {
    const active = [...this.#active];
    this.#active.clear();
    this.#activeBytes = 0;
    this.#reservedBytes = 0;
    for (const request of active) request.unsubscribe();
  }
}

export const modelStreamInfer =
  (service: InferService, marks: StreamMarks): Serve =>
  (call) =>
    new InferStream(call, service, marks);
