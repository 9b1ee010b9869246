import { Observable } from 'rxjs';
import { serveGrpc } from '../../../../src/frontends/grpc/serve-grpc.ts';
import { machineScheduler } from '../../../../src/streams/flow/clock.ts';
import { produce } from '../../../../src/streams/flow/produce.ts';
import type { Infer } from '../../../../src/streams/inference/infer.ts';
import { Tensor } from '../../../../src/streams/tensors/tensor.ts';
import { echo, TestDataPlane, variableSpec } from './data-plane.ts';
import { grpcConfig } from './serving.ts';

/** A server in a process of its own, whose memory is measured. It sends its port, then what it has done whenever it is asked. */
const mebibyte = 2 ** 20;
const memory = new Uint8Array(mebibyte).fill(1);

/** Answers emitted so far. */
let emitted = 0;

const filling: Infer = (request) =>
  new Observable((subscriber) => {
    const count = Number(request.parameters.get('count') ?? 1);
    for (let index = 0; index < count && !subscriber.closed; index++) {
      emitted++;
      subscriber.next(echo(request, { outputs: new Map([['OUT', new Tensor('UINT8', [mebibyte], memory)]]), isLast: false }));
    }
    subscriber.complete();
  });

const small = new Tensor('UINT8', [1024], memory, 0, 1024);

/** The same by a model that waits for room. */
const patient: Infer = (request) =>
  produce({
    count: Number(request.parameters.get('count') ?? 1),
    make: () => {
      emitted++;
      return echo(request, { outputs: new Map([['OUT', small]]), isLast: false });
    },
    delayMs: () => 0,
    demand: request.demand,
    scheduler: machineScheduler,
  });

const dataPlane = new TestDataPlane()
  .add(variableSpec('fill'), filling)
  .add(variableSpec('stream', { decoupled: true }), filling)
  .add(variableSpec('patient', { decoupled: true }), patient);
const server = await serveGrpc(dataPlane, grpcConfig());

process.on('message', (question) => {
  if (question === 'stop') {
    void server.close(AbortSignal.abort()).then(() => process.disconnect());
    return;
  }
  process.send?.({ emitted, peakBytes: process.resourceUsage().maxRSS * 1024, ...server.counters() });
});
process.send?.(server.port);
