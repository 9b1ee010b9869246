"""Models of the kinds that people write for Triton's Python backend, and of those that they write by mistake."""

import sys
import textwrap

KINDS = {"FP32": "TYPE_FP32", "INT32": "TYPE_INT32", "INT64": "TYPE_INT64", "BYTES": "TYPE_STRING"}

HEAD = """
import numpy as np
import triton_python_backend_utils as pb_utils

def values(request, name="X"):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy()

def answer(**arrays):
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, array) for name, array in arrays.items()])

def floats(*numbers):
    return np.array(numbers, np.float32)

"""


def tensors(kind, given):
    listed = ", ".join(
        f'{{ name: "{name}" data_type: {KINDS[datatype]} dims: [ {", ".join(map(str, dims))} ] }}' for name, (datatype, dims) in given.items()
    )
    return f"{kind} [ {listed} ]\n" if given else ""


def config(inputs=None, outputs=None, extra="", batch=0):
    x = {"X": ("FP32", [-1])}
    y = {"Y": ("FP32", [-1])}
    return (
        f'backend: "python"\nmax_batch_size: {batch}\n'
        + tensors("input", x if inputs is None else inputs)
        + tensors("output", y if outputs is None else outputs)
        + f'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{sys.prefix}" }} }}\n{extra}\n'
    )


def code(methods, before=""):
    return HEAD + textwrap.dedent(before) + "class TritonPythonModel:\n" + textwrap.indent(textwrap.dedent(methods).strip("\n"), "    ") + "\n"


def executes(body, before=""):
    return code("def execute(self, requests):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    "), before)


DECOUPLED = "model_transaction_policy { decoupled: true }"
STRINGS = {"Y": ("BYTES", [-1])}
NO_INPUT = {"X": ("INT32", [1])}


def write_model(folder, name, settings, files):
    (folder / name).mkdir(parents=True)
    if settings is not None:
        (folder / name / "config.pbtxt").write_text(settings, encoding="utf-8")
    for path, text in files.items():
        target = folder / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


# Name: config and the code of version 1, or all files.
MODELS = {
    "add_sub": (
        config({"A": ("FP32", [4]), "B": ("FP32", [4])}, {"SUM": ("FP32", [4]), "DIFF": ("FP32", [4])}, "dynamic_batching { }", batch=8),
        executes("""
            responses = []
            for request in requests:
                a, b = values(request, "A"), values(request, "B")
                responses.append(answer(SUM=(a + b).astype(np.float32), DIFF=(a - b).astype(np.float32)))
            return responses
        """),
    ),
    "bls_sync": (
        config({"A": ("FP32", [4]), "B": ("FP32", [4])}, {"SUM": ("FP32", [4])}),
        executes("""
            responses = []
            for request in requests:
                inputs = [pb_utils.Tensor(name, values(request, name)[np.newaxis]) for name in ("A", "B")]
                called = pb_utils.InferenceRequest(model_name="add_sub", requested_output_names=["SUM"], inputs=inputs).exec()
                if called.has_error():
                    raise pb_utils.TritonModelException(called.error().message())
                responses.append(answer(SUM=pb_utils.get_output_tensor_by_name(called, "SUM").as_numpy()[0]))
            return responses
        """),
    ),
    # Each call ends when all 32 are there: `gather_32` answers none before.
    "bls_async": (
        config(NO_INPUT, {"Y": ("INT32", [-1])}),
        code("""
            async def execute(self, requests):
                async def call(n):
                    request = pb_utils.InferenceRequest(
                        model_name="gather_32", requested_output_names=["Y"], inputs=[pb_utils.Tensor("X", np.array([[n]], np.int32))])
                    return pb_utils.get_output_tensor_by_name(await request.async_exec(), "Y").as_numpy()[0]
                return [answer(Y=np.concatenate(await asyncio.gather(*[call(n) for n in range(32)]))) for _ in requests]
        """, "import asyncio\n"),
    ),
    "gather_32": (
        config(NO_INPUT, {"Y": ("INT32", [1])}, "dynamic_batching { preferred_batch_size: [ 32 ] max_queue_delay_microseconds: 60000000 }", batch=32),
        executes("return [answer(Y=values(request) * 2) for request in requests]"),
    ),
    "repeat": (
        config({"IN": ("INT32", [-1])}, {"OUT": ("INT32", [1])}, DECOUPLED),
        code("""
            def initialize(self, args):
                self.running = 0
                self.lock = threading.Lock()

            def execute(self, requests):
                for request in requests:
                    with self.lock:
                        self.running += 1
                    threading.Thread(target=self.respond, args=(request.get_response_sender(), values(request, "IN"))).start()

            def respond(self, sender, numbers):
                for number in numbers:
                    sender.send(answer(OUT=np.array([number], np.int32)))
                sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
                with self.lock:
                    self.running -= 1

            def finalize(self):
                while self.running > 0:
                    time.sleep(0.01)
        """, "import threading, time\n"),
    ),
    "square": (
        config({"IN": ("INT32", [1])}, {"OUT": ("INT32", [1])}, DECOUPLED + " dynamic_batching { }", batch=4),
        executes("""
            for request in requests:
                sender = request.get_response_sender()
                for _ in range(int(values(request, "IN").ravel()[0])):
                    sender.send(answer(OUT=values(request, "IN")))
                sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        """),
    ),
    "strings": (
        config({"X": ("BYTES", [-1])}, {"UPPER": ("BYTES", [-1]), "LENGTH": ("INT64", [-1])}, batch=8),
        executes("""
            return [
                answer(
                    UPPER=np.array([[text.decode().upper() for text in row] for row in values(request)], dtype=np.object_),
                    LENGTH=np.array([[len(text) for text in row] for row in values(request)], dtype=np.int64),
                )
                for request in requests
            ]
        """),
    ),
    "completed": (
        f'backend: "python"\nparameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{sys.prefix}" }} }}',
        code("""
            @staticmethod
            def auto_complete_config(auto_complete_model_config):
                named = auto_complete_model_config.as_dict()
                if "X" not in [tensor["name"] for tensor in named.get("input", [])]:
                    auto_complete_model_config.add_input({"name": "X", "data_type": "TYPE_FP32", "dims": [2], "optional": True})
                auto_complete_model_config.add_output({"name": "Y", "data_type": "TYPE_FP32", "dims": [2]})
                auto_complete_model_config.set_max_batch_size(4)
                auto_complete_model_config.set_dynamic_batching()
                return auto_complete_model_config

            def execute(self, requests):
                return [answer(Y=values(request) + 1) for request in requests]
        """),
    ),
    "metered": (
        config(),
        code("""
            def initialize(self, args):
                self.family = pb_utils.MetricFamily(name="requests_seen", description="seen", kind=pb_utils.MetricFamily.COUNTER)
                self.sizes = pb_utils.MetricFamily(name="sizes_seen", description="sizes", kind=pb_utils.MetricFamily.HISTOGRAM)
                self.metric = self.family.Metric(labels={"model": "metered", "version": "1"})
                self.size = self.sizes.Metric(labels={}, buckets=[1, 10])

            def execute(self, requests):
                for request in requests:
                    self.metric.increment(1)
                    self.size.observe(values(request).size)
                return [answer(Y=floats(self.metric.value())) for _ in requests]
        """),
    ),
    "parameters": (
        config(),
        executes("""
            import json
            return [
                pb_utils.InferenceResponse([pb_utils.Tensor("Y", values(request))], parameters=dict(json.loads(request.parameters()), added="ü", half="\\ud800"))
                for request in requests
            ]
        """),
    ),
    "partly": (
        config(extra="dynamic_batching { preferred_batch_size: [ 3 ] max_queue_delay_microseconds: 60000000 }", batch=3),
        executes("""
            odd = pb_utils.TritonError("odd ones are not wanted", pb_utils.TritonError.INVALID_ARG)
            class Unprintable:
                def __str__(self):
                    raise ValueError("unprintable")
            def respond(request):
                number = int(values(request).ravel()[0])
                if number == 1:
                    return pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("Y", values(request))], error=odd)
                if number == 2:
                    return answer(Y=np.array([[Unprintable()]], dtype=object))
                return answer(Y=values(request))
            return [respond(request) for request in requests]
        """),
    ),
    # The first element of X says what to answer.
    "shapes": (
        config({"X": ("INT32", [1])}, {"Y": ("FP32", [-1, -1]), "Z": ("FP32", [-1, -1])}),
        executes("""
            what = int(values(requests[0])[0])
            grid = np.arange(12, dtype=np.float32).reshape(3, 4)
            big = np.arange(40000, dtype=np.float32).reshape(200, 200)
            arrays = [
                np.array(2.5, np.float32), np.zeros((0, 4), np.float32), grid.T, grid[:, ::2], grid[::-1], big.T[:, 5:], np.asfortranarray(big),
                np.broadcast_to(np.float32(7), (2, 3)), grid.astype(">f4"), np.zeros((0,), np.float32),
            ]
            return [answer(Y=arrays[what])]
        """),
    ),
    "wrong": (
        config(NO_INPUT, {"Y": ("FP32", [2]), "Z": ("FP32", [2])}),
        executes("""
            what = int(values(requests[0])[0])
            y, z = floats(1, 2), floats(3, 4)
            if what == 0:
                return [answer(Y=y)]
            if what == 1:
                return [answer(Y=y.astype(np.int64), Z=z)]
            if what == 2:
                return [answer(Y=np.ones((3, 3), np.float32), Z=z)]
            if what == 3:
                return [answer(Y=y, Z=z, MORE=y)]
            if what == 4:
                return [answer(Y=y, Z=z), answer(Y=y, Z=z)]
            if what == 5:
                return []
            if what == 6:
                return [None]
            if what == 7:
                return (answer(Y=y, Z=z),)
            if what == 8:
                return [y]
            if what == 9:
                raise ValueError("\\ud800 x" * 100000)
            if what == 10:
                sys.exit("enough")
            if what == 11:
                return answer(Y=[1, 2])
            if what == 12:
                class Awkward(Exception):
                    def __str__(self):
                        raise RuntimeError("no text")
                raise Awkward()
            if what == 13:
                def deeper(): deeper()
                deeper()
            return [answer(Y=y, Z=z)]
        """, "import sys\n"),
    ),
    "async_exit": (
        config(NO_INPUT, {"Y": ("FP32", [1])}),
        code("""
            async def execute(self, requests):
                if int(values(requests[0])[0]) == 1:
                    sys.exit(3)
                if int(values(requests[0])[0]) == 2:
                    asyncio.get_running_loop().stop()
                return [answer(Y=floats(5)) for _ in requests]
        """, "import asyncio, sys\n"),
    ),
    "endless": (
        config(NO_INPUT, {"Y": ("FP32", [1])}),
        executes("""
            request = requests[0]
            if int(values(request)[0]) == 0:
                return [answer(Y=floats(1))]
            while not request.is_cancelled():
                time.sleep(0.001)
            return [pb_utils.InferenceResponse(error=pb_utils.TritonError("cancelled", pb_utils.TritonError.CANCELLED))]
        """, "import time\n"),
    ),
    "mortal": (
        config(NO_INPUT, {"Y": ("INT64", [1])}),
        executes("""
            what = int(values(requests[0])[0])
            if what == 1:
                os._exit(0)
            if what == 2:
                os.kill(os.getpid(), 9)
            if what == 3:
                ctypes.string_at(0)
            if what == 4:
                os.close(3)
            return [answer(Y=np.array([os.getpid()], np.int64)) for _ in requests]
        """, "import ctypes, os\n"),
    ),
    "flood": (
        config(NO_INPUT, {"Y": ("INT64", [1])}),
        code("""
            is_printing = False
            printed = 0

            def print_on(self):
                while self.is_printing:
                    for _ in range(1000):
                        print("a line of a model that prints without end")
                    print("x" * 100000, file=sys.stderr)
                    self.printed += 1

            def execute(self, requests):
                if int(values(requests[0])[0]) == 1:
                    self.is_printing = True
                    threading.Thread(target=self.print_on, daemon=True).start()
                if int(values(requests[0])[0]) == 2:
                    self.is_printing = False
                return [answer(Y=np.array([self.printed], np.int64)) for _ in requests]
        """, "import sys, threading\n"),
    ),
    "forks": (
        config(NO_INPUT, {"Y": ("FP32", [-1])}),
        code("""
            def initialize(self, args):
                self.here = os.getpid()

            def execute(self, requests):
                what = int(values(requests[0])[0])
                if what == 0:
                    child = os.fork()
                    if child == 0:
                        sys.exit(7)
                    return [answer(Y=floats(os.waitpid(child, 0)[1] >> 8))]
                if what == 1:
                    child = os.fork()
                    if child == 0:
                        raise ValueError("in the child")
                    return [answer(Y=floats(os.waitpid(child, 0)[1] >> 8))]
                if what == 2:
                    child = os.fork()
                    if child > 0:
                        return [answer(Y=floats(os.waitpid(child, 0)[1] >> 8))]
                    return [answer(Y=floats(999))]
                context = multiprocessing.get_context(["fork", "spawn"][what % 2])
                kept = [values(request) for request in requests]
                with context.Pool(2) as pool:
                    squares = pool.map(abs if what % 2 else work, [-2, -3, -4])
                worker = context.Process(target=time.sleep, args=(600,))
                worker.start()
                worker.terminate()
                worker.join()
                return [answer(Y=floats(*squares, *kept[0]))]
        """, """
            import gc, multiprocessing, os, sys, time

            def work(number):
                pb_utils.Logger.log_info("logged by a child")
                gc.collect()
                try:
                    pb_utils.InferenceRequest(model_name="add_sub", requested_output_names=["SUM"], inputs=[]).exec()
                except pb_utils.TritonModelException:
                    return number * number
        """),
    ),
    "neighbours": (
        config(NO_INPUT, {"Y": ("FP32", [-1])}),
        {
            "1/model.py": executes(
                "return [answer(Y=floats(near.value, deep.value, start.value, frames.value, host.value))]",
                "from . import near\nfrom .package.inner import deep\nimport start, frames, host\n",
            ),
            "1/near.py": "from .package import value\n",
            "1/package/__init__.py": "value = 1\n",
            "1/package/inner/__init__.py": "",
            "1/package/inner/deep.py": "from ... import start\nvalue = start.value - 1\n",
            "1/start.py": "value = 3\n",
            "1/frames.py": "value = 4\n",
            "1/host.py": "value = 5\n",
        },
    ),
    "versions": (
        config(NO_INPUT, {"Y": ("FP32", [1])}, "version_policy { all { } }"),
        {f"{version}/model.py": executes(f"return [answer(Y=floats({version} + helper.n))]", "import helper\n") for version in (1, 2)}
        | {f"{version}/helper.py": f"n = {10 * version}\n" for version in (1, 2)},
    ),
    "dotted": (
        config(NO_INPUT, {"Y": ("FP32", [1])}, 'default_model_filename: "my.mödel v2.py"'),
        {"1/my.mödel v2.py": executes("return [answer(Y=floats(n))]", "from .near import n\n"), "1/near.py": "n = 6\n"},
    ),
    "name with spaces": (config(), executes("return [answer(Y=values(request)) for request in requests]")),
    "größe": (config(), executes("return [answer(Y=values(request)) for request in requests]")),
    "nothing_in": (config({}, {"Y": ("FP32", [1])}), executes("return [answer(Y=floats(len(request.inputs()))) for request in requests]")),
    "previous": (
        config(),
        code("""
            kept = []

            def execute(self, requests):
                # Arrays of the last three requests, of which the oldest is let go.
                self.kept.append(values(requests[0]))
                self.kept = self.kept[-3:]
                return [answer(Y=self.kept[0])]
        """),
    ),
    "in_place": (
        config(extra=DECOUPLED),
        executes("""
            x = values(requests[0])
            sender = requests[0].get_response_sender()
            for _ in range(20):
                sender.send(answer(Y=x))
                x += 1
            sender.send(flags=1)
        """),
    ),
    "ends_badly": (
        config(),
        code("""
            def execute(self, requests):
                return [answer(Y=values(request)) for request in requests]

            def finalize(self):
                sys.stdout = None
                raise ValueError("no end")
        """, "import atexit, sys\natexit.register(lambda: 1 / 0)\n"),
    ),
    "wrong_types": (
        config(NO_INPUT, STRINGS),
        executes("""
            said = []
            def text(make):
                try:
                    make()
                    said.append("nothing")
                except Exception as error:
                    said.append(type(error).__name__)
            x = pb_utils.Tensor("X", np.array([1], np.int32))
            R = lambda **more: pb_utils.InferenceRequest(**{"model_name": "wrong", "requested_output_names": ["Y"], "inputs": [x], **more})
            for more in (
                {"model_name": None}, {"request_id": 5}, {"requested_output_names": "Y"}, {"requested_output_names": [3]}, {"inputs": [1]},
                {"flags": -1}, {"timeout": -1}, {"model_version": 1.5}, {"correlation_id": 2**64}, {"correlation_id": -1},
            ):
                text(lambda: R(**more))
            text(lambda: pb_utils.Tensor("Y", [1, 2]))
            text(lambda: pb_utils.Tensor(None, np.zeros(1)))
            text(lambda: pb_utils.InferenceResponse(["x"]))
            text(lambda: pb_utils.TritonError(None))
            return [answer(Y=np.array(said, dtype=object))]
        """),
    ),
}
