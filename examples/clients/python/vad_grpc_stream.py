"""Streams a WAV file to the voice detector over one gRPC stream with Triton's own Python client.

    pip install 'tritonclient[grpc]'
    python vad_grpc_stream.py [WAV] [localhost:8001]
"""

import pathlib
import queue
import sys
import wave

import numpy as np
import tritonclient.grpc as grpcclient

CHUNK = 512

path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "data" / "speech-16k.wav"
url = sys.argv[2] if len(sys.argv) > 2 else "localhost:8001"

with wave.open(str(path)) as sound:
    assert (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (16000, 1, 2), "16 kHz mono 16-bit, please"
    samples = np.frombuffer(sound.readframes(sound.getnframes()), dtype=np.int16).astype(np.float32) / 32768

answers = queue.Queue()
client = grpcclient.InferenceServerClient(url=url)
client.start_stream(callback=lambda result, error: answers.put(error or result))

context = np.zeros((1, 64), dtype=np.float32)
state = np.zeros((1, 2, 128), dtype=np.float32)
speech = []
for start in range(0, len(samples) - CHUNK + 1, CHUNK):
    tensors = {"AUDIO": samples[start : start + CHUNK].reshape(1, CHUNK), "CONTEXT": context, "STATE": state}
    inputs = []
    for name, values in tensors.items():
        inputs.append(grpcclient.InferInput(name, values.shape, "FP32"))
        inputs[-1].set_data_from_numpy(values)
    client.async_stream_infer("vad", inputs)
    answer = answers.get(timeout=30)
    if isinstance(answer, Exception):
        raise answer
    speech.append(float(answer.as_numpy("SPEECH")[0, 0]))
    context, state = answer.as_numpy("CONTEXT_OUT"), answer.as_numpy("STATE_OUT")
client.stop_stream()

for index, probability in enumerate(speech):
    print(f"{index * CHUNK / 16000:6.2f} s  {'#' * round(probability * 40):40}  {probability:.2f}")
assert max(speech) > 0.9, "no speech was found"
