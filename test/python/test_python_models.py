"""Python models as people write them, and as they should not, on a real server."""

import queue
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from conftest import running
from python_models import MODELS, write_model
from tritonclient.utils import InferenceServerException, np_to_triton_dtype


def failed(model):
    return f"Failed to process the request(s) for model '{model}_0', message: "


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python models ü")
    for name, (settings, files) in MODELS.items():
        write_model(folder, name, settings, files if isinstance(files, dict) else {"1/model.py": files})
    with running([folder]) as ports:
        yield ports


@pytest.fixture(scope="module")
def client(served):
    with grpcclient.InferenceServerClient(url=served.grpc) as client:
        yield client


def tensor(name, array, module=grpcclient):
    filled = module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
    filled.set_data_from_numpy(array)
    return filled


def ask(client, model, *arrays, **named):
    """The answer to X, or to inputs by name."""
    given = {"X": arrays[0]} if arrays else {}
    options = {key: value for key, value in named.items() if key.islower()}
    inputs = {key: value for key, value in named.items() if not key.islower()}
    return client.infer(model, [tensor(name, array) for name, array in {**given, **inputs}.items()], **options)


def number(value):
    return np.array([value], np.int32)


def error_of(client, model, *arrays, **named):
    with pytest.raises(InferenceServerException) as raised:
        ask(client, model, *arrays, **named)
    return raised.value.message()


def stream(served, model, inputs):
    """All answers of a decoupled model, without the end."""
    heard = queue.Queue()
    with grpcclient.InferenceServerClient(url=served.grpc) as client:
        client.start_stream(callback=lambda result, error: heard.put((result, error)))
        client.async_stream_infer(model, inputs, enable_empty_final_response=True)
        while True:
            result, error = heard.get(timeout=30)
            assert error is None, error
            if result.get_response().parameters["triton_final_response"].bool_param and not result.get_response().outputs:
                return
            yield result


def test_all_are_ready(client):
    assert [name for name in MODELS if not client.is_model_ready(name)] == []


def test_add_sub(client, served):
    a, b = np.array([[1, 2, 3, 4]], np.float32), np.array([[10, 20, 30, 40]], np.float32)
    result = ask(client, "add_sub", A=a, B=b)
    assert (result.as_numpy("SUM") == a + b).all()
    assert (result.as_numpy("DIFF") == a - b).all()
    only = ask(client, "add_sub", A=a, B=b, outputs=[grpcclient.InferRequestedOutput("DIFF")])
    assert only.as_numpy("SUM") is None
    with httpclient.InferenceServerClient(url=served.http) as http:
        result = http.infer("add_sub", [tensor("A", a, httpclient), tensor("B", b, httpclient)])
        assert (result.as_numpy("SUM") == a + b).all()


def test_model_calls(client):
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    assert (ask(client, "bls_sync", A=a, B=b).as_numpy("SUM") == a + b).all()


def test_32_calls_of_a_coroutine_run_beside_each_other(client):
    assert ask(client, "bls_async", number(0)).as_numpy("Y").tolist() == [2 * n for n in range(32)]


def test_decoupled_from_threads(served):
    numbers = np.arange(500, dtype=np.int32)
    assert [int(result.as_numpy("OUT")[0]) for result in stream(served, "repeat", [tensor("IN", numbers)])] == numbers.tolist()


def test_decoupled_in_execute(served):
    for count in (0, 1, 300):
        results = list(stream(served, "square", [tensor("IN", number(count).reshape(1, 1))]))
        assert [int(result.as_numpy("OUT").ravel()[0]) for result in results] == [count] * count


def test_an_array_that_the_model_goes_on_to_change(served):
    x = np.zeros(5000, np.float32)
    assert [result.as_numpy("Y").max() for result in stream(served, "in_place", [tensor("X", x)])] == list(range(20))


def test_arrays_of_earlier_requests(client):
    seen = [np.full(3000, n, np.float32) for n in range(40)]
    for n, x in enumerate(seen):
        assert np.array_equal(ask(client, "previous", x).as_numpy("Y"), seen[max(0, n - 2)])


def test_strings(client):
    result = ask(client, "strings", np.array([["grün", "", "x" * 3_000_000]], dtype=object))
    assert [text.decode() for text in result.as_numpy("UPPER")[0]] == ["GRÜN", "", "X" * 3_000_000]
    assert result.as_numpy("LENGTH").tolist() == [[5, 0, 3_000_000]]
    empty = ask(client, "strings", np.empty((1, 0), dtype=object))
    assert empty.as_numpy("UPPER").shape == (1, 0)


def test_a_config_of_the_model(client):
    config = client.get_model_config("completed").config
    assert (config.max_batch_size, [tensor.name for tensor in config.input], config.input[0].optional) == (4, ["X"], True)
    assert config.HasField("dynamic_batching")
    assert ask(client, "completed", np.zeros((1, 2), np.float32)).as_numpy("Y").tolist() == [[1, 1]]


def test_metrics(client, served):
    for _ in range(3):
        count = ask(client, "metered", np.zeros(5, np.float32)).as_numpy("Y")[0]
    text = urllib.request.urlopen(f"http://{served.metrics}/metrics").read().decode()
    assert f'requests_seen{{model="metered",version="1"}} {int(count)}' in text
    assert f'sizes_seen_bucket{{le="10"}} {int(count)}' in text


def test_parameters(client):
    parameters = ask(client, "parameters", np.zeros(1, np.float32), parameters={"a": 1, "b": True, "c": "x"}).get_response().parameters
    assert (parameters["a"].int64_param, parameters["b"].bool_param, parameters["c"].string_param) == (1, True, "x")
    assert parameters["added"].string_param == "ü"


def test_a_bad_response_fails_its_own_request(client):
    with ThreadPoolExecutor(3) as pool:
        def outcome(n):
            try:
                return float(ask(client, "partly", np.array([[n]], np.float32)).as_numpy("Y")[0, 0])
            except InferenceServerException as error:
                return error.message()

        outcomes = list(pool.map(outcome, [0, 1, 2]))
    assert outcomes[0] == 0
    assert outcomes[1] == "odd ones are not wanted"
    assert outcomes[2].startswith("ValueError: unprintable\n\nAt:\n")


GRID = np.arange(12, dtype=np.float32).reshape(3, 4)
BIG = np.arange(40000, dtype=np.float32).reshape(200, 200)
SHAPES = [
    np.array(2.5, np.float32), np.zeros((0, 4), np.float32), GRID.T, GRID[:, ::2], GRID[::-1], BIG.T[:, 5:], BIG,
    np.full((2, 3), 7, np.float32), GRID, np.zeros(0, np.float32),
]


@pytest.mark.parametrize("what", range(len(SHAPES)))
def test_outputs_of_any_shape_and_order_in_memory(client, served, what):
    expected = SHAPES[what]
    assert np.array_equal(ask(client, "shapes", number(what)).as_numpy("Y"), expected)
    for binary in (True, False):
        with httpclient.InferenceServerClient(url=served.http) as http:
            outputs = [httpclient.InferRequestedOutput("Y", binary_data=binary)]
            answered = http.infer("shapes", [tensor("X", number(what), httpclient)], outputs=outputs).as_numpy("Y")
            assert answered.shape == expected.shape and np.array_equal(answered, expected)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (4, "Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:1, and InferenceResponse(s) size is:2\n"),
        (5, "Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:1, and InferenceResponse(s) size is:0\n"),
        (7, "Expected a list in the execute return, found type '<class 'tuple'>'."),
        (8, "Expected an 'InferenceResponse' object in the execute function return list, found type '<class 'numpy.ndarray'>'."),
        (9, "ValueError: \\ud800 x\\ud800 x"),
        (10, "SystemExit: enough\n\nAt:\n"),
        (11, "TypeError: "),
        (12, "Awkward: its text raises RuntimeError"),
        (13, "RecursionError: "),
    ],
)
def test_what_goes_wrong_in_execute(client, what, text):
    message = error_of(client, "wrong", number(what))
    assert message.startswith(failed("wrong") + text)
    assert len(message) < 200_000
    assert ask(client, "wrong", number(99)).as_numpy("Y").tolist() == [1, 2]


def test_outputs_that_the_config_does_not_expect(client):
    assert ask(client, "wrong", number(0)).as_numpy("Z") is None
    assert ask(client, "wrong", number(1)).as_numpy("Y").dtype == np.int64
    assert ask(client, "wrong", number(2)).as_numpy("Y").shape == (3, 3)
    assert ask(client, "wrong", number(3)).as_numpy("MORE") is None
    assert error_of(client, "wrong", number(6)) == "the model has dropped the request without a response"


def test_a_coroutine_that_leaves_or_stops_its_loop_ends_nothing_else(client):
    assert error_of(client, "async_exit", number(1)).startswith(failed("async_exit") + "SystemExit: 3")
    for what in (0, 2, 0):
        assert ask(client, "async_exit", number(what)).as_numpy("Y").tolist() == [5]


def test_an_endless_loop_that_looks_for_cancellations(client):
    call = client.async_infer("endless", [tensor("X", number(1))], callback=lambda result, error: None)
    call.cancel()
    assert ask(client, "endless", number(0)).as_numpy("Y").tolist() == [1]
    # Client and server watch the same deadline: whichever is first words the error.
    assert "deadline exceeded" in error_of(client, "endless", number(1), client_timeout=0.5).lower()
    assert ask(client, "endless", number(0)).as_numpy("Y").tolist() == [1]


@pytest.mark.parametrize("what", [1, 2, 3, 4])
def test_a_process_that_ends_is_replaced(client, what):
    assert error_of(client, "mortal", number(what)) == "Stub process 'mortal_0' is not healthy."
    while not client.is_model_ready("mortal"):
        pass
    assert ask(client, "mortal", number(0)).as_numpy("Y")[0] > 0


def test_a_flood_of_output_stops_neither_the_model_nor_the_server(client):
    ask(client, "flood", number(1))
    for _ in range(20):
        ask(client, "nothing_in")
        ask(client, "flood", number(0))
    ask(client, "flood", number(2))


def test_forks(client):
    assert ask(client, "forks", number(0)).as_numpy("Y").tolist() == [7]
    assert ask(client, "forks", number(1)).as_numpy("Y").tolist() == [1]
    assert ask(client, "forks", number(2)).as_numpy("Y").tolist() == [0]
    for _ in range(3):
        assert ask(client, "forks", number(4)).as_numpy("Y").tolist() == [4, 9, 16, 4]
    assert ask(client, "forks", number(3)).as_numpy("Y").tolist() == [2, 3, 4, 3]


def test_files_beside_the_model(client):
    assert ask(client, "neighbours", number(0)).as_numpy("Y").tolist() == [1, 2, 3, 4, 5]
    assert ask(client, "dotted", number(0)).as_numpy("Y").tolist() == [6]


def test_each_version_runs_its_own_code(client):
    for version in ("1", "2"):
        assert ask(client, "versions", number(0), model_version=version).as_numpy("Y").tolist() == [11 * int(version)]


@pytest.mark.parametrize("name", ["name with spaces", "größe"])
def test_names(client, served, name):
    assert ask(client, name, np.ones(2, np.float32)).as_numpy("Y").tolist() == [1, 1]
    with httpclient.InferenceServerClient(url=served.http) as http:
        assert http.infer(name, [tensor("X", np.ones(2, np.float32), httpclient)]).as_numpy("Y").tolist() == [1, 1]


def test_a_request_without_inputs(client):
    assert ask(client, "nothing_in").as_numpy("Y").tolist() == [0]


def test_arguments_of_wrong_types(client):
    said = [text.decode() for text in ask(client, "wrong_types", number(0)).as_numpy("Y")]
    assert said == ["TypeError"] * 10 + ["TypeError", "TypeError", "TypeError", "TypeError"]
