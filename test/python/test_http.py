"""`tritonclient.http` and its asyncio twin."""

import json
import urllib.request

import numpy as np
import pytest
import tritonclient.http as httpclient
import tritonclient.http.aio as aioclient
from conftest import DATATYPES
from tensors import extremes, fill, same
from tritonclient.utils import InferenceServerException


@pytest.fixture
def client(server):
    client = httpclient.InferenceServerClient(url=server.http, concurrency=8)
    yield client
    client.close()


def test_health_and_metadata(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("simple")
    assert client.is_model_ready("simple", "1")
    assert not client.is_model_ready("missing")
    assert "binary_tensor_data" in client.get_server_metadata()["extensions"]
    metadata = client.get_model_metadata("simple")
    assert metadata["versions"] == ["1"]
    assert metadata["inputs"][0] == {"name": "INPUT0", "datatype": "INT32", "shape": [-1, 16]}


def test_config_is_complete(client):
    config = client.get_model_config("text_line")
    assert config["name"] == "text_line"
    assert config["max_batch_size"] == 64
    assert config["dynamic_batching"]["preferred_batch_size"] == [64]
    assert config["dynamic_batching"]["max_queue_delay_microseconds"] == 0
    assert config["version_policy"] == {"latest": {"num_versions": 1}}
    assert config["input"][0]["data_type"] == "TYPE_FP32"


def test_repository_index(client):
    index = {(entry["name"], entry.get("version")): entry for entry in client.get_model_repository_index()}
    assert index["simple", "1"]["state"] == "READY"


def test_statistics_count_requests_and_rows(client):
    values = np.ones((2, 4), dtype=np.float32)
    before = client.get_inference_statistics("identity_fp32")["model_stats"][0]
    client.infer("identity_fp32", [fill(httpclient, "FP32", values)])
    after = client.get_inference_statistics("identity_fp32")["model_stats"][0]
    assert after["inference_stats"]["success"]["count"] == before["inference_stats"]["success"]["count"] + 1
    assert after["inference_count"] == before["inference_count"] + 2


@pytest.mark.parametrize("datatype", DATATYPES)
def test_binary_round_trip(client, datatype):
    values = extremes(datatype)
    result = client.infer(f"identity_{datatype.lower()}", [fill(httpclient, datatype, values, binary_data=True)])
    assert same(result.as_numpy("OUTPUT0"), values)


@pytest.mark.parametrize("datatype", [name for name in DATATYPES if name not in ("FP16", "BF16")])
def test_json_round_trip(client, datatype):
    values = extremes(datatype)
    if datatype == "BYTES":
        values = values[:, [0, 4, 5]]
    if datatype in ("FP32", "FP64"):
        # The client prints NaN with its own marks; the ordinary numbers are enough here.
        values = values[:, :4]
    outputs = [httpclient.InferRequestedOutput("OUTPUT0", binary_data=False)]
    result = client.infer(f"identity_{datatype.lower()}", [fill(httpclient, datatype, values, binary_data=False)], outputs=outputs)
    if datatype == "BYTES":
        # From JSON the client hands out text.
        values = np.array([[text.decode() for text in values[0]]], dtype=np.object_)
    assert same(result.as_numpy("OUTPUT0"), values)


def test_nan_and_infinity_in_json(server):
    body = '{"inputs":[{"name":"INPUT0","shape":[1,3],"datatype":"FP32","data":[NaN,-Infinity,Inf]}]}'
    request = urllib.request.Request(f"http://{server.http}/v2/models/identity_fp32/infer", data=body.encode())
    with urllib.request.urlopen(request) as response:
        answer = json.loads(response.read())
    data = answer["outputs"][0]["data"]
    assert np.isnan(data[0]) and data[1:] == [-np.inf, np.inf]


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression_both_ways(client, algorithm):
    values = np.arange(8, dtype=np.float32).reshape(1, 8)
    result = client.infer(
        "identity_fp32",
        [fill(httpclient, "FP32", values)],
        request_compression_algorithm=algorithm,
        response_compression_algorithm=algorithm,
    )
    assert same(result.as_numpy("OUTPUT0"), values)


def test_real_model_answers_with_id(client):
    first = np.arange(16, dtype=np.int32).reshape(1, 16)
    second = np.full((1, 16), 2, dtype=np.int32)
    inputs = [httpclient.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for tensor, values in zip(inputs, (first, second)):
        tensor.set_data_from_numpy(values)
    result = client.infer("simple", inputs, request_id="seven", outputs=[httpclient.InferRequestedOutput("OUTPUT1")])
    assert result.get_response()["id"] == "seven"
    assert same(result.as_numpy("OUTPUT1"), first - second)
    assert result.as_numpy("OUTPUT0") is None


def test_many_at_once_keep_their_own_answers(client):
    rows = [np.full((1, 16), number, dtype=np.float32) for number in range(40)]
    running = [client.async_infer("identity_fp32", [fill(httpclient, "FP32", row)]) for row in rows]
    for row, pending in zip(rows, running):
        assert same(pending.get_result().as_numpy("OUTPUT0"), row)


def test_classification_with_labels(client):
    values = np.array([[0.1, 0.7, 0.2], [3, 2, 1]], dtype=np.float32)
    outputs = [httpclient.InferRequestedOutput("OUTPUT0", class_count=5)]
    classes = client.infer("labelled", [fill(httpclient, "FP32", values)], outputs=outputs).as_numpy("OUTPUT0")
    assert classes.shape == (2, 3)
    assert [text.decode() for text in classes[0]] == ["0.700000:1:dog", "0.200000:2", "0.100000:0:cat"]
    assert classes[1][0].decode() == "3.000000:0:cat"


@pytest.mark.parametrize(
    ("model", "values", "datatype", "status", "message"),
    [
        ("missing", np.zeros((1, 1), np.float32), "FP32", "404", "Request for unknown model: 'missing' is not found"),
        ("identity_fp32", np.zeros((1, 1), np.int32), "INT32", "400", "inference input 'INPUT0' data-type is 'INT32', but model 'identity_fp32' expects 'FP32'"),
        ("identity_fp32", np.zeros((9, 1), np.float32), "FP32", "400", "inference request batch-size must be <= 8 for 'identity_fp32'"),
        ("labelled", np.zeros((1, 4), np.float32), "FP32", "400", "unexpected shape for input 'INPUT0' for model 'labelled'. Expected [-1,3], got [1,4]"),
        ("simple", np.zeros((1, 16), np.int32), "INT32", "400", "but missing required input(s) ['INPUT1']"),
    ],
)
def test_errors(client, model, values, datatype, status, message):
    with pytest.raises(InferenceServerException) as failure:
        client.infer(model, [fill(httpclient, datatype, values)])
    assert message in failure.value.message()
    assert failure.value.status() == status


def test_unknown_version(client):
    with pytest.raises(InferenceServerException, match="version 99 is not found"):
        client.get_model_metadata("simple", "99")


async def test_asyncio_client(server):
    async with aioclient.InferenceServerClient(url=server.http) as client:
        assert await client.is_server_ready()
        values = extremes("INT64")
        result = await client.infer("identity_int64", [fill(aioclient, "INT64", values)])
        assert same(result.as_numpy("OUTPUT0"), values)
        with pytest.raises(InferenceServerException, match="unknown model"):
            await client.infer("missing", [fill(aioclient, "INT64", values)])


def test_metrics_count(server, client):
    client.infer("identity_int8", [fill(httpclient, "INT8", np.zeros((1, 2), np.int8))])
    with urllib.request.urlopen(f"http://{server.metrics}/metrics") as response:
        text = response.read().decode()
    counts = [line for line in text.splitlines() if line.startswith('nv_inference_request_success{model="identity_int8",version="1"}')]
    assert len(counts) == 1 and float(counts[0].split()[-1]) >= 1
    assert 'nv_inference_pending_request_count{model="identity_int8",version="1"} 0' in text
