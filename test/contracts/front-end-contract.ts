import { Observable } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DataPlane } from '../../src/streams/inference/data-plane.ts';
import { type ErrorCode, InferError } from '../../src/streams/inference/error.ts';
import type { Listening } from '../../src/streams/inference/front-end.ts';
import type { Infer } from '../../src/streams/inference/infer.ts';
import type { Datatype } from '../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../src/streams/tensors/tensor.ts';
import { folderOf } from '../repository/support/folders.ts';
import { openRepository } from '../repository/support/open-repository.ts';
import { HeldModel } from '../support/held-model.ts';
import { makeSpec } from '../support/model.ts';
import { withModels } from '../support/overlay.ts';
import { inferResponse } from '../support/request-fixtures.ts';
import { until } from '../support/until.ts';

export interface QuestionTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** An infer request; answers come as bytes. */
export interface Question {
  readonly model: string;
  readonly inputs: readonly QuestionTensor[];
}

/** What the client saw. */
export interface Outcome {
  /** As the protocol has it: what `statusOf` says. */
  readonly status: string;
  /** `''` for success. */
  readonly message: string;
  readonly outputs: readonly QuestionTensor[];
}

export interface Begun {
  readonly outcome: Promise<Outcome>;
  /** Takes the request back in the protocol's own way; its outcome may then be anything, or never come. */
  cancel(): void;
}

export interface FrontEndClient {
  begin(question: Question): Begun;
  close(): void;
}

/** A front end, and how its clients do what every front end's clients do. */
export interface FrontEndUnderTest {
  readonly name: string;
  statusOf(code: ErrorCode | 'OK'): string;
  /** On a free port. */
  open(dataPlane: DataPlane): Promise<Listening>;
  connect(listening: Listening): Promise<FrontEndClient>;
  /** Sends what is no request; resolves once the server has answered or closed the connection. */
  sendGarbage(listening: Listening): Promise<void>;
  /** Sends so many requests at once and reads nothing. */
  readNothing(listening: Listening, question: Question, count: number): Promise<{ leave(): void }>;
}

const identity = (more: string): string =>
  `backend: "identity"
input { name: "IN" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 4 ] }
max_batch_size: 4
${more}`;

const ints = (...values: readonly number[]): QuestionTensor => ({
  name: 'IN',
  datatype: 'INT32',
  shape: [1, values.length],
  bytes: new Uint8Array(Int32Array.from(values).buffer),
});

const ask = (model: string, ...inputs: readonly QuestionTensor[]): Question => ({ model, inputs });

const largeBytes = 4 * 1024 * 1024;

const large: Infer = (request) =>
  new Observable((subscriber) => {
    const tensor = new Tensor('UINT8', [largeBytes], new Uint8Array(largeBytes));
    subscriber.next(inferResponse({ OUT: tensor }, { modelName: 'large', id: request.id }));
    subscriber.complete();
  });

const never = new AbortController().signal;

/** What every front end keeps, whatever its protocol. */
export const frontEndContract = ({ name, statusOf, open, connect, sendGarbage, readNothing }: FrontEndUnderTest): void => {
  /** Real models `echo` and `slow`, which lasts ten minutes and lets `queue` requests wait, and the scripted ones `held` and `large`. */
  const setUp = async (queue = 100) => {
    const files = {
      'echo/config.pbtxt': identity('dynamic_batching {}'),
      'echo/1/': '',
      'slow/config.pbtxt': identity('parameters { key: "execute_delay_ms" value { string_value: "600000" } }'),
      'slow/1/': '',
    };
    const { repository } = await openRepository([await folderOf(files)], { defaultMaxQueueSize: queue });
    const held = new HeldModel();
    const largeModel = { spec: makeSpec({ name: 'large', maxBatchSize: 0, inputs: [] }), infer: large };
    const dataPlane = withModels(repository.dataPlane, [held.served, largeModel]);
    const listening = await open(dataPlane);
    onTestFinished(() => listening.close(AbortSignal.abort()));
    const client = async (): Promise<FrontEndClient> => {
      const connected = await connect(listening);
      onTestFinished(() => connected.close());
      return connected;
    };
    const stagesOf = (model: string) => dataPlane.graphs().find((graph) => graph.model === model)?.stages ?? [];
    /** Requests that wait in or run on a real model. */
    const inside = (model: string): number => stagesOf(model).reduce((sum, { queued, running }) => sum + queued + running, 0);
    return { held, listening, client, inside };
  };

  const works = async (client: FrontEndClient): Promise<void> => {
    const { status, message, outputs } = await client.begin(ask('echo', ints(1, -2, 3, 4))).outcome;
    expect({ status, message, outputs: outputs.map((output) => ({ ...output, bytes: [...output.bytes] })) }).toEqual({
      status: statusOf('OK'),
      message: '',
      outputs: [{ ...ints(1, -2, 3, 4), name: 'OUT', bytes: [...ints(1, -2, 3, 4).bytes] }],
    });
  };

  describe(`the contract of front ends: ${name}`, () => {
    it('answers with the right bytes', async () => {
      const { client } = await setUp();
      const connected = await client();
      for (let turn = 0; turn < 3; turn++) await works(connected);
    });

    it('gives each of many requests its own answer', async () => {
      const { client } = await setUp();
      const clients = await Promise.all([client(), client(), client(), client()]);
      const numbers = Array.from({ length: 40 }, (_, n) => n);
      const outcomes = await Promise.all(
        clients.flatMap((connected, which) =>
          numbers.slice(which * 10, which * 10 + 10).map((n) => connected.begin(ask('echo', ints(n, n, n, n))).outcome),
        ),
      );
      expect(outcomes.map(({ outputs }) => Buffer.from(outputs[0]?.bytes ?? []).readInt32LE(0))).toEqual(numbers);
    });

    it('says what is wrong, with its own status', async () => {
      const { held, client } = await setUp();
      const connected = await client();
      const outcomeOf = async (question: Question): Promise<string> => {
        const { status, message } = await connected.begin(question).outcome;
        return `${status} ${message}`;
      };
      expect(await outcomeOf(ask('nobody'))).toBe(`${statusOf('NOT_FOUND')} Request for unknown model: 'nobody' is not found`);
      expect(await outcomeOf(ask('echo', ints(1, 2, 3)))).toContain(
        "unexpected shape for input 'IN' for model 'echo'. Expected [-1,4], got [1,3]",
      );
      expect(await outcomeOf(ask('echo', ints(1, 2, 3)))).toContain(statusOf('INVALID_ARGUMENT'));
      expect(await outcomeOf(ask('echo'))).toContain("missing required input(s) ['IN']");
      for (const code of ['INTERNAL', 'UNAVAILABLE', 'UNIMPLEMENTED', 'RESOURCE_EXHAUSTED', 'UNKNOWN', 'ALREADY_EXISTS'] as const) {
        const outcome = outcomeOf(ask('held'));
        await held.holds(1);
        held.fail(new InferError(code, `because of ${code}`));
        expect(await outcome).toBe(`${statusOf(code)} because of ${code}`);
      }
      await works(connected);
    });

    it('never shows a client the cause of an error', async () => {
      const { held, client } = await setUp();
      const begun = (await client()).begin(ask('held'));
      await held.holds(1);
      held.fail(new InferError('INTERNAL', 'it broke', { cause: new Error('secret') }));
      expect(JSON.stringify(await begun.outcome)).not.toContain('secret');
    });

    it('refuses at once what finds the queue full', async () => {
      const { client, inside } = await setUp(1);
      const [first, second, third] = await Promise.all([client(), client(), client()]);
      first.begin(ask('slow', ints(1, 1, 1, 1)));
      await until(() => inside('slow') === 1);
      second.begin(ask('slow', ints(2, 2, 2, 2)));
      await until(() => inside('slow') === 2);
      const { status, message } = await third.begin(ask('slow', ints(3, 3, 3, 3))).outcome;
      expect(status).toBe(statusOf('UNAVAILABLE'));
      expect(message).toContain('Exceeds maximum queue size');
    });

    it('takes a request back wherever it is, when its client does', async () => {
      const { held, client, inside } = await setUp();
      const clients = await Promise.all([client(), client(), client()]);
      const begun = clients.map((connected) => connected.begin(ask('slow', ints(1, 1, 1, 1))));
      await until(() => inside('slow') === 3);
      for (const { cancel } of begun.toReversed()) cancel();
      await until(() => inside('slow') === 0);
      const other = (await client()).begin(ask('held'));
      await held.holds(1);
      other.cancel();
      await held.holds(0);
      expect(held.cancelled).toBe(1);
      await works(await client());
    });

    it('takes the requests of a client back that goes away', async () => {
      const { client, inside } = await setUp();
      const connected = await client();
      connected.begin(ask('slow', ints(1, 1, 1, 1)));
      await until(() => inside('slow') === 1);
      connected.close();
      await until(() => inside('slow') === 0);
      await works(await client());
    });

    it('lives on after what is no request', async () => {
      const { client, listening } = await setUp();
      const before = await client();
      await works(before);
      await sendGarbage(listening);
      await works(before);
      await works(await client());
    });

    it('holds little for a client that reads nothing', async () => {
      const { client, listening } = await setUp();
      const other = await client();
      await works(other);
      const held = (): number => process.memoryUsage().arrayBuffers;
      const before = held();
      let most = 0;
      const reader = await readNothing(listening, ask('large'), 64);
      for (let turn = 0; turn < 30; turn++) {
        await works(other);
        most = Math.max(most, held() - before);
      }
      reader.leave();
      // All its answers together would be 256 MiB.
      expect(most).toBeLessThan(64 * 1024 * 1024);
      await works(other);
    });

    it('ends when what it has begun has ended', async () => {
      const { held, client, listening } = await setUp();
      const connected = await client();
      const begun = connected.begin(ask('held'));
      await held.holds(1);
      const closed = listening.close(never);
      held.answer();
      expect((await begun.outcome).status).toBe(statusOf('OK'));
      connected.close();
      await closed;
    });

    it('ends at once at its deadline', async () => {
      const { held, client, listening } = await setUp();
      const begun = (await client()).begin(ask('held'));
      begun.outcome.catch(() => {});
      await held.holds(1);
      await listening.close(AbortSignal.abort());
      await held.holds(0);
    });

    it('leaves nothing behind when it is opened and closed again and again', async () => {
      const { held, listening } = await setUp();
      await listening.close(AbortSignal.abort());
      const dataPlane = withModels((await openRepository([await folderOf({})])).repository.dataPlane, [held.served]);
      const before = process.getActiveResourcesInfo().length;
      for (let turn = 0; turn < 10; turn++) {
        const next = await open(dataPlane);
        const connected = await connect(next);
        expect((await connected.begin(ask('nobody')).outcome).status).toBe(statusOf('NOT_FOUND'));
        connected.close();
        await next.close(never);
      }
      await until(() => process.getActiveResourcesInfo().length <= before);
    });
  });
};
