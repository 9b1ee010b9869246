import { afterAll, describe, expect, it } from 'vitest';
import type { Batch, Instance } from '../../../src/streams/inference/backend.ts';
import { until } from '../../support/until.ts';
import {
  answers,
  batchOf,
  executes,
  hasPython,
  modelClass,
  type PythonModel,
  pythonModel,
  requestOf,
  type SeenPart,
  seen,
} from './python-models.ts';

const opened: PythonModel[] = [];

const start = async (code: string): Promise<Instance> => {
  const model = await pythonModel(code, { spec: { decoupled: true } });
  opened.push(model);
  return model.open();
};

afterAll(async () => {
  for (const model of opened) await model.remove();
});

const valuesOf = (parts: readonly SeenPart[], of: number): readonly unknown[] =>
  parts.filter((part) => part.of === of).map(({ outputs, isLast, error }) => error ?? [...(outputs.Y ?? []), isLast]);

/** Each request's X[0] answers, of values from 0, and then the end without one. */
const repeat = executes(`
for request in requests:
    sender = request.get_response_sender()
    for n in range(int(request.inputs()[0].as_numpy()[0])):
        sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([n], np.float32))]))
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
return None
`);

describe.skipIf(!hasPython)('a decoupled Python model', () => {
  it('answers no, one or many times, and ends each request', async () => {
    const parts = await answers(await start(repeat), batchOf(requestOf([3]), requestOf([0]), requestOf([1])));
    expect(valuesOf(parts, 0)).toEqual([[0, false], [1, false], [2, false], [true]]);
    expect(valuesOf(parts, 1)).toEqual([[true]]);
    expect(valuesOf(parts, 2)).toEqual([[0, false], [true]]);
  });

  it('lets the last flag ride on an answer', async () => {
    const instance = await start(
      executes(`
for r in requests:
    r.get_response_sender().send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.ones(1, np.float32))]), flags=1)
`),
    );
    expect(await answers(instance, batchOf(requestOf([1])))).toEqual([{ of: 0, outputs: { Y: [1] }, isLast: true }]);
  });

  it('keeps 5000 answers to each of two requests in order', async () => {
    const parts = await answers(await start(repeat), batchOf(requestOf([5000]), requestOf([5000])));
    for (const of of [0, 1]) {
      expect(valuesOf(parts, of)).toEqual([...Array.from({ length: 5000 }, (_, n) => [n, false]), [true]]);
    }
  });

  it('answers from threads after execute has returned, and takes the next batch before', async () => {
    const instance = await start(
      `import threading\n${modelClass(`
def initialize(self, args):
    self.go = threading.Event()
def execute(self, requests):
    for r in requests:
        if r.inputs()[0].as_numpy()[0] == 0:
            self.go.set()
        threading.Thread(target=self.respond, args=(r.get_response_sender(), r)).start()
def respond(self, sender, request):
    self.go.wait()
    sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", request.inputs()[0].as_numpy())]))
    sender.send(flags=1)
`)}`,
    );
    const released: Promise<readonly SeenPart[]>[] = [];
    for (let n = 1; n <= 10; n++) {
      let isReleased = false;
      const batch: Batch = { ...batchOf(requestOf([n])), releaseInstance: () => (isReleased = true) };
      released.push(answers(instance, batch));
      await until(() => isReleased);
    }
    await answers(instance, batchOf(requestOf([0])));
    const all = await Promise.all(released);
    expect(all.map((parts) => valuesOf(parts, 0))).toEqual(Array.from({ length: 10 }, (_, n) => [[n + 1, false], [true]]));
  });

  it('goes on after an error in its place', async () => {
    const instance = await start(
      executes(`
s = requests[0].get_response_sender()
y = lambda n: pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([n], np.float32))])
s.send(y(1))
s.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("mid", pb_utils.TritonError.UNAVAILABLE)))
s.send(y(2))
s.send(flags=1)
`),
    );
    expect(valuesOf(await answers(instance, batchOf(requestOf([1]))), 0)).toEqual([[1, false], 'UNAVAILABLE mid', [2, false], [true]]);
  });

  it('fails what is open when execute raises or returns something, and what is closed stays as it is', async () => {
    const instance = await start(
      executes(`
what = requests[-1].inputs()[0].as_numpy()[0]
requests[0].get_response_sender().send(flags=1)
if what == 1: raise ValueError("halfway")
return [1]
`),
    );
    const raised = await answers(instance, batchOf(requestOf([1]), requestOf([1])));
    expect(valuesOf(raised, 0)).toEqual([[true]]);
    expect(valuesOf(raised, 1)).toEqual([
      expect.stringMatching(/^INTERNAL Failed to process the request\(s\) for model 'm_0_0', message: ValueError: halfway\n\nAt:\n/),
    ]);
    const returned = await answers(instance, batchOf(requestOf([2]), requestOf([2])));
    expect(valuesOf(returned, 1)).toEqual([
      "INTERNAL Failed to process the request(s) for model 'm_0_0', message: " +
        "Python model 'm_0_0' is using the decoupled mode and the execute function must return None.",
    ]);
  });

  it('refuses to send after the end', async () => {
    const instance = await start(
      executes(`
s = requests[0].get_response_sender()
s.send(flags=1)
try:
    s.send(pb_utils.InferenceResponse([]))
except pb_utils.TritonModelException as error:
    pb_utils.Logger.log_warn(str(error))
`),
    );
    expect(valuesOf(await answers(instance, batchOf(requestOf([1]))), 0)).toEqual([[true]]);
    await until(() => opened.at(-1)?.log.lines.includes('warning Unable to send response. Response sender has been closed.') === true);
  });

  it('ends a request whose sender the model has dropped', async () => {
    const instance = await start(executes('requests[0].get_response_sender()'));
    expect(valuesOf(await answers(instance, batchOf(requestOf([1]))), 0)).toEqual([[true]]);
  });

  it('runs coroutines of several batches at the same time', async () => {
    const instance = await start(
      `import asyncio\n${modelClass(`
here = 0
async def execute(self, requests):
    TritonPythonModel.here += 1
    while TritonPythonModel.here < 3:
        await asyncio.sleep(0.001)
    for r in requests:
        r.get_response_sender().send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", r.inputs()[0].as_numpy())]), flags=1)
    if requests[0].inputs()[0].as_numpy()[0] == 4:
        raise ValueError("too late to matter")
`)}`,
    );
    const all = await Promise.all([1, 2, 4].map((n) => answers(instance, batchOf(requestOf([n])))));
    expect(all.map((parts) => valuesOf(parts, 0))).toEqual([[[1, true]], [[2, true]], [[4, true]]]);
  });

  it('is told that a caller has gone, while answers to others go on', async () => {
    const instance = await start(
      `import threading, time\n${executes(`
def respond(r, s):
    n = 0
    while not s.is_cancelled() and not r.is_cancelled():
        s.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([n], np.float32))]))
        n += 1
        time.sleep(0.001)
    s.send(flags=1)
for r in requests:
    threading.Thread(target=respond, args=(r, r.get_response_sender())).start()
`)}`,
    );
    const batch = batchOf(requestOf([1]), requestOf([2]));
    const parts: SeenPart[] = [];
    let isDone = false;
    instance.run(batch).subscribe({ next: (part) => parts.push(seen(part)), complete: () => (isDone = true) });
    await until(() => parts.filter(({ of }) => of === 0).length > 2);
    batch.onCancelled?.(0);
    await until(() => parts.some(({ of, isLast }) => of === 0 && isLast));
    const ofOther = parts.filter(({ of }) => of === 1).length;
    await until(() => parts.filter(({ of }) => of === 1).length > ofOther + 2);
    batch.onCancelled?.(1);
    await until(() => isDone);
    expect(parts.filter(({ isLast }) => isLast)).toHaveLength(2);
  });

  it('gives its memory back when a run is unsubscribed in the middle', async () => {
    const instance = await start(repeat);
    for (let round = 0; round < 20; round++) {
      let parts = 0;
      await new Promise<void>((resolve) => {
        const run = instance.run(batchOf(requestOf([200]))).subscribe(() => {
          parts++;
          if (parts !== 3) return;
          resolve();
          queueMicrotask(() => run.unsubscribe());
        });
      });
    }
    expect(valuesOf(await answers(instance, batchOf(requestOf([2]))), 0)).toEqual([[0, false], [1, false], [true]]);
  });
});
