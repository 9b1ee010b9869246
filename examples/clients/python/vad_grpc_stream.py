"""Streams a WAV file to the voice detector over one gRPC stream with Triton's own Python client.

    pip install 'tritonclient[grpc]'
    python vad_grpc_stream.py [WAV] [localhost:8001]
"""

import pathlib
import queue
import random
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

sequence = random.randrange(1, 2**31)
starts = range(0, len(samples) - CHUNK + 1, CHUNK)
speech = []
for start in starts:
    audio = grpcclient.InferInput("AUDIO", [1, CHUNK], "FP32")
    audio.set_data_from_numpy(samples[start : start + CHUNK].reshape(1, CHUNK))
    client.async_stream_infer(
        "vad", [audio], sequence_id=sequence, sequence_start=start == starts[0], sequence_end=start == starts[-1]
    )
    answer = answers.get(timeout=30)
    if isinstance(answer, Exception):
        raise answer
    speech.append(float(answer.as_numpy("SPEECH")[0, 0]))
client.stop_stream()

for index, probability in enumerate(speech):
    print(f"{index * CHUNK / 16000:6.2f} s  {'#' * round(probability * 40):40}  {probability:.2f}")
assert max(speech) > 0.9, "no speech was found"
