"""Sum and difference over HTTP with Triton's own Python client: `pip install 'tritonclient[http]'`."""

import sys

import numpy as np
import tritonclient.http as httpclient

client = httpclient.InferenceServerClient(url=sys.argv[1] if len(sys.argv) > 1 else "localhost:8000")
first = np.arange(16, dtype=np.int32).reshape(1, 16)
second = np.ones((1, 16), dtype=np.int32)

inputs = [httpclient.InferInput("INPUT0", first.shape, "INT32"), httpclient.InferInput("INPUT1", second.shape, "INT32")]
inputs[0].set_data_from_numpy(first)
inputs[1].set_data_from_numpy(second)

result = client.infer("simple", inputs)
total, difference = result.as_numpy("OUTPUT0"), result.as_numpy("OUTPUT1")
for a, b, plus, minus in zip(first[0], second[0], total[0], difference[0]):
    print(f"{a} + {b} = {plus}    {a} - {b} = {minus}")
    assert a + b == plus and a - b == minus
