"""A real Weir on ephemeral ports, for Triton's own Python clients."""

import pathlib
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).parents[2]

DATATYPES = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES", "BF16"]

LISTENING = {
    "http": re.compile(r"Started HTTPService at [^:\s]+:(\d+)"),
    "grpc": re.compile(r"Started GRPCInferenceService at [^:\s]+:(\d+)"),
    "metrics": re.compile(r"Started Metrics Service at [^:\s]+:(\d+)"),
}


def identity_config(datatype):
    kind = "TYPE_STRING" if datatype == "BYTES" else f"TYPE_{datatype}"
    return f"""
backend: "identity"
max_batch_size: 8
input [ {{ name: "INPUT0" data_type: {kind} dims: [ -1 ] }} ]
output [ {{ name: "OUTPUT0" data_type: {kind} dims: [ -1 ] }} ]
dynamic_batching {{ }}
instance_group [ {{ kind: KIND_CPU }} ]
"""


SLOW_CONFIG = identity_config("FP32") + """
parameters { key: "execute_delay_ms" value: { string_value: "400" } }
"""

LABELLED_CONFIG = """
backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 3 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 3 ] label_filename: "labels.txt" } ]
instance_group [ { kind: KIND_CPU } ]
"""

DECOUPLED = "model_transaction_policy { decoupled: true } instance_group [ { count: 1 kind: KIND_CPU } ]"

REPEAT_CONFIG = DECOUPLED + """
backend: "repeat"
input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] },
        { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] },
        { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] },
         { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] } ]
"""

SQUARE_CONFIG = DECOUPLED + """
backend: "square"
max_batch_size: 4
dynamic_batching { max_queue_delay_microseconds: 1000 }
input [ { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] } ]
"""

FAILING_CONFIG = SQUARE_CONFIG + """
parameters { key: "CUSTOM_FAIL_COUNT" value: { string_value: "2" } }
"""

FLAGS = """
  control_input [ { name: "START" control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } ] },
                  { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } ] } ]
"""

MORE_FLAGS = FLAGS + """
  control_input [ { name: "END" control [ { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } ] },
                  { name: "CORRID" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } ] } ]
"""


def sum_config(backend, batching):
    return f"""
backend: "{backend}"
max_batch_size: 4
input [ {{ name: "INPUT" data_type: TYPE_INT32 dims: [ -1 ] }} ]
output [ {{ name: "OUTPUT" data_type: TYPE_INT32 dims: [ -1 ] }} ]
sequence_batching {{ max_sequence_idle_microseconds: 60000000 {batching} }}
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
"""


def write_repository(folder):
    models = {f"identity_{datatype.lower()}": identity_config(datatype) for datatype in DATATYPES}
    models |= {"slow": SLOW_CONFIG, "labelled": LABELLED_CONFIG}
    models |= {"repeat_int32": REPEAT_CONFIG, "square_int32": SQUARE_CONFIG, "square_failing": FAILING_CONFIG}
    models |= {
        "sequence": sum_config("sequence", "direct { }" + FLAGS),
        "dyna_sequence": sum_config("dyna_sequence", "oldest { max_candidate_sequences: 4 }" + MORE_FLAGS),
    }
    for name, config in models.items():
        (folder / name / "1").mkdir(parents=True)
        (folder / name / "config.pbtxt").write_text(config)
    (folder / "labelled" / "labels.txt").write_text("cat\ndog\n")


@dataclass(frozen=True)
class Running:
    http: str
    grpc: str
    metrics: str


def start(repositories):
    node = ROOT / "node_modules" / ".bin" / "node"
    flags = [f"--model-repository={folder}" for folder in repositories]
    ports = [f"--{name}-port=0" for name in LISTENING]
    return subprocess.Popen(
        [str(node), str(ROOT / "src" / "main.ts"), *flags, *ports],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
    )


def read_ports(process):
    lines, ports = [], {}
    for line in process.stdout:
        lines.append(line)
        for name, pattern in LISTENING.items():
            if found := pattern.search(line):
                ports[name] = found.group(1)
        if len(ports) == len(LISTENING):
            return ports
    raise AssertionError("the server did not start:\n" + "".join(lines))


@contextmanager
def running(repositories):
    process = start(repositories)
    try:
        ports = read_ports(process)
        # What it goes on to say must not fill the pipe and stop it.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield Running(**{name: f"127.0.0.1:{port}" for name, port in ports.items()})
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0, "the server did not end well"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    write_repository(folder)
    with running([folder, ROOT / "examples" / "models"]) as served:
        yield served
