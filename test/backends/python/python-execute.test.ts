import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Instance } from '../../../src/streams/inference/backend.ts';
import type { Datatype } from '../../../src/streams/tensors/datatype.ts';
import { Tensor } from '../../../src/streams/tensors/tensor.ts';
import { tensorFrom } from '../../../src/streams/tensors/tensor-from-values.ts';
import { makeRequest } from '../../support/model.ts';
import { inputSpec, outputSpec } from '../../support/request-fixtures.ts';
import {
  answer,
  answers,
  batchOf,
  environment,
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

describe.skipIf(!hasPython)(`a Python model, run with ${environment}`, () => {
  it('adds and subtracts, one answer for each request of a batch', async () => {
    const instance = await start(
      executes(`
responses = []
for request in requests:
    a = pb_utils.get_input_tensor_by_name(request, "A").as_numpy()
    b = pb_utils.get_input_tensor_by_name(request, "B").as_numpy()
    responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("SUM", a + b), pb_utils.Tensor("DIFF", a - b)]))
return responses
`),
      {
        spec: {
          inputs: [inputSpec('A', 'INT32', [-1]), inputSpec('B', 'INT32', [-1])],
          outputs: [outputSpec('SUM', 'INT32', [-1]), outputSpec('DIFF', 'INT32', [-1])],
        },
      },
    );
    const request = (a: readonly number[], b: readonly number[]) =>
      makeRequest({
        inputs: new Map([
          ['A', tensorFrom('INT32', [a.length], a)],
          ['B', tensorFrom('INT32', [b.length], b)],
        ]),
      });
    expect(await answers(instance, batchOf(request([1, 2], [10, 20]), request([5], [7])))).toEqual([
      { of: 0, outputs: { SUM: [11, 22], DIFF: [-9, -18] }, isLast: true },
      { of: 1, outputs: { SUM: [12], DIFF: [-2] }, isLast: true },
    ]);
  });

  it('reads strings as bytes, and answers with bytes, str and numpy strings', async () => {
    const instance = await start(
      executes(`
texts = pb_utils.get_input_tensor_by_name(requests[0], "X").as_numpy()
assert texts.dtype == object and type(texts.ravel()[0]) is bytes
upper = np.array([text.decode("utf-8").upper().encode("utf-8") for text in texts.ravel()], dtype=object).reshape(texts.shape)
return [pb_utils.InferenceResponse([
    pb_utils.Tensor("BYTES", upper),
    pb_utils.Tensor("STR", np.array(["ä", ""], dtype=object)),
    pb_utils.Tensor("U", np.array(["kurz", "länger"])),
    pb_utils.Tensor("S", np.array([b"a", b"bc"])),
])]
`),
      {
        spec: {
          inputs: [inputSpec('X', 'BYTES', [-1, -1])],
          outputs: ['BYTES', 'STR', 'U', 'S'].map((name) => outputSpec(name, 'BYTES', [-1])),
        },
      },
    );
    const request = makeRequest({ inputs: new Map([['X', tensorFrom('BYTES', [2, 2], ['grün', '', 'x', 'lang'])]]) });
    expect(await answers(instance, batchOf(request))).toEqual([
      { of: 0, outputs: { BYTES: ['GRÜN', '', 'X', 'LANG'], STR: ['ä', ''], U: ['kurz', 'länger'], S: ['a', 'bc'] }, isLast: true },
    ]);
  });

  describe('datatypes', () => {
    const kinds: readonly (readonly [Datatype, string, readonly (number | bigint | boolean)[]])[] = [
      ['BOOL', 'bool', [true, false]],
      ['UINT8', 'uint8', [0, 255]],
      ['UINT16', 'uint16', [1, 65535]],
      ['UINT32', 'uint32', [1, 4294967295]],
      ['UINT64', 'uint64', [1n, 2n ** 64n - 1n]],
      ['INT8', 'int8', [-128, 127]],
      ['INT16', 'int16', [-32768, 5]],
      ['INT32', 'int32', [-5, 6]],
      ['INT64', 'int64', [-(2n ** 63n), 9n]],
      ['FP16', 'float16', [0.5, -2]],
      ['FP32', 'float32', [1.5, -0.25]],
      ['FP64', 'float64', [Math.PI, 1e300]],
    ];
    let instance: Instance;

    beforeAll(async () => {
      instance = await start(
        executes(`
out = []
for tensor in requests[0].inputs():
    array = tensor.as_numpy()
    out.append(pb_utils.Tensor(tensor.name(), array))
    out.append(pb_utils.Tensor(tensor.name() + "_KIND", np.array([str(array.dtype), str(tensor.shape())], dtype=object)))
return [pb_utils.InferenceResponse(out)]
`),
        {
          spec: {
            inputs: kinds.map(([datatype]) => inputSpec(datatype, datatype, [-1])),
            outputs: kinds.flatMap(([datatype]) => [outputSpec(datatype, datatype, [-1]), outputSpec(`${datatype}_KIND`, 'BYTES', [2])]),
          },
        },
      );
    });

    it.each(kinds)('%s is numpy %s, and comes back as it went', async (datatype, numpy, values) => {
      const tensor = tensorFrom(datatype, [1, values.length], values);
      const bytes = Buffer.from(tensor.bytes);
      const seen: string[] = [];
      await new Promise<void>((resolve, reject) => {
        instance.run(batchOf(makeRequest({ inputs: new Map([[datatype, tensor]]) }))).subscribe({
          next: ({ outputs }) => {
            const out = outputs.get(datatype);
            const kind = outputs.get(`${datatype}_KIND`);
            seen.push(`${out?.datatype} ${out?.shape}`, Buffer.from(out?.bytes ?? []).toString('hex'));
            seen.push(Buffer.from(kind?.bytes ?? []).toString('latin1'));
          },
          error: reject,
          complete: resolve,
        });
      });
      expect(seen.slice(0, 2)).toEqual([`${datatype} 1,2`, bytes.toString('hex')]);
      expect(seen[2]).toContain(numpy);
      expect(seen[2]).toContain('[1, 2]');
    });
  });

  it('takes arrays of any byte order, order in memory and kind that numpy has for a datatype', async () => {
    const instance = await start(
      executes(`
return [pb_utils.InferenceResponse([
    pb_utils.Tensor("A", np.array([1, 2], dtype=">i4")),
    pb_utils.Tensor("B", np.arange(6, dtype=np.float32).reshape(2, 3).T),
    pb_utils.Tensor("C", np.arange(8, dtype=np.int64)[::2]),
    pb_utils.Tensor("D", np.array(3.5)),
    pb_utils.Tensor("E", np.zeros((0, 4), dtype=np.float32)),
    pb_utils.Tensor("F", np.arange(20000, dtype=np.float32).reshape(100, 200).T[:3]),
])]
`),
      { spec: { outputs: ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => outputSpec(name, 'FP32', [-1])) } },
    );
    const [part] = await answers(instance, batchOf(requestOf([0])));
    expect(part?.outputs).toMatchObject({ A: [1, 2], B: [0, 3, 1, 4, 2, 5], C: [0n, 2n, 4n, 6n], D: [3.5], E: [] });
    expect(part?.outputs.F?.slice(0, 3)).toEqual([0, 200, 400]);
    expect(part?.outputs.F?.slice(100, 103)).toEqual([1, 201, 401]);
  });

  it('carries BF16 by DLPack alone', async () => {
    const instance = await start(
      executes(`
tensor = requests[0].inputs()[0]
try:
    tensor.as_numpy()
except pb_utils.TritonModelException as error:
    text = str(error)
again = pb_utils.Tensor.from_dlpack("Y", tensor.to_dlpack())
other = pb_utils.Tensor.from_dlpack("Z", np.arange(3, dtype=np.float32))
try:
    pb_utils.Tensor("S", np.array([b"x"], dtype=object)).to_dlpack()
except pb_utils.TritonModelException as error:
    text += " " + str(error)
same = np.from_dlpack(pb_utils.Tensor("T", np.arange(2, dtype=np.int32)))
return [pb_utils.InferenceResponse([again, other, pb_utils.Tensor("T", same), pb_utils.Tensor("TEXT", np.array([text], dtype=object))])]
`),
      {
        spec: {
          inputs: [inputSpec('X', 'BF16', [-1])],
          outputs: ['Y', 'Z', 'T', 'TEXT'].map((name) => outputSpec(name, 'FP32', [-1])),
        },
      },
    );
    const tensor = new Tensor('BF16', [3], new Uint8Array([1, 2, 3, 4, 5, 6]));
    let bytes = '';
    await new Promise<void>((resolve, reject) => {
      instance.run(batchOf(makeRequest({ inputs: new Map([['X', tensor]]) }))).subscribe({
        next: ({ outputs }) => {
          bytes = Buffer.from(outputs.get('Y')?.bytes ?? []).toString('hex');
        },
        error: reject,
        complete: resolve,
      });
    });
    expect(bytes).toBe('010203040506');
    const [part] = await answers(instance, batchOf(makeRequest({ inputs: new Map([['X', tensor]]) })));
    expect(part?.outputs).toMatchObject({
      Z: [0, 1, 2],
      T: [0, 1],
      TEXT: [
        'Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead. ' +
          'DLPack does not have support for string tensors.',
      ],
    });
  });

  it('shows a model everything that a request says', async () => {
    const instance = await start(
      executes(`
r = requests[0]
said = [r.request_id(), str(r.correlation_id()), str(r.flags()), str(r.timeout()), r.parameters(), ",".join(sorted(r.requested_output_names()))]
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(said, dtype=object)), pb_utils.Tensor("Z", np.zeros(1))])]
`),
      { spec: { outputs: [outputSpec('Y', 'BYTES', [-1]), outputSpec('Z', 'FP64', [-1])] } },
    );
    expect(await answer(instance, requestOf([1]))).toEqual(['', '0', '0', '0', '', 'Y,Z']);
    const request = requestOf([1], {
      id: 'größe',
      sequenceId: 2n ** 64n - 1n,
      sequenceStart: true,
      sequenceEnd: true,
      timeoutMicroseconds: 5_000_000_000n,
      parameters: new Map<string, string | bigint | boolean>([
        ['a', 'x"y'],
        ['b', 2n ** 62n],
        ['c', true],
      ]),
      outputs: [{ name: 'Y', classification: 0 }],
    });
    const [part] = await answers(instance, batchOf(request));
    expect(part?.outputs).toEqual({
      Y: ['größe', '18446744073709551615', '3', '5000000000', '{"a":"x\\"y","b":4611686018427387904,"c":true}', 'Y'],
    });
    expect(await answer(instance, requestOf([1], { sequenceId: 'abc' }))).toEqual(['', 'abc', '0', '0', '', 'Y,Z']);
  });

  it('answers with parameters', async () => {
    const instance = await start(
      executes(
        `return [pb_utils.InferenceResponse([], parameters={"n": 9007199254740993, "t": True, "s": "é", "z": -1}) for _ in requests]`,
      ),
    );
    const [part] = await answers(instance, batchOf(requestOf([1])));
    expect(part?.parameters).toEqual({ n: 9007199254740993n, t: true, s: 'é', z: -1n });
  });

  describe('what goes wrong in execute', () => {
    let instance: Instance;
    const failed = "INTERNAL Failed to process the request(s) for model 'm_0_0', message: ";

    beforeAll(async () => {
      instance = await start(
        executes(`
what = int(requests[0].inputs()[0].as_numpy()[0])
ok = pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.zeros(1, np.float32))])
if what == 0: raise ValueError("bäng")
if what == 1: return 5
if what == 2: return [ok, ok]
if what == 3: return [7]
if what == 4: return [None]
if what == 5: return [pb_utils.InferenceResponse(error=pb_utils.TritonError("nö", pb_utils.TritonError.NOT_FOUND))]
if what == 6: raise pb_utils.TritonModelException("said so")
if what == 7:
    requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
    return [ok]
if what == 8: return None
if what == 9: return [pb_utils.InferenceResponse([pb_utils.Tensor("UNKNOWN", np.zeros(1)), pb_utils.Tensor("Y", np.ones(1, np.float32))])]
if what == 10: sys_exit = __import__("sys").exit(3)
return [ok]
`),
      );
    });

    it.each([
      [1, "Expected a list in the execute return, found type '<class 'int'>'."],
      [
        2,
        'Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:1, and InferenceResponse(s) size is:2\n',
      ],
      [3, "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'int'>'."],
      [8, "Expected a list in the execute return, found type '<class 'NoneType'>'."],
    ])('%i: the text of Triton', async (what, text) => {
      expect(await answer(instance, requestOf([what]))).toBe(failed + text);
    });

    it('an exception: its type, its text and where', async () => {
      const text = await answer(instance, requestOf([0]));
      expect(text).toMatch(
        /^INTERNAL Failed to process the request\(s\) for model 'm_0_0', message: ValueError: bäng\n\nAt:\n {2}.*model\.py\(7\): execute\n$/,
      );
      expect(await answer(instance, requestOf([6]))).toContain('message: TritonModelException: said so\n\nAt:\n');
      expect(await answer(instance, requestOf([10]))).toContain('message: SystemExit: 3');
    });

    it('an exception fails every request of its batch, and nothing after it', async () => {
      const parts = await answers(instance, batchOf(requestOf([0]), requestOf([99])));
      expect(parts.map(({ of, error }) => [of, error?.includes('bäng')])).toEqual([
        [0, true],
        [1, true],
      ]);
      expect(await answer(instance, requestOf([99]))).toEqual([0]);
    });

    it('a response for a request that is to run again', async () => {
      expect(await answer(instance, requestOf([7]))).toContain(
        'Expected a None object in the execute function return list for reschduled request, found type ',
      );
    });

    it('no response and nobody who could still give one', async () => {
      expect(await answer(instance, requestOf([4]))).toBe('INTERNAL the model has dropped the request without a response');
    });

    it('an error as a response has its own code and text', async () => {
      expect(await answer(instance, requestOf([5]))).toBe('NOT_FOUND nö');
    });

    it('an output that the config does not have is left out', async () => {
      const [part] = await answers(instance, batchOf(requestOf([9])));
      expect(part?.outputs).toEqual({ Y: [1] });
    });
  });

  it('a class without execute fails each request', async () => {
    const instance = await start(modelClass('pass'));
    expect(await answer(instance, requestOf([1]))).toMatch(/message: Python model .*\/1\/model\.py does not implement `execute` method\.$/);
  });

  it('checks what a model makes', async () => {
    const instance = await start(
      executes(`
said = []
def text(f):
    try:
        f()
        said.append("nothing")
    except Exception as error:
        said.append(str(error))
T = lambda: pb_utils.Tensor("T", np.zeros(1))
R = lambda **k: pb_utils.InferenceRequest(**{"inputs": [T()], "requested_output_names": ["O"], "model_name": "x", **k})
text(lambda: pb_utils.Tensor("", np.zeros(1)))
text(lambda: pb_utils.Tensor("c", np.zeros(1, np.complex64)))
text(lambda: pb_utils.InferenceResponse([None]))
text(lambda: R(inputs=[None]))
text(lambda: R(requested_output_names=[""], request_id="r"))
text(lambda: R(correlation_id=1.5))
text(lambda: R(parameters={"a": 1.5}))
text(lambda: R(parameters={1: 1}))
s = requests[0].get_response_sender()
text(lambda: s.send(flags=7))
text(lambda: s.send())
text(lambda: s.send(flags=1))
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(said, dtype=object))])]
`),
    );
    expect(await answer(instance, requestOf([1]))).toEqual([
      'Tensor name cannot be an empty string.',
      'NumPy dtype is not supported.',
      'Output tensor for inference response should not be empty.',
      "Input tensor for request with id '' and model name 'x' should not be empty.",
      "Requested output name for request with id 'r' and model name 'x' should not be empty.",
      'Correlation ID must be integer or string',
      "Expect parameters values to have type bool/int/str, found type <class 'float'>",
      "Expect parameters keys to have type str, found type <class 'int'>",
      'Unable to send response. Unsupported flag provided.',
      'Inference Response object must be provided when the response flags is set to zero.',
      'Unable to send response. Non-decoupled model cannot send complete final before sending a response.',
    ]);
  });

  it('lets a sender give the one answer, at once or after execute has returned', async () => {
    const instance = await start(
      executes(`
import threading, time
def later(sender, value):
    time.sleep(0.01)
    sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", value)]), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
senders = [r.get_response_sender() for r in requests]
values = [r.inputs()[0].as_numpy() * 2 for r in requests]
senders[0].send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", values[0])]))
try:
    senders[0].send(pb_utils.InferenceResponse([]))
except pb_utils.TritonModelException as error:
    assert str(error) == "Unable to send response. Non-decoupled model cannot send more than one response."
senders[0].send(flags=1)
threading.Thread(target=later, args=(senders[1], values[1])).start()
return [None, None, pb_utils.InferenceResponse([pb_utils.Tensor("Y", values[2])])]
`),
    );
    const parts = await answers(instance, batchOf(requestOf([1]), requestOf([2]), requestOf([3])));
    expect(parts.toSorted((a, b) => a.of - b.of)).toEqual([
      { of: 0, outputs: { Y: [2] }, isLast: true },
      { of: 1, outputs: { Y: [4] }, isLast: true },
      { of: 2, outputs: { Y: [6] }, isLast: true },
    ]);
  });

  it('asks for a request to run again', async () => {
    const instance = await start(
      executes(`
for r in requests: r.set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
return [None for _ in requests]
`),
    );
    expect(await answers(instance, batchOf(requestOf([1]), requestOf([2])))).toEqual([
      { of: 0, outputs: {}, isLast: true, isRescheduled: true },
      { of: 1, outputs: {}, isLast: true, isRescheduled: true },
    ]);
  });

  it('keeps inputs that a model has kept', async () => {
    const instance = await start(
      modelClass(`
kept = []
def execute(self, requests):
    kept = self.kept
    kept.append(requests[0].inputs()[0].as_numpy())
    kept.append(requests[0].inputs()[0])
    sums = [float((k if isinstance(k, np.ndarray) else k.as_numpy()).sum()) for k in kept]
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(sums, np.float32))])]
`),
    );
    const expected: number[] = [];
    for (let round = 1; round <= 20; round++) {
      const values = Array.from({ length: 700 }, () => round);
      expected.push(700 * round, 700 * round);
      expect(await answer(instance, requestOf(values))).toEqual(expected);
    }
  });

  it('changes of an input in place are nobody else’s', async () => {
    const instance = await start(
      executes(`
x = requests[0].inputs()[0].as_numpy()
x += 1
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])]
`),
    );
    const request = requestOf([1, 2]);
    expect(await answer(instance, request)).toEqual([2, 3]);
    expect(await answer(instance, request)).toEqual([2, 3]);
  });

  it('carries 16 MiB there and back, whole and in parts, after small ones and before', async () => {
    const instance = await start(
      executes(`
x = requests[0].inputs()[0].as_numpy()
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x), pb_utils.Tensor("HALF", x[: len(x) // 2]), pb_utils.Tensor("TWICE", x * 2)])]
`),
      { spec: { outputs: ['Y', 'HALF', 'TWICE'].map((name) => outputSpec(name, 'FP32', [-1])) } },
    );
    const values = new Float32Array(4 * 2 ** 20).map((_, index) => index % 4096);
    const request = makeRequest({ inputs: new Map([['X', tensorFrom('FP32', [values.length], values)]]) });
    const bytes = Buffer.from(values.buffer);
    for (const round of [0, 1, 2]) {
      expect(await answer(instance, requestOf([round]))).toEqual([round]);
      const equal: unknown[] = [];
      await new Promise<void>((resolve, reject) => {
        instance.run(batchOf(request)).subscribe({
          next: ({ outputs }) => {
            const twice = outputs.get('TWICE')?.bytes ?? new Uint8Array();
            equal.push(bytes.equals(outputs.get('Y')?.bytes ?? new Uint8Array()));
            equal.push(bytes.subarray(0, bytes.length / 2).equals(outputs.get('HALF')?.bytes ?? new Uint8Array()));
            equal.push(Buffer.from(twice).readFloatLE(4 * 4095));
          },
          error: reject,
          complete: resolve,
        });
      });
      expect(equal).toEqual([true, true, 8190]);
    }
  });

  it('runs execute as a coroutine, its requests at the same time', async () => {
    const instance = await start(
      `import asyncio\n${modelClass(`
async def execute(self, requests):
    barrier = [0]
    async def one(request):
        barrier[0] += 1
        while barrier[0] < len(requests):
            await asyncio.sleep(0)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", request.inputs()[0].as_numpy() + 1)])
    return list(await asyncio.gather(*[one(r) for r in requests]))
`)}`,
    );
    expect(await answers(instance, batchOf(requestOf([1]), requestOf([2]), requestOf([3])))).toEqual([
      { of: 0, outputs: { Y: [2] }, isLast: true },
      { of: 1, outputs: { Y: [3] }, isLast: true },
      { of: 2, outputs: { Y: [4] }, isLast: true },
    ]);
  });

  it('gives the same names and helpers as the library of Triton', async () => {
    const instance = await start(
      executes(`
config = {"input": [{"name": "a", "dims": [1]}], "output": [{"name": "b"}], "model_transaction_policy": {"decoupled": True}}
strings = np.array([b"ab", "é"], dtype=object)
said = [
    pb_utils.get_input_config_by_name(config, "a")["dims"][0] == 1,
    pb_utils.get_output_config_by_name(config, "nope") is None,
    pb_utils.using_decoupled_model_transaction_policy(config),
    pb_utils.triton_string_to_numpy("TYPE_FP32") is np.float32,
    pb_utils.triton_to_numpy_type(pb_utils.numpy_to_triton_type(np.int8)) is np.int8,
    list(pb_utils.deserialize_bytes_tensor(pb_utils.serialize_byte_tensor(strings))) == [b"ab", "é".encode()],
    pb_utils.get_output_tensor_by_name(pb_utils.InferenceResponse([]), "x") is None,
    pb_utils.get_model_dir().endswith("/m/1"),
    pb_utils.TritonError("x").code() == pb_utils.TritonError.INTERNAL,
    pb_utils.is_model_ready("nope") is False,
]
try:
    pb_utils.load_model(model_name="x")
except pb_utils.TritonModelException as error:
    said.append(str(error) == "explicit model load / unload is not allowed if polling is enabled")
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array(said))])]
`),
    );
    expect(await answer(instance, requestOf([0]))).toEqual(Array.from({ length: 11 }, () => 1));
  });

  it('lets a model see that its caller has gone', async () => {
    const instance = await start(
      executes(`
import time
r = requests[0]
if r.inputs()[0].as_numpy()[0] == 0:
    return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([1 if r.is_cancelled() else 0], np.float32))])]
while not r.is_cancelled():
    time.sleep(0.001)
return [pb_utils.InferenceResponse(error=pb_utils.TritonError("stopped", pb_utils.TritonError.CANCELLED)) for _ in requests]
`),
    );
    const parts: unknown[] = [];
    instance
      .run(batchOf(requestOf([1])))
      .subscribe((part) => parts.push(part))
      .unsubscribe();
    // It would wait for the first one for ever.
    expect(await answer(instance, requestOf([0]))).toEqual([0]);
    const batch = batchOf(requestOf([1]), requestOf([2]));
    const running = answers(instance, batch);
    batch.onCancelled?.(0);
    expect((await running)[0]).toEqual({ of: 0, outputs: {}, isLast: true, error: 'CANCELLED stopped' });
    expect(parts).toEqual([]);
  });

  it('says how long the model ran', async () => {
    const instance = await start(
      executes(`
import time
time.sleep(0.05)
return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.zeros(1, np.float32))])]
`),
    );
    const batch = batchOf(requestOf([0]));
    await answers(instance, batch);
    expect(batch.times.outputStartMs - batch.times.inputEndMs).toBeGreaterThanOrEqual(49);
  });

  it('leaves inputs out that a request does not have', async () => {
    const instance = await start(
      executes(
        `return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", np.array([t.name() for t in r.inputs()], dtype=object))]) for r in requests]`,
      ),
      { spec: { inputs: [inputSpec('X', 'FP32', [-1]), inputSpec('Z', 'FP32', [-1], { optional: true })] } },
    );
    const both = makeRequest({
      inputs: new Map([
        ['Z', floats([1])],
        ['X', floats([2])],
      ]),
    });
    expect(await answers(instance, batchOf(requestOf([1]), both))).toEqual([
      { of: 0, outputs: { Y: ['X'] }, isLast: true },
      { of: 1, outputs: { Y: ['Z', 'X'] }, isLast: true },
    ]);
  });
});
