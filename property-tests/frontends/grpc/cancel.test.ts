import fc from 'fast-check';
import { asapScheduler, asyncScheduler, type Observable, scheduled, throwError } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { encode, messageType } from '../../../test/frontends/grpc/support/client.ts';
import { counting, echo, echoing, HeldModel, TestDataPlane, variableSpec } from '../../../test/frontends/grpc/support/data-plane.ts';
import { type RawCall, RawClient } from '../../../test/frontends/grpc/support/raw-client.ts';
import { noCounts, type Serving, serve } from '../../../test/frontends/grpc/support/serving.ts';
import { propertyParameters } from '../../parameters.ts';

const held = new HeldModel();
let dataPlane: TestDataPlane;
let serving: Serving;

const later = (answers: readonly InferResponse[]): Observable<InferResponse> => scheduled(answers, asyncScheduler);

beforeAll(async () => {
  dataPlane = new TestDataPlane()
    .add(variableSpec('now'), echoing)
    .add(variableSpec('soon'), (request) => scheduled([echo(request)], asapScheduler))
    .add(variableSpec('later'), (request) => later([echo(request)]))
    .add(variableSpec('never'), held.infer)
    .add(variableSpec('failing'), () => throwError(() => new InferError('INTERNAL', 'no good', { reason: 'BACKEND' })))
    .add(variableSpec('many', { decoupled: true }), counting(5))
    .add(variableSpec('many_later', { decoupled: true }), (request) => later([1, 2, 3, 4].map(() => echo(request, { isLast: false }))));
  serving = await serve(dataPlane);
});
afterAll(() => serving.stop());

const single = fc.constantFrom('now', 'soon', 'later', 'never', 'failing', 'nobody');
const any = fc.oneof(single, fc.constantFrom('many', 'many_later'));

interface Plan {
  readonly path: string;
  readonly models: readonly string[];
  readonly halfCloses: boolean;
  /** Turns of the event loop until the call is cancelled: from before it is sent until after it is answered. */
  readonly turns: number;
}

const turns = fc.integer({ min: 0, max: 25 });
const service = '/inference.GRPCInferenceService';
const unary: fc.Arbitrary<Plan> = fc.record({
  path: fc.constant(`${service}/ModelInfer`),
  models: single.map((model) => [model]),
  halfCloses: fc.constant(true),
  turns,
});
const stream: fc.Arbitrary<Plan> = fc.record({
  path: fc.constant(`${service}/ModelStreamInfer`),
  models: fc.array(any, { maxLength: 6 }),
  halfCloses: fc.boolean(),
  turns,
});

const requestType = messageType('inference.ModelInferRequest');
const ask = (model: string): Buffer =>
  encode(requestType, {
    model_name: model,
    inputs: [{ name: 'IN', datatype: 'UINT8', shape: [3000] }],
    raw_input_contents: [Buffer.alloc(3000)],
  });

const afterTurns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

const start = (client: RawClient, { path, models, halfCloses }: Plan): RawCall => {
  const call = client.call(path);
  for (const model of models) call.send(ask(model));
  if (halfCloses) call.halfClose();
  return call;
};

const expectNothingLeft = async (): Promise<void> => {
  while (serving.server.counters().calls > 0) await afterTurns(1);
  expect(serving.server.counters()).toEqual(noCounts);
  expect(dataPlane.running).toBe(0);
  expect(held.held).toEqual([]);
};

const plans = fc.array(fc.oneof(unary, stream), { minLength: 1, maxLength: 40, size: 'max' });

describe('cancelling at any moment leaves nothing behind', () => {
  // Kills: a request left in a stream's set, a model that is not unsubscribed, an answer counted as waiting after its call has gone, no look at `aborted`.
  it('of single calls', async () => {
    const runs = fc.asyncProperty(plans, async (all) => {
      const client = new RawClient(serving.server.port);
      const cancel = async (plan: Plan): Promise<void> => {
        const call = start(client, plan);
        await afterTurns(plan.turns);
        call.cancel();
        await call.closed;
      };
      await Promise.all(all.map(cancel));
      await expectNothingLeft();
      client.cut();
    });
    await fc.assert(runs, propertyParameters(0.04));
  });

  it('of whole connections', async () => {
    const runs = fc.asyncProperty(plans, turns, async (all, cutAfter) => {
      const client = new RawClient(serving.server.port);
      const calls = all.map((plan) => start(client, plan));
      await afterTurns(cutAfter);
      client.cut();
      await Promise.all(calls.map(({ closed }) => closed));
      await expectNothingLeft();
    });
    await fc.assert(runs, propertyParameters(0.025));
  });
});
