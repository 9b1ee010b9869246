"""Models that answer many times, and the sequence models of Triton's own tests, with the official clients."""

import queue

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.grpc.aio as aioclient
import tritonclient.http as httpclient
from tritonclient.utils import InferenceServerException


def tensor(module, name, kind, values, shape=None):
    values = np.array(values, dtype=kind).reshape(shape or [len(values)])
    filled = module.InferInput(name, list(values.shape), np.dtype(kind).name.upper())
    filled.set_data_from_numpy(values)
    return filled


def repeat(values, delays=None, wait=0, module=grpcclient):
    return [
        tensor(module, "IN", np.int32, values),
        tensor(module, "DELAY", np.uint32, delays or [0] * len(values)),
        tensor(module, "WAIT", np.uint32, [wait]),
    ]


def square(value):
    return [tensor(grpcclient, "IN", np.int32, [value], [1, 1])]


class Stream:
    """Answers in the order in which they come, as `(id, value, is final)`; the value of an empty one is None, that of an error its text."""

    def __init__(self, client, **options):
        self.client = client
        self.heard = queue.Queue()
        client.start_stream(callback=lambda result, error: self.heard.put((result, error)), **options)

    def ask(self, model, inputs, name, **options):
        self.client.async_stream_infer(model, inputs, request_id=name, **options)

    def hear(self):
        result, error = self.heard.get(timeout=10)
        if error is not None:
            return None, error.message(), None
        response = result.get_response()
        values = result.as_numpy("OUT")
        return response.id, None if values is None else int(values.ravel()[0]), response.parameters["triton_final_response"].bool_param


@pytest.fixture
def client(server):
    client = grpcclient.InferenceServerClient(url=server.grpc)
    yield client
    client.close()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_as_many_answers_as_there_are(client, count):
    stream = Stream(client)
    stream.ask("repeat_int32", repeat(list(range(5, 5 + count))), "a", enable_empty_final_response=True)
    assert [stream.hear() for _ in range(count)] == [("a", 5 + index, False) for index in range(count)]
    assert stream.hear() == ("a", None, True)
    client.stop_stream()
    assert stream.heard.empty()


def test_an_empty_answer_comes_on_request_only(client):
    stream = Stream(client)
    stream.ask("repeat_int32", repeat([1, 2]), "a")
    assert [stream.hear(), stream.hear()] == [("a", 1, False), ("a", 2, False)]
    client.stop_stream()
    assert stream.heard.empty()


def test_answers_to_several_requests_go_beside_each_other(client):
    stream = Stream(client)
    stream.ask("repeat_int32", repeat([1, 2], [0, 400]), "slow", enable_empty_final_response=True)
    stream.ask("repeat_int32", repeat([3, 4], [0, 0]), "fast", enable_empty_final_response=True)
    heard = [stream.hear() for _ in range(6)]
    assert heard[-2:] == [("slow", 2, False), ("slow", None, True)]
    assert [answer for answer in heard if answer[0] == "fast"] == [("fast", 3, False), ("fast", 4, False), ("fast", None, True)]
    client.stop_stream()


def test_requests_that_share_a_batch_get_their_own_answers(client):
    stream = Stream(client)
    for value in range(20):
        stream.ask("square_int32", square(value), str(value), enable_empty_final_response=True)
    heard = [stream.hear() for _ in range(sum(range(20)) + 20)]
    for value in range(20):
        own = [answer for answer in heard if answer[0] == str(value)]
        assert own == [(str(value), value, False)] * value + [(str(value), None, True)]
    client.stop_stream()


def test_an_error_comes_in_its_place(client):
    stream = Stream(client)
    stream.ask("square_failing", square(3), "a", enable_empty_final_response=True)
    assert stream.hear() == ("a", 3, False)
    assert [stream.hear()[1] for _ in range(2)] == ["simulated failure"] * 2
    assert stream.hear() == ("a", None, True)
    client.stop_stream()


def test_an_error_ends_a_strict_stream(client):
    stream = Stream(client, headers={"triton_grpc_error": "true"})
    stream.ask("square_failing", square(3), "a")
    assert stream.hear() == ("a", 3, False)
    result, error = stream.heard.get(timeout=10)
    assert result is None
    assert (error.status(), error.message()) == ("StatusCode.UNKNOWN", "simulated failure")
    client.stop_stream()


def test_a_stream_that_is_cancelled_stops_its_model(client):
    stream = Stream(client)
    stream.ask("repeat_int32", repeat([1, 2], [0, 3_600_000]), "a")
    assert stream.hear() == ("a", 1, False)
    client.stop_stream(cancel_requests=True)
    cancelled = Stream(client)
    cancelled.ask("repeat_int32", repeat([3]), "b")
    assert cancelled.hear() == ("b", 3, False)
    client.stop_stream()


def test_calls_that_take_one_answer_refuse(client, server):
    with pytest.raises(InferenceServerException, match="ModelInfer RPC doesn't support models with decoupled transaction policy"):
        client.infer("repeat_int32", repeat([1]))
    with httpclient.InferenceServerClient(url=server.http) as other:
        with pytest.raises(InferenceServerException, match="HTTP end point doesn't support models with decoupled transaction policy"):
            other.infer("repeat_int32", repeat([1], module=httpclient))


async def test_asyncio(server):
    async def requests():
        for name in ["a", "b"]:
            yield {"model_name": "repeat_int32", "inputs": repeat([7, 8]), "request_id": name}

    heard = {"a": [], "b": []}
    async with aioclient.InferenceServerClient(url=server.grpc) as client:
        async for result, error in client.stream_infer(requests()):
            assert error is None
            values = result.as_numpy("OUT")
            heard[result.get_response().id].append(int(values[0]))
    assert heard == {"a": [7, 8], "b": [7, 8]}


@pytest.mark.parametrize(("model", "expected"), [("sequence", [1, 3, 6, 10]), ("dyna_sequence", [1, 3, 6, 10 + 77])])
def test_sums_of_a_sequence(client, model, expected):
    def step(value, **flags):
        answer = client.infer(model, [tensor(grpcclient, "INPUT", np.int32, [value], [1, 1])], **flags)
        return int(answer.as_numpy("OUTPUT")[0, 0])

    last = len(expected)
    sums = [step(value, sequence_id=77, sequence_start=value == 1, sequence_end=value == last) for value in range(1, last + 1)]
    assert sums == expected
