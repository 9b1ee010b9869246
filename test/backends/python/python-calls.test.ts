import { concat, defer, EMPTY, NEVER, Observable, of, throwError } from 'rxjs';
import { afterAll, describe, expect, it } from 'vitest';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import { InferError } from '../../../src/streams/inference/error.ts';
import type { Infer } from '../../../src/streams/inference/infer.ts';
import { type ModelCalls, refuseCycles } from '../../../src/streams/inference/model-calls.ts';
import type { InferRequest } from '../../../src/streams/inference/request.ts';
import type { InferResponse } from '../../../src/streams/inference/response.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { tensorValues } from '../../../src/streams/tensors/tensor-values.ts';
import { makeRequest } from '../../support/model.ts';
import { inferResponse } from '../../support/request-fixtures.ts';
import { until } from '../../support/until.ts';
import {
  answer,
  answers,
  batchOf,
  executes,
  floats,
  hasPython,
  modelClass,
  type PythonModel,
  type PythonOptions,
  pythonModel,
  requestOf,
} from './python-models.ts';

const opened: PythonModel[] = [];

const start = async (code: string, options?: PythonOptions): Promise<Instance> => {
  const model = await pythonModel(code, options);
  opened.push(model);
  return model.open();
};

afterAll(async () => {
  for (const model of opened) await model.remove();
});

const double = (request: InferRequest, part: Partial<InferResponse> = {}): InferResponse => {
  const x = request.inputs.get('X');
  const values: readonly unknown[] = x === undefined ? [] : [...tensorValues(x)];
  return inferResponse({ Y: floats(values.map((value) => 2 * Number(value))) }, { modelName: request.modelName, ...part });
};

/** `double`; `many`, which is decoupled and answers X[0] times; `boom`, `never`, and whatever a test adds. */
const callsWith = (more: Readonly<Record<string, Infer>> = {}): ModelCalls & { readonly seen: InferRequest[] } => {
  const seen: InferRequest[] = [];
  const models: Readonly<Record<string, Infer>> = {
    double: (request) => of(double(request)),
    many: (request) => {
      const count = Number([...tensorValues(request.inputs.get('X') ?? floats([0]))][0]);
      return concat(...Array.from({ length: count }, (_, n) => of(inferResponse({ Y: floats([n]) }, { isLast: false }))), EMPTY);
    },
    boom: () => throwError(() => new InferError('NOT_FOUND', 'from inside', { reason: 'BACKEND' })),
    refused: () => throwError(() => new InferError('INVALID_ARGUMENT', 'wrong shape')),
    never: () => NEVER,
    ...more,
  };
  return {
    seen,
    isReady: (name, version) => name in models && (version === '' || version === '1'),
    isDecoupled: (name) => name.startsWith('many'),
    infer: refuseCycles((request) =>
      defer(() => {
        seen.push({ ...request, inputs: new Map() });
        return models[request.modelName]?.(request) ?? NEVER;
      }),
    ),
  };
};

const call = `
def call(model, x, **more):
    return pb_utils.InferenceRequest(model_name=model, requested_output_names=["Y"], inputs=[pb_utils.Tensor("X", np.array(x, np.float32))], **more)
def y(response):
    return pb_utils.get_output_tensor_by_name(response, "Y").as_numpy()
def said(response):
    return response.error().message() if response.has_error() else str(list(y(response)))
def texts(*all):
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(all, dtype=object))])]
`;

describe.skipIf(!hasPython)('a Python model that calls models', () => {
  it('waits for an answer in exec, time after time', async () => {
    const instance = await start(
      call +
        executes(`
a = y(call("double", requests[0].inputs()[0].as_numpy()).exec())
b = y(call("double", a).exec())
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", b)])]
`),
      { calls: callsWith() },
    );
    for (let n = 0; n < 50; n++) expect(await answer(instance, requestOf([n, 1]))).toEqual([4 * n, 4]);
  });

  it('calls with everything that it says', async () => {
    const calls = callsWith();
    const instance = await start(
      call +
        executes(`
call("double", [1], request_id="é", correlation_id=7, model_version=1, flags=3, timeout=9, parameters={"a": 1, "b": True, "c": "x"}).exec()
call("double", [1], correlation_id="seq").exec()
return texts("done")
`),
      { calls },
    );
    await answer(instance, requestOf([1]));
    const plain = {
      modelName: 'double',
      modelVersion: '',
      id: '',
      outputs: [{ name: 'Y', classification: 0 }],
      parameters: new Map(),
      sequenceId: 'seq',
      sequenceStart: false,
      sequenceEnd: false,
      timeoutMicroseconds: 0n,
      caller: { modelName: 'm', caller: undefined },
    };
    expect(calls.seen).toMatchObject([
      {
        ...plain,
        modelVersion: '1',
        id: 'é',
        sequenceId: 7n,
        sequenceStart: true,
        sequenceEnd: true,
        timeoutMicroseconds: 9n,
        parameters: new Map<string, unknown>([
          ['a', 1n],
          ['b', true],
          ['c', 'x'],
        ]),
      },
      plain,
    ]);
  });

  it('gets failures as errors of the response, with the texts of Triton', async () => {
    const instance = await start(
      call +
        executes(`
return texts(*[said(call(model, [1], **more).exec()) for model, more in [
    ("boom", {}), ("refused", {}), ("nope", {}), ("double", {"model_version": 9}), ("many", {}), ("m", {}), ("silent", {})]])
`),
      { calls: callsWith({ m: () => NEVER, silent: () => EMPTY }) },
    );
    const prefix = (model: string): string => `Model ${model} - Error when running inference: `;
    expect(await answer(instance, requestOf([1]))).toEqual([
      'from inside',
      `${prefix('refused')}wrong shape`,
      `${prefix('nope')}Failed for execute the inference request. Model 'nope' is not ready.`,
      `${prefix('double')}Failed for execute the inference request. Model 'double' is not ready.`,
      `${prefix('many')}Model many is using the decoupled. The current BLS request call doesn't support models using the decoupled transaction policy. ` +
        "Please use 'decoupled=True' argument to the 'exec' or 'async_exec' calls for decoupled models.'",
      `${prefix('m')}models call each other in a cycle: m -> m`,
      'Model silent has given no response',
    ]);
  });

  it('names a cycle by way of its callers, and tells the callee who calls', async () => {
    const calls = callsWith({ a: () => NEVER });
    const instance = await start(call + executes(`return texts(said(call("a", [1]).exec()), said(call("double", [1]).exec()))`), { calls });
    const caller = { modelName: 'b', caller: { modelName: 'a', caller: undefined } };
    expect(await answer(instance, requestOf([1], { caller }))).toEqual([
      'Model a - Error when running inference: models call each other in a cycle: a -> b -> m -> a',
      '[np.float32(2.0)]',
    ]);
    expect(calls.seen.at(-1)?.caller).toEqual({ modelName: 'm', caller });
  });

  it('iterates over the answers of a decoupled model, and of one that is not', async () => {
    const instance = await start(
      call +
        executes(`
counts = lambda model, n: str([len(r.output_tensors()) for r in call(model, [n]).exec(decoupled=True)])
values = str([float(y(r)[0]) for r in call("many", [3]).exec(decoupled=True) if len(r.output_tensors()) > 0])
errors = str([r.error().message() for r in call("boom", [3]).exec(decoupled=True)])
return texts(counts("many", 2), counts("many", 0), counts("double", 1), values, errors)
`),
      { calls: callsWith() },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(['[1, 1, 0]', '[0]', '[1]', '[0.0, 1.0, 2.0]', "['from inside']"]);
  });

  it('makes many calls at once with async_exec: one waits no longer than all', async () => {
    let here = 0;
    // Each answers when all 32 have come.
    const together: Infer = (request) =>
      new Observable((subscriber) => {
        const copy = double(request);
        here++;
        until(() => here >= 32).then(() => {
          subscriber.next(copy);
          subscriber.complete();
        });
      });
    const instance = await start(
      `${call}import asyncio\n${modelClass(`
async def execute(self, requests):
    responses = await asyncio.gather(*[call("together", [n]).async_exec() for n in range(32)])
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.concatenate([y(r) for r in responses]))])]
`)}`,
      { calls: callsWith({ together }) },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(Array.from({ length: 32 }, (_, n) => 2 * n));
  });

  it('streams from 32 decoupled calls at once, each in order', async () => {
    const instance = await start(
      `${call}import asyncio\n${modelClass(`
async def execute(self, requests):
    streams = await asyncio.gather(*[call("many", [50]).async_exec(decoupled=True) for n in range(32)])
    ok = [[float(y(r)[0]) for r in s if r.output_tensors()] == list(range(50)) for s in streams]
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(ok))])]
`)}`,
      { calls: callsWith() },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(Array.from({ length: 32 }, () => 1));
  });

  it('tells a called model that can wait to do so while its answers are not taken', async () => {
    const closedAt: number[] = [];
    // 20 answers of 8 MiB, each when there is room.
    const eager: Infer = ({ demand }) =>
      new Observable((subscriber) => {
        let given = 0;
        const giveOn = (): void => {
          while (given < 20 && demand?.isOpen !== false) {
            given++;
            subscriber.next(inferResponse({ Y: new Tensor('FP32', [2 ** 21], Buffer.alloc(2 ** 23, given)) }, { isLast: false }));
          }
          if (given === 20) subscriber.complete();
          else closedAt.push(given);
        };
        if (demand !== undefined) demand.onOpen = giveOn;
        giveOn();
      });
    const instance = await start(
      `${call}${executes(`
sizes = [r.output_tensors()[0].as_numpy().nbytes >> 20 for r in call("many_eager", [1]).exec(decoupled=True) if r.output_tensors()]
return texts(str(sizes == [8] * 20))
`)}`,
      { calls: callsWith({ many_eager: eager }) },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(['True']);
    expect(closedAt[0]).toBe(8);
  });

  it('runs no more at once than thread-pool-size, from threads too', async () => {
    let open = 0;
    let most = 0;
    const counted: Infer = (request) =>
      new Observable((subscriber) => {
        open++;
        most = Math.max(most, open);
        const copy = double(request);
        const timer = setTimeout(() => {
          open--;
          subscriber.next(copy);
          subscriber.complete();
        }, 2);
        return () => clearTimeout(timer);
      });
    const instance = await start(
      `${call}from concurrent.futures import ThreadPoolExecutor\n${executes(`
with ThreadPoolExecutor(20) as pool:
    responses = list(pool.map(lambda n: call("counted", [n]).exec(), range(60)))
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.concatenate([y(r) for r in responses]))])]
`)}`,
      { calls: callsWith({ counted }), settings: { 'thread-pool-size': '5' } },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(Array.from({ length: 60 }, (_, n) => 2 * n));
    expect(most).toBe(5);
  });

  it('carries large, sliced and string tensors to another model and back', async () => {
    const echo: Infer = (request) => of(inferResponse(Object.fromEntries(request.inputs)));
    const instance = await start(
      call +
        executes(`
x = requests[0].inputs()[0].as_numpy()
inputs = [
    pb_utils.Tensor("WHOLE", x), pb_utils.Tensor("PART", x[1000:]), pb_utils.Tensor("EVERY", x[::3]), pb_utils.Tensor("OWN", x + 1),
    pb_utils.Tensor("TEXT", np.array([b"a", b""], dtype=object))]
response = pb_utils.InferenceRequest(model_name="echo", requested_output_names=[], inputs=inputs).exec()
get = lambda name: pb_utils.get_output_tensor_by_name(response, name).as_numpy()
return texts(*[str(ok) for ok in [
    np.array_equal(get("WHOLE"), x), np.array_equal(get("PART"), x[1000:]), np.array_equal(get("EVERY"), x[::3]),
    np.array_equal(get("OWN"), x + 1), list(get("TEXT")) == [b"a", b""]]])
`),
      { calls: callsWith({ echo }) },
    );
    const values = new Float32Array(2 ** 20).map((_, index) => index % 1000);
    const request = makeRequest({ inputs: new Map([['X', tensorFrom('FP32', [values.length], values)]]) });
    for (let round = 0; round < 5; round++) expect(await answer(instance, request)).toEqual(['True', 'True', 'True', 'True', 'True']);
  });

  it('cancels the calls of a caller that has gone, and a stream that the model gives up', async () => {
    let open = 0;
    const stuck: Infer = () =>
      new Observable(() => {
        open++;
        return () => open--;
      });
    const instance = await start(
      call +
        executes(`
if requests[0].inputs()[0].as_numpy()[0] == 1:
    return texts(said(call("stuck", [1]).exec()))
stream = call("many_stuck", [1]).exec(decoupled=True)
stream.cancel()
left = [r.error().code() for r in stream]
call("many_stuck", [1]).exec(decoupled=True)
return texts(str(left == [pb_utils.TritonError.CANCELLED]))
`),
      { calls: callsWith({ stuck, many_stuck: stuck }) },
    );
    const run = instance.run(batchOf(requestOf([1]))).subscribe();
    await until(() => open === 1);
    run.unsubscribe();
    expect(open).toBe(0);
    expect(await answer(instance, requestOf([2]))).toEqual(['True']);
    await until(() => open === 0);
  });

  it('refuses calls before the model is ready', async () => {
    const model = await pythonModel(
      call +
        modelClass(`
def initialize(self, args):
    call("double", [1]).exec()
def execute(self, requests):
    return texts("x")
`),
      { calls: callsWith() },
    );
    opened.push(model);
    await expect(model.open()).rejects.toThrow("TritonModelException: BLS is only supported during the 'execute' function.");
  });

  it('knows which models are ready, also while it starts', async () => {
    const instance = await start(
      call +
        modelClass(`
def initialize(self, args):
    self.ready = [pb_utils.is_model_ready("double"), pb_utils.is_model_ready(model_name="double", model_version="1"), pb_utils.is_model_ready("nope")]
def execute(self, requests):
    return texts(str(self.ready), str(pb_utils.is_model_ready("double", "2")))
`),
      { calls: callsWith() },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(['[True, True, False]', 'False']);
  });

  it('calls from a thread that a decoupled model has started', async () => {
    const instance = await start(
      `${call}import threading\n${executes(`
def respond(r, s):
    s.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", y(call("double", r.inputs()[0].as_numpy()).exec()))]), flags=1)
for r in requests:
    threading.Thread(target=respond, args=(r, r.get_response_sender())).start()
`)}`,
      { calls: callsWith(), spec: { decoupled: true } },
    );
    for (let n = 0; n < 10; n++) {
      const parts = await answers(instance, batchOf(requestOf([n]), requestOf([n + 1])));
      expect(parts.toSorted((a, b) => a.of - b.of).map(({ outputs }) => outputs.Y)).toEqual([[2 * n], [2 * n + 2]]);
    }
  });
});
