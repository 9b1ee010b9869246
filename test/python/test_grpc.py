"""`tritonclient.grpc` and its asyncio twin."""

import queue
import time

import grpc
import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.grpc.aio as aioclient
from conftest import DATATYPES
from tensors import extremes, fill, same
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException


@pytest.fixture
def client(server):
    client = grpcclient.InferenceServerClient(url=server.grpc)
    yield client
    client.close()


@pytest.fixture
def stub(server):
    with grpc.insecure_channel(server.grpc, [("grpc.max_receive_message_length", -1)]) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def test_health_and_metadata(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("simple")
    assert not client.is_model_ready("missing")
    assert "classification" in client.get_server_metadata().extensions
    metadata = client.get_model_metadata("simple", as_json=True)
    assert metadata["inputs"][0] == {"name": "INPUT0", "datatype": "INT32", "shape": ["-1", "16"]}


def test_config_statistics_and_index(client):
    config = client.get_model_config("text_line").config
    assert config.max_batch_size == 64
    assert list(config.dynamic_batching.preferred_batch_size) == [64]
    assert config.version_policy.latest.num_versions == 1
    client.infer("identity_fp32", [fill(grpcclient, "FP32", np.ones((1, 1), np.float32))])
    statistics = client.get_inference_statistics("identity_fp32").model_stats[0]
    assert statistics.inference_stats.success.count >= 1
    assert statistics.inference_stats.success.ns > 0
    assert ("simple", "1", "READY") in [(entry.name, entry.version, entry.state) for entry in client.get_model_repository_index().models]


@pytest.mark.parametrize("datatype", DATATYPES)
def test_round_trip(client, datatype):
    values = extremes(datatype)
    result = client.infer(f"identity_{datatype.lower()}", [fill(grpcclient, datatype, values)], request_id="x")
    assert same(result.as_numpy("OUTPUT0"), values)
    assert result.get_response().id == "x"


TYPED = {
    "BOOL": ("bool_contents", [True, False]),
    "UINT8": ("uint_contents", [0, 255]),
    "UINT16": ("uint_contents", [0, 65535]),
    "UINT32": ("uint_contents", [0, 2**32 - 1]),
    "UINT64": ("uint64_contents", [0, 2**64 - 1]),
    "INT8": ("int_contents", [-128, 127]),
    "INT16": ("int_contents", [-32768, 32767]),
    "INT32": ("int_contents", [-(2**31), 2**31 - 1]),
    "INT64": ("int64_contents", [-(2**63), 2**63 - 1]),
    "FP32": ("fp32_contents", [1.5, -2.25]),
    "FP64": ("fp64_contents", [1e300, -1e-300]),
}


@pytest.mark.parametrize("datatype", TYPED)
def test_typed_contents_are_answered_raw(stub, datatype):
    field, values = TYPED[datatype]
    request = service_pb2.ModelInferRequest(model_name=f"identity_{datatype.lower()}")
    tensor = request.inputs.add(name="INPUT0", datatype=datatype, shape=[1, 2])
    getattr(tensor.contents, field).extend(values)
    answer = stub.ModelInfer(request)
    kind = extremes(datatype).dtype
    assert list(np.frombuffer(answer.raw_output_contents[0], dtype=kind)) == list(np.array(values, dtype=kind))
    assert not answer.outputs[0].HasField("contents")


def test_raw_and_typed_contents_exclude_each_other(stub):
    request = service_pb2.ModelInferRequest(model_name="identity_int32", raw_input_contents=[b"\0" * 4])
    tensor = request.inputs.add(name="INPUT0", datatype="INT32", shape=[1, 1])
    tensor.contents.int_contents.extend([1])
    with pytest.raises(grpc.RpcError) as failure:
        stub.ModelInfer(request)
    assert failure.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'identity_int32'" in failure.value.details()


def test_messages_of_many_megabytes(client):
    values = np.arange(1_600_000, dtype=np.float32).reshape(1, -1)
    assert same(client.infer("identity_fp32", [fill(grpcclient, "FP32", values)]).as_numpy("OUTPUT0"), values)


@pytest.mark.parametrize(
    ("model", "values", "datatype", "code", "message"),
    [
        ("missing", np.zeros((1, 1), np.float32), "FP32", "StatusCode.NOT_FOUND", "Request for unknown model: 'missing' is not found"),
        ("identity_fp32", np.zeros((9, 1), np.float32), "FP32", "StatusCode.INVALID_ARGUMENT", "batch-size must be <= 8 for 'identity_fp32'"),
        ("labelled", np.zeros((1, 4), np.float32), "FP32", "StatusCode.INVALID_ARGUMENT", "Expected [-1,3], got [1,4]"),
    ],
)
def test_errors(client, model, values, datatype, code, message):
    with pytest.raises(InferenceServerException) as failure:
        client.infer(model, [fill(grpcclient, datatype, values)])
    assert failure.value.status() == code
    assert message in failure.value.message()


def test_deadline_frees_the_queue(client, server):
    values = np.zeros((1, 1), np.float32)
    with pytest.raises(InferenceServerException) as failure:
        client.infer("slow", [fill(grpcclient, "FP32", values)], client_timeout=0.05)
    assert failure.value.status() == "StatusCode.DEADLINE_EXCEEDED"
    assert same(client.infer("slow", [fill(grpcclient, "FP32", values)]).as_numpy("OUTPUT0"), values)


def test_short_deadlines_leave_other_calls_of_the_channel_alone(stub):
    values = np.zeros((1, 1), np.float32)
    tensors = [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 1]}]

    def request(model):
        return service_pb2.ModelInferRequest(model_name=model, inputs=tensors, raw_input_contents=[values.tobytes()])

    requests = queue.Queue()
    answers = stub.ModelStreamInfer(iter(requests.get, None))
    for _ in range(6):
        requests.put(request("identity_fp32"))
        assert next(answers).error_message == ""
        calls = [stub.ModelInfer.future(request("slow"), timeout=0.05) for _ in range(500)]
        assert {call.code() for call in calls} <= {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.OK}
    requests.put(None)
    assert list(answers) == []


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_requests(stub, compression):
    values = np.arange(2_000_000, dtype=np.float32)
    tensors = [{"name": "INPUT0", "datatype": "FP32", "shape": [1, values.size]}]
    request = service_pb2.ModelInferRequest(model_name="identity_fp32", inputs=tensors, raw_input_contents=[values.tobytes()])
    answer = stub.ModelInfer(request, compression=compression)
    assert answer.raw_output_contents[0] == request.raw_input_contents[0]
    streamed = list(stub.ModelStreamInfer(iter([request] * 2), compression=compression))
    assert [each.infer_response.raw_output_contents[0] == request.raw_input_contents[0] for each in streamed] == [True, True]


def test_cancelled_call(client):
    answers = queue.Queue()
    values = np.zeros((1, 1), np.float32)
    call = client.async_infer("slow", [fill(grpcclient, "FP32", values)], callback=lambda result, error: answers.put(error))
    time.sleep(0.05)
    call.cancel()
    assert answers.get(timeout=10).status() == "StatusCode.CANCELLED"


def test_stream_answers_in_order(client):
    answers = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put(error or result))
    rows = [np.full((1, 4), number, dtype=np.float32) for number in range(100)]
    for number, row in enumerate(rows):
        client.async_stream_infer("identity_fp32", [fill(grpcclient, "FP32", row)], request_id=str(number))
    for number, row in enumerate(rows):
        answer = answers.get(timeout=10)
        assert answer.get_response().id == str(number)
        assert answer.get_response().parameters["triton_final_response"].bool_param
        assert same(answer.as_numpy("OUTPUT0"), row)
    client.stop_stream()


def test_stream_survives_a_bad_request(client):
    answers = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put(error or result))
    client.async_stream_infer("missing", [fill(grpcclient, "FP32", np.zeros((1, 1), np.float32))])
    assert "unknown model" in answers.get(timeout=10).message()
    values = np.ones((1, 1), np.float32)
    client.async_stream_infer("identity_fp32", [fill(grpcclient, "FP32", values)])
    assert same(answers.get(timeout=10).as_numpy("OUTPUT0"), values)
    client.stop_stream()


async def test_asyncio_client(server):
    async with aioclient.InferenceServerClient(url=server.grpc) as client:
        assert await client.is_server_ready()
        values = extremes("BYTES")
        result = await client.infer("identity_bytes", [fill(aioclient, "BYTES", values)])
        assert same(result.as_numpy("OUTPUT0"), values)


async def test_asyncio_stream(server):
    rows = [np.full((1, 2), number, dtype=np.float32) for number in range(10)]

    async def requests():
        for row in rows:
            yield {"model_name": "identity_fp32", "inputs": [fill(aioclient, "FP32", row)]}

    async with aioclient.InferenceServerClient(url=server.grpc) as client:
        answers = [answer async for answer in client.stream_infer(requests())]
    assert all(error is None for _, error in answers)
    assert all(same(result.as_numpy("OUTPUT0"), row) for (result, _), row in zip(answers, rows))


def audio(samples):
    tensor = grpcclient.InferInput("AUDIO", [1, 512], "FP32")
    tensor.set_data_from_numpy(samples.reshape(1, 512))
    return [tensor]


def test_a_sequence_has_a_beginning(client):
    config = client.get_model_config("vad").config
    assert [state.input_name for state in config.sequence_batching.state] == ["CONTEXT", "STATE"]
    assert config.sequence_batching.oldest.max_candidate_sequences == 1024
    silence = audio(np.zeros(512, np.float32))
    with pytest.raises(InferenceServerException, match="must specify a non-zero or non-empty correlation ID"):
        client.infer("vad", silence)
    with pytest.raises(InferenceServerException, match="must specify the START flag on the first request of the sequence"):
        client.infer("vad", silence, sequence_id=81)
    result = client.infer("vad", silence, sequence_id=81, sequence_start=True, sequence_end=True)
    assert [output.name for output in result.get_response().outputs] == ["SPEECH"]


def test_the_server_remembers_between_the_steps_of_a_sequence(client):
    """Two sequences, one of them with a name, hear the same sound step by step; a third hears only its end."""
    noise = np.random.default_rng(1).standard_normal((4, 512)).astype(np.float32)

    def hear(sequence, steps):
        heard = []
        for index, samples in enumerate(steps):
            result = client.infer(
                "vad", audio(samples), sequence_id=sequence, sequence_start=index == 0, sequence_end=index == len(steps) - 1
            )
            heard.append(float(result.as_numpy("SPEECH")[0, 0]))
        return heard

    assert hear(82, noise) == pytest.approx(hear("by name", noise))
    assert hear(83, noise[-1:])[0] != pytest.approx(hear(82, noise)[-1])


def test_speech_is_found_over_a_stream(server):
    """The example client, as a newcomer runs it."""
    import pathlib
    import subprocess
    import sys

    script = pathlib.Path(__file__).parents[2] / "examples" / "clients" / "python" / "vad_grpc_stream.py"
    sound = script.parents[2] / "data" / "speech-16k.wav"
    done = subprocess.run([sys.executable, str(script), str(sound), server.grpc], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "1.00" in done.stdout
