"""Reads the text of an image with Triton's own Python client: each line as it is read over a gRPC stream, then all of them at once over HTTP.

    pip install 'tritonclient[http,grpc]'
    python ocr.py [IMAGE] [localhost:8001] [localhost:8000]
"""

import pathlib
import queue
import sys

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient

path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "data" / "page.png"
grpc_url = sys.argv[2] if len(sys.argv) > 2 else "localhost:8001"
http_url = sys.argv[3] if len(sys.argv) > 3 else "localhost:8000"
image = np.array([pathlib.Path(path).read_bytes()], dtype=np.object_)


def image_input(module):
    tensor = module.InferInput("IMAGE", [1], "BYTES")
    tensor.set_data_from_numpy(image)
    return [tensor]


def show(result):
    for text, score in zip(result.as_numpy("TEXT"), result.as_numpy("SCORE")):
        print(f"  {score:.2f}  {text.decode()}", flush=True)


print("ocr_stream over gRPC, each line as it is read:")
answers = queue.Queue()
client = grpcclient.InferenceServerClient(url=grpc_url)
client.start_stream(callback=lambda result, error: answers.put(error or result))
client.async_stream_infer("ocr_stream", image_input(grpcclient), enable_empty_final_response=True)
while True:
    answer = answers.get(timeout=60)
    if isinstance(answer, Exception):
        raise answer
    response = answer.get_response()
    if response.outputs:
        show(answer)
    if response.parameters["triton_final_response"].bool_param:
        break
client.stop_stream()

print("ocr over HTTP, all lines at once:")
show(httpclient.InferenceServerClient(url=http_url, network_timeout=60).infer("ocr", image_input(httpclient)))
