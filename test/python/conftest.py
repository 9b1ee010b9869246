"""A real Weir on ephemeral ports, for Triton's own Python clients."""

import pathlib
import re
import signal
import subprocess
import threading
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


def write_repository(folder):
    models = {f"identity_{datatype.lower()}": identity_config(datatype) for datatype in DATATYPES}
    models |= {"slow": SLOW_CONFIG, "labelled": LABELLED_CONFIG}
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


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    write_repository(folder)
    process = start([folder, ROOT / "examples" / "models"])
    try:
        ports = read_ports(process)
        # What it goes on to say must not fill the pipe and stop it.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield Running(**{name: f"127.0.0.1:{port}" for name, port in ports.items()})
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0, "the server did not end well"
