import { afterAll, describe, expect, it } from 'vitest';
import type { Batch, Instance } from '../../../src/streams/inference/backend.ts';
import type { InferError } from '../../../src/streams/inference/error.ts';
import { HandDemand } from '../../support/hand-demand.ts';
import { until } from '../../support/until.ts';
import {
  answers,
  batchOf,
  executes,
  hasPython,
  modelClass,
  type PythonModel,
  type PythonOptions,
  pythonModel,
  requestOf,
  type SeenPart,
  seen,
} from './python-models.ts';

const opened: PythonModel[] = [];

const start = async (code: string, options: PythonOptions = {}): Promise<Instance> => {
  const model = await pythonModel(code, { ...options, spec: { decoupled: true, ...options.spec } });
  opened.push(model);
  return model.open();
};

afterAll(async () => {
  for (const model of opened) await model.remove();
});

const lines = (): readonly string[] => opened.at(-1)?.log.lines ?? [];

interface Started {
  readonly parts: SeenPart[];
  readonly batch: Batch;
  stop(): void;
  isDone: boolean;
  error?: InferError;
}

const begin = (instance: Instance, batch: Batch, onPart: (part: SeenPart) => void = () => undefined): Started => {
  const started: Started = { parts: [], batch, stop: () => running.unsubscribe(), isDone: false };
  const running = instance.run(batch).subscribe({
    next: (part) => {
      started.parts.push(seen(part));
      onPart(seen(part));
    },
    error: (error: InferError) => {
      started.error = error;
    },
    complete: () => {
      started.isDone = true;
    },
  });
  return started;
};

const numbers = (parts: readonly SeenPart[]): readonly unknown[] => parts.flatMap(({ outputs }) => outputs.Y ?? []);
const count = (n: number): readonly number[] => Array.from({ length: n }, (_, index) => index);

/** X[0] answers, of values from 0, from a thread or from `execute` itself; 0 is answered with how many have been sent so far, and below it ends all. */
const counted = (isThreaded: boolean, size = 1): string =>
  `import os, threading\n${modelClass(`
sent = 0
def execute(self, requests):
    for r in requests:
        n = int(r.inputs()[0].as_numpy()[0])
        if n < 0:
            os._exit(1)
        if n == 0:
            r.get_response_sender().send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([self.sent], np.float32))]), flags=1)
        elif ${isThreaded ? 'True' : 'False'}:
            threading.Thread(target=self.respond, args=(r, n)).start()
        else:
            self.respond(r, n)
def respond(self, request, n):
    sender = request.get_response_sender()
    for value in range(n):
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.full(${size}, value, np.float32))]))
        self.sent += 1
        if self.sent == 256:
            pb_utils.Logger.log_info("room is full")
    pb_utils.Logger.log_info("all sent, cancelled " + str(sender.is_cancelled()))
    sender.send(flags=1)
def finalize(self):
    pb_utils.Logger.log_info("finalized")
`)}`;

const isFull = (): boolean => lines().includes('info room is full');
const allSent = (isCancelled: 'True' | 'False') => (): boolean => lines().includes(`info all sent, cancelled ${isCancelled}`);

describe.skipIf(!hasPython)('a decoupled Python model whose caller has no room', () => {
  it('waits in send for as long, and then answers in order, while other requests are answered', async () => {
    const instance = await start(counted(true));
    const demand = new HandDemand();
    demand.close();
    const slow = begin(instance, batchOf(requestOf([3000], { demand })));
    const sent = async (): Promise<number> => Number(numbers(await answers(instance, batchOf(requestOf([0]))))[0]);
    while ((await sent()) < 256);
    for (let round = 0; round < 50; round++) expect(await sent()).toBe(256);
    expect(slow.parts).toEqual([]);
    demand.open();
    await until(() => slow.isDone);
    expect(numbers(slow.parts)).toEqual(count(3000));
    expect(slow.parts.at(-1)).toEqual({ of: 0, outputs: {}, isLast: true });
  });

  it('waits by bytes too', async () => {
    const instance = await start(counted(true, 2 ** 18));
    const demand = new HandDemand();
    demand.close();
    const slow = begin(instance, batchOf(requestOf([12], { demand })));
    const sent = async (): Promise<number> => Number(numbers(await answers(instance, batchOf(requestOf([0]))))[0]);
    while ((await sent()) < 4);
    for (let round = 0; round < 50; round++) expect(await sent()).toBe(4);
    demand.open();
    await until(() => slow.isDone);
    expect(slow.parts.slice(0, -1).map(({ outputs }) => outputs.Y?.at(-1))).toEqual(count(12));
  });

  it.each([
    ['a thread', true],
    ['execute', false],
  ])('goes on from one answer to the next, in %s', async (_where, isThreaded) => {
    const instance = await start(counted(isThreaded));
    const demand = new HandDemand();
    // Room for one answer at a time.
    const slow = begin(instance, batchOf(requestOf([2000], { demand })), () => {
      demand.close();
      setImmediate(() => demand.open());
    });
    await until(() => slow.isDone);
    expect(numbers(slow.parts)).toEqual(count(2000));
  });

  it.each([
    ['its caller goes', true, (run: Started) => run.batch.onCancelled?.(0)],
    ['its caller goes, in execute', false, (run: Started) => run.batch.onCancelled?.(0)],
    ['the run is given up', true, (run: Started) => run.stop()],
    ['the run is given up, in execute', false, (run: Started) => run.stop()],
  ])('waits no longer when %s', async (_when, isThreaded, end) => {
    const instance = await start(counted(isThreaded));
    const demand = new HandDemand();
    demand.close();
    const run = begin(instance, batchOf(requestOf([3000], { demand })));
    await until(isFull);
    end(run);
    await until(allSent('True'));
    expect(demand.onOpen).toBeUndefined();
    // It is there for others, and nothing of the batch is left.
    expect(numbers(await answers(instance, batchOf(requestOf([0]))))).toEqual([3000]);
  });

  it.each([
    ['a thread', true],
    ['execute', false],
  ])('waits no longer when the model is unloaded, in %s', async (_where, isThreaded) => {
    const instance = await start(counted(isThreaded));
    const demand = new HandDemand();
    demand.close();
    begin(instance, batchOf(requestOf([600], { demand })));
    await until(isFull);
    await opened.at(-1)?.stop();
    expect(lines()).toContain('info finalized');
  });

  it('waits no longer than send-timeout-seconds', async () => {
    const instance = await start(counted(false), { settings: { 'send-timeout-seconds': '1' } });
    const demand = new HandDemand();
    demand.close();
    const run = begin(instance, batchOf(requestOf([257], { demand })));
    await until(allSent('False'));
    expect(run.parts).toEqual([]);
    demand.open();
    await until(() => run.isDone);
    expect(numbers(run.parts)).toEqual(count(257));
  });

  it('does not hold up coroutines: what is too much is handed on without room', async () => {
    const instance = await start(
      modelClass(`
async def execute(self, requests):
    for r in requests:
        sender = r.get_response_sender()
        for n in range(int(r.inputs()[0].as_numpy()[0])):
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([n], np.float32))]))
        sender.send(flags=1)
`),
    );
    const demand = new HandDemand();
    demand.close();
    const run = begin(instance, batchOf(requestOf([3000], { demand })));
    expect(numbers(await answers(instance, batchOf(requestOf([3]))))).toEqual([0, 1, 2]);
    await until(() => run.parts.length === 3001 - 1024);
    demand.open();
    await until(() => run.isDone);
    expect(numbers(run.parts)).toEqual(count(3000));
  });

  it('keeps answers, errors and ends of a batch apart and in order', async () => {
    const instance = await start(
      executes(`
y = lambda n: pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([n], np.float32))])
for r in requests:
    s = r.get_response_sender()
    s.send(y(1))
    s.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("mid", pb_utils.TritonError.UNAVAILABLE)))
    s.send(y(2))
requests[0].get_response_sender().send(flags=1)
if len(requests) == 3:
    raise ValueError("late")
`),
    );
    const demand = new HandDemand();
    demand.close();
    // The first ends by itself, the second with the batch, the third is dropped; only the first two wait.
    const run = begin(instance, batchOf(requestOf([1], { demand }), requestOf([1], { demand: new HandDemand() }), requestOf([1])));
    await until(() => run.parts.filter(({ isLast }) => isLast).length === 2);
    expect(run.parts.some(({ of }) => of === 0)).toBe(false);
    demand.open();
    await until(() => run.isDone);
    const ofEach = [0, 1, 2].map((of) =>
      run.parts.filter((part) => part.of === of).map(({ outputs, error }) => error?.slice(0, 15) ?? outputs.Y),
    );
    expect(ofEach).toEqual([
      [[1], 'UNAVAILABLE mid', [2], undefined],
      [[1], 'UNAVAILABLE mid', [2], 'INTERNAL Failed'],
      [[1], 'UNAVAILABLE mid', [2], 'INTERNAL Failed'],
    ]);
    const dropped = new HandDemand();
    dropped.close();
    const other = begin(instance, batchOf(requestOf([1]), requestOf([1], { demand: dropped })));
    await until(() => other.parts.length === 4);
    dropped.open();
    await until(() => other.isDone);
    expect(other.parts.slice(4).map(({ isLast }) => isLast)).toEqual([false, false, false, true]);
  });

  it('is ended by the end of its process all the same', async () => {
    const instance = await start(counted(true));
    const demand = new HandDemand();
    demand.close();
    const run = begin(instance, batchOf(requestOf([3000], { demand })));
    await until(isFull);
    await expect(answers(instance, batchOf(requestOf([-1])))).rejects.toThrow('is not healthy');
    expect(run.error?.message).toBe("Stub process 'm_0_0' is not healthy.");
    expect(demand.onOpen).toBeUndefined();
  });
});
