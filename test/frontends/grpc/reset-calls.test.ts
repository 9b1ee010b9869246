import { concat, NEVER, of } from 'rxjs';
import { afterEach, beforeEach, it } from 'vitest';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { until } from '../../support/until.ts';
import { encode, messageType } from './support/client.ts';
import { echo, TestDataPlane, variableSpec } from './support/data-plane.ts';
import { nothingIsLeft } from './support/nothing-left.ts';
import { RawClient, type ResetReason } from './support/raw-client.ts';
import { type Serving, serve } from './support/serving.ts';

const large = new Tensor('UINT8', [200_000], new Uint8Array(200_000));

/** Answers more than a client's window takes, and then falls silent. */
const silent: Infer = (request) => {
  const answer = echo(request, { outputs: new Map([['OUT', large]]), isLast: false });
  return concat(of(answer, answer), NEVER);
};

let dataPlane: TestDataPlane;
let serving: Serving;
let client: RawClient;

beforeEach(async () => {
  dataPlane = new TestDataPlane().add(variableSpec('silent', { decoupled: true }), silent).add(variableSpec('never'), () => NEVER);
  serving = await serve(dataPlane);
  client = new RawClient(serving.server.port);
});
afterEach(async () => {
  client.cut();
  await serving.stop();
});

const requestTo = (model: string): Buffer =>
  encode(messageType('inference.ModelInferRequest'), {
    model_name: model,
    inputs: [{ name: 'IN', datatype: 'UINT8', shape: [1] }],
    raw_input_contents: [Buffer.alloc(1)],
  });

// The connection stays open each time.
it.each<ResetReason>(['cancel', 'none'])('tells the model of a single call that it was reset, with the reason: %s', async (reason) => {
  const call = client.call('/inference.GRPCInferenceService/ModelInfer');
  call.send(requestTo('never'));
  call.halfClose();
  await until(() => dataPlane.running === 1);
  call.cancel(reason);
  await nothingIsLeft(dataPlane, serving);
});

it.each<ResetReason>(['cancel', 'none'])(
  'tells a silent model that its stream was reset before all was read, with the reason: %s',
  async (reason) => {
    const call = client.call('/inference.GRPCInferenceService/ModelStreamInfer');
    call.pause();
    call.send(requestTo('silent'));
    await until(() => serving.server.counters().outboxBytes > 0);
    call.cancel(reason);
    await nothingIsLeft(dataPlane, serving);
  },
);
