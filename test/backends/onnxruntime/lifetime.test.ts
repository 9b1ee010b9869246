import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { workersStopped } from '../../../src/backends/workers/workers-stopped.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { heavy, identity, slow } from '../../support/onnx-models.ts';
import { inferRequest, inputSpec, modelSpec, outputSpec } from '../../support/request-fixtures.ts';
import { cpu, makeBatch, partsOf, workbench } from './workbench.ts';

const spec = modelSpec({ maxBatchSize: 8, inputs: [inputSpec('INPUT0', 'FP32', [-1])], outputs: [outputSpec('OUTPUT0', 'FP32', [-1])] });

const slowSpec = modelSpec({
  inputs: [inputSpec('INPUT0', 'FP32', [-1, 1]), inputSpec('ROUNDS', 'INT64', [1])],
  outputs: [outputSpec('OUTPUT0', 'FP32', [-1, 1])],
});

const rounds = (count: number): InferRequest =>
  inferRequest({ INPUT0: tensorFrom('FP32', [1, 1], [count]), ROUNDS: tensorFrom('INT64', [1], [BigInt(count)]) });

describe('the life of an instance', () => {
  /** The threads of this process that live, as Node tells of them. */
  const threads = new Set<Worker>();
  const onWorker = (worker: Worker): void => {
    threads.add(worker);
    worker.once('exit', () => threads.delete(worker));
  };
  process.on('worker', onWorker);
  // Runs after that of the workbench, which is the younger.
  afterEach(() => expect(threads.size).toBe(0));

  const { backend, open, openModel, write } = workbench();

  it('ends with the batches that the worker has when it is stopped, and then the thread', async () => {
    const { instance, life } = await openModel(slow(), slowSpec);
    const running = [300, 10, 5].map((count) => partsOf(instance.run(makeBatch([rounds(count)], [1]))));
    life.unsubscribe();
    await expect(partsOf(instance.run(makeBatch([rounds(1)], [1])))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `model instance 'm_0' is not running`,
    });
    const values = (await Promise.all(running)).map(
      ([part]) => tensorValues(part?.outputs.get('OUTPUT0') ?? tensorFrom('FP32', [0], []))[0],
    );
    expect(values).toEqual([300, 10, 5]);
    await workersStopped();
  });

  it('waits for the native code of a cancelled batch before the thread ends', async () => {
    const { instance, life } = await openModel(slow(), slowSpec);
    instance
      .run(makeBatch([rounds(300)], [1]))
      .subscribe()
      .unsubscribe();
    const begun = partsOf(instance.run(makeBatch([rounds(300)], [1])));
    life.unsubscribe();
    await begun;
    await workersStopped();
  });

  it('may be stopped while it starts', async () => {
    const files = await write({ onnx: heavy({ width: 500 }) });
    const events: string[] = [];
    const life = backend
      .open(files, spec, cpu)
      .subscribe({ next: () => events.push('ready'), error: (error) => events.push(String(error)) });
    await new Promise<void>((resolve) => process.once('worker', () => resolve()));
    life.unsubscribe();
    await workersStopped();
    backend
      .open(files, spec, cpu)
      .subscribe({ next: () => events.push('ready') })
      .unsubscribe();
    expect(events).toEqual([]);
  });

  it('fails with its worker, and fails the batches that the worker had', async () => {
    const { instance, failure } = await openModel(identity(), spec);
    const ended: string[] = [];
    void failure.then(() => ended.push('life'));
    // A message that the worker cannot understand is the end of it.
    for (const worker of threads) worker.postMessage(null);
    const request = inferRequest({ INPUT0: tensorFrom('FP32', [1, 1], [1]) });
    const runs = await Promise.allSettled(
      [1, 2, 3].map(() => partsOf(instance.run(makeBatch([request]))).finally(() => ended.push('run'))),
    );
    const lost = { code: 'INTERNAL', reason: 'BACKEND', message: expect.stringMatching(/^death of model instance 'm_0': Cannot read/) };
    expect(runs).toMatchObject([1, 2, 3].map(() => ({ status: 'rejected', reason: lost })));
    expect(await failure).toMatchObject(lost);
    expect(ended).toEqual(['life', 'run', 'run', 'run']);
    await expect(partsOf(instance.run(makeBatch([request])))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('fails when the thread is ended from outside', async () => {
    const { failure } = await openModel(identity(), spec);
    for (const worker of threads) void worker.terminate();
    expect(await failure).toMatchObject({ code: 'INTERNAL', message: `death of model instance 'm_0': its worker ended with code 1` });
  });

  it('starts several at once', async () => {
    const files = await write({ onnx: identity() });
    const models = await Promise.all([1, 2, 3, 4].map((n) => open(files, spec, { ...cpu, name: `m_${n}` })));
    const requests = models.map((_, index) => inferRequest({ INPUT0: tensorFrom('FP32', [1, 1], [index]) }));
    const parts = await Promise.all(
      models.map(({ instance }, index) => partsOf(instance.run(makeBatch(requests.slice(index, index + 1))))),
    );
    expect(parts.map(([part]) => tensorValues(part?.outputs.get('OUTPUT0') ?? tensorFrom('FP32', [0], []))[0])).toEqual([0, 1, 2, 3]);
  });

  it('gives back what it held', async () => {
    const files = await write({ onnx: heavy() });
    const cycle = async (): Promise<number> => {
      const { life } = await open(files, spec);
      life.unsubscribe();
      await workersStopped();
      return process.memoryUsage.rss() / 2 ** 20;
    };
    const settled = Math.max(...[await cycle(), await cycle(), await cycle(), await cycle()]);
    let last = 0;
    for (let count = 0; count < 12; count++) last = await cycle();
    // Each holds the model's 10 MB more than once: were it kept, this would be 120 MiB at least.
    expect(last - settled).toBeLessThan(80);
  });
});
