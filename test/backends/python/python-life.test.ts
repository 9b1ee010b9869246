import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import type { CustomMetricKind, CustomMetrics } from '../../../src/streams/inference/custom-metrics.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import { until } from '../../support/until.ts';
import {
  answer,
  answers,
  batchOf,
  executes,
  hasPython,
  modelClass,
  type PythonModel,
  type PythonOptions,
  pythonModel,
  requestOf,
} from './python-models.ts';

const opened: PythonModel[] = [];

const make = async (code: string, options?: PythonOptions): Promise<PythonModel> => {
  const model = await pythonModel(code, options);
  opened.push(model);
  return model;
};

afterAll(async () => {
  for (const model of opened) await model.remove();
});

const echo = executes('return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", r.inputs()[0].as_numpy())]) for r in requests]');

/** X[0] is the process's answer, or its end. */
const mortal = `import os, ctypes, time\n${executes(`
what = int(requests[0].inputs()[0].as_numpy()[0])
if what == 1: os._exit(1)
if what == 2: ctypes.string_at(0)
if what == 3: os.kill(os.getpid(), 9)
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([os.getpid()], np.int64))]) for _ in requests]
`)}`;

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A process that nobody has waited for yet is dead all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

const memoryNames = (prefix: string): readonly string[] => readdirSync('/dev/shm').filter((name) => name.startsWith(prefix));

describe.skipIf(!hasPython)('the life of a Python process', () => {
  it.each([
    ['leaves', 1],
    ['crashes', 2],
    ['is killed', 3],
  ])('that %s is noticed: its batches and its life fail, and another can follow', async (_how, what) => {
    const model = await make(mortal);
    const ends: string[] = [];
    const instance = await model.open(({ code, message }) => ends.push(`${code} ${message}`));
    const lost = "Stub process 'm_0_0' is not healthy.";
    const running = answers(instance, batchOf(requestOf([what])));
    const next = answers(instance, batchOf(requestOf([0])));
    await expect(running).rejects.toMatchObject({ code: 'INTERNAL', message: lost, reason: 'BACKEND' });
    await expect(next).rejects.toMatchObject({ code: 'INTERNAL', message: lost });
    expect(ends).toEqual([`INTERNAL ${lost}`]);
    await expect(answers(instance, batchOf(requestOf([0])))).rejects.toThrow('is not running');
    expect(await answer(await model.open(), requestOf([0]))).toHaveLength(1);
  });

  it('fails while it is starting, once', async () => {
    const model = await make('import os\nos._exit(0)\n');
    const ends: string[] = [];
    await expect(model.open(({ message }) => ends.push(message))).rejects.toThrow("Stub process 'm_0_0' is not healthy.");
    await model.stop();
    expect(ends).toHaveLength(1);
  });

  it('ends with finalize, after the batch that runs', async () => {
    const model = await make(
      `import time\n${modelClass(`
def initialize(self, args):
    self.file = pb_utils.get_model_dir() + "/said"
def execute(self, requests):
    time.sleep(0.1)
    open(self.file, "a").write("executed ")
    return [pb_utils.InferenceResponse([]) for _ in requests]
def finalize(self):
    open(self.file, "a").write("finalized")
`)}`,
    );
    const instance = await model.open();
    const running = answers(instance, batchOf(requestOf([1])));
    await model.stop();
    expect(await running).toHaveLength(1);
    expect(readFileSync(join(model.files.versionDirectory, 'said'), 'utf8')).toBe('executed finalized');
  });

  it('is killed when it does not end in time, with all that it has started', async () => {
    const model = await make(
      `import os, subprocess, time\n${executes(`
if requests[0].inputs()[0].as_numpy()[0] == 0:
    child = subprocess.Popen(["sleep", "600"])
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([os.getpid(), child.pid], np.int64))])]
while True:
    pass
`)}`,
      { settings: { 'stub-timeout-seconds': '1' } },
    );
    const instance = await model.open();
    const pids = Array.from((await answer(instance, requestOf([0]))) ?? [], Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    const endless = answers(instance, batchOf(requestOf([1]))).catch(({ message }: InferError) => message);
    await model.stop();
    expect(await endless).toBe("Stub process 'm_0_0' is not healthy.");
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(model.log.lines).toContain("warning model instance 'm_0_0' did not stop within 1 s: its process is killed");
  });

  it('ends at once while it is starting', async () => {
    const model = await make(`import time\n${modelClass('def initialize(self, args):\n  print("slow")\n  time.sleep(600)')}`);
    model.open().catch(() => undefined);
    await until(() => model.log.lines.includes('info m_0_0: slow'));
    await model.stop();
  });

  it('outlives its server by no longer than it takes to notice, even in the middle of an execution', async () => {
    const model = await make(
      `import os, subprocess\n${executes(`
child = subprocess.Popen(["sleep", "600"])
print("pids", os.getpid(), child.pid, flush=True)
while True:
    pass
`)}`,
    );
    const script = join(model.folder, 'server.ts');
    const from = (path: string): string => JSON.stringify(resolve(import.meta.dirname, path));
    await writeFile(
      script,
      `import { PythonModel, answers, batchOf, requestOf } from ${from('python-models.ts')};
const model = new PythonModel(${JSON.stringify(model.folder)}, {});
const instance = await model.open();
answers(instance, batchOf(requestOf([1])));
setInterval(() => { for (const line of model.log.lines.splice(0)) console.log(line); }, 10);
`,
    );
    const server = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pids: number[] = [];
    for await (const line of createInterface({ input: server.stdout })) {
      pids.push(...(/pids (\d+) (\d+)/.exec(line)?.slice(1).map(Number) ?? []));
      if (pids.length > 0) break;
    }
    server.kill('SIGKILL');
    await once(server, 'exit');
    await until(() => !pids.some(isAlive));
    expect(pids).toHaveLength(2);
  });

  it('leaves no shared memory behind, however it ends', async () => {
    const prefix = `weir_test_${process.pid}_`;
    const settings = { 'shm-region-prefix-name': prefix };
    const model = await make(mortal, { settings });
    const instance = await model.open();
    expect(await answer(instance, requestOf([0]))).toHaveLength(1);
    // Both sides have mapped it by now, and nobody else needs its name.
    expect(memoryNames(prefix)).toEqual([]);
    await answers(instance, batchOf(requestOf([3]))).catch(() => undefined);
    expect(memoryNames(prefix)).toEqual([]);
    await model.open();
    await model.stop();
    expect(memoryNames(prefix)).toEqual([]);
  });

  it('gives memory back that large batches needed', async () => {
    const model = await make(echo);
    const instance = await model.open();
    const shared = (): number => {
      const maps = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
      return maps.filter((map) => map.includes('/dev/shm/triton_python_backend_shm_region_')).length;
    };
    await answers(instance, batchOf(requestOf(Array.from({ length: 2 ** 20 }, () => 1))));
    const before = shared();
    for (let n = 0; n < 2100; n++) await answers(instance, batchOf(requestOf([n])));
    expect(shared()).toBeLessThan(before);
  });

  it('has its output and its log written as UTF-8, whatever the locale', async () => {
    const locale = process.env.LC_ALL;
    process.env.LC_ALL = 'C';
    const model = await make(
      `import sys\n${executes(`
print("gedrückt")
print("täglich", file=sys.stderr)
L = pb_utils.Logger
L.log_info("größe"); L.log_warn("wärme"); L.log_error("öl"); L.log_verbose("übrig"); L.log("mit Stufe", L.WARNING)
return [pb_utils.InferenceResponse([])]
`)}`,
    );
    const instance = await model.open();
    if (locale === undefined) delete process.env.LC_ALL;
    else process.env.LC_ALL = locale;
    await answers(instance, batchOf(requestOf([1])));
    const expected = [
      'info m_0_0: gedrückt',
      'warning m_0_0: täglich',
      'info größe',
      'warning wärme',
      'error öl',
      'verbose 1 übrig',
      'warning mit Stufe',
    ];
    await until(() => expected.every((line) => model.log.lines.includes(line)));
  });

  it('asks a model that has is_ready', async () => {
    const model = await make(
      modelClass(`
ready = True
async def is_ready(self):
    return self.ready
def execute(self, requests):
    self.ready = requests[0].inputs()[0].as_numpy()[0] == 1
    return [pb_utils.InferenceResponse([])]
`),
    );
    const instance = await model.open();
    expect(instance.isReady?.()).toBe(true);
    await answers(instance, batchOf(requestOf([0])));
    await until(() => instance.isReady?.() === false);
    await answers(instance, batchOf(requestOf([1])));
    await until(() => instance.isReady?.() === true);
  });

  it('makes metrics', async () => {
    const changes: string[] = [];
    const metrics: CustomMetrics = {
      family: (name: string, description: string, kind: CustomMetricKind) => {
        if (name === 'bad') throw new InferError('INVALID_ARGUMENT', 'Invalid metric name');
        changes.push(`family ${name} ${description} ${kind}`);
        let value = 0;
        return {
          series: (labels, buckets) => {
            changes.push(`series ${JSON.stringify(labels)} ${buckets ?? ''}`);
            return {
              increment: (by) => {
                value += by;
              },
              set: (to) => {
                value = to;
              },
              observe: (seen) => changes.push(`observe ${seen}`),
              value: () => value,
              remove: () => changes.push('series removed'),
            };
          },
          remove: () => changes.push(`family ${name} removed`),
        };
      },
    };
    const model = await make(
      modelClass(`
def initialize(self, args):
    F = pb_utils.MetricFamily
    self.counter = F(name="c", description="counts", kind=F.COUNTER)
    self.gauge = F(name="g", description="gauges", kind=F.GAUGE).Metric(labels={"a": "ä"})
    self.count = self.counter.Metric()
    self.histogram_family = F(name="h", description="h", kind=F.HISTOGRAM)
    self.histogram = self.histogram_family.Metric(labels={}, buckets=[0.1, 1])
def execute(self, requests):
    said = []
    def text(f):
        try:
            said.append(str(f()))
        except pb_utils.TritonModelException as error:
            said.append(str(error))
    self.count.increment(2)
    self.count.increment(0.5)
    text(lambda: self.count.value())
    text(lambda: self.count.increment(-1))
    text(lambda: self.count.set(1))
    text(lambda: self.gauge.value())
    text(lambda: self.counter.Metric(buckets=[1]))
    text(lambda: self.histogram_family.Metric())
    text(lambda: pb_utils.MetricFamily(name="bad", description="", kind=pb_utils.MetricFamily.GAUGE))
    text(lambda: self.counter.Metric(labels={"a": 1}))
    self.histogram.observe(0.5)
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(said, dtype=object))])]
`),
      { metrics },
    );
    const text = "Failed to process the request for model 'm_0_0', message: ";
    expect(await answer(await model.open(), requestOf([1]))).toEqual([
      '2.5',
      `Failed to increment metric value: ${text}TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.`,
      `Failed to set metric value: ${text}TRITONSERVER_METRIC_KIND_COUNTER does not support Set`,
      expect.stringMatching(/^Invalid metric operation as the corresponding 'MetricFamily' has been deleted\./),
      'Failed to create metric. Unexpected buckets found.',
      'Failed to create metric. Missing required buckets.',
      `Error when creating MetricFamily: ${text}Invalid metric name`,
      "Expect label values to have type str, found type <class 'int'>",
    ]);
    await model.stop();
    expect(changes).toEqual(expect.arrayContaining(['family c counts counter', 'series {"a":"ä"} ', 'series {} 0.1,1', 'observe 0.5']));
    expect(changes.filter((change) => change.startsWith('family') && change.endsWith('removed'))).toHaveLength(3);
  });
});
