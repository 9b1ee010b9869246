"""Sends tensors back through shared memory, and does nothing else: what a Python model cannot do without.

    python bare_echo.py FILE SLOT_BYTES SLOTS

Each slot of FILE has room for a tensor and its answer. Numbers of slots and lengths come in on stdin, 8 bytes each, and go out on stdout.
"""

import mmap
import os
import struct
import sys

import numpy

path, slot_bytes, slots = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, "r+b") as file:
    memory = mmap.mmap(file.fileno(), 2 * slot_bytes * slots)
frame = struct.Struct("<II")
rest = b""
while True:
    read = os.read(0, 65536)
    if not read:
        break
    data = rest + read
    whole = len(data) // 8 * 8
    for slot, length in frame.iter_unpack(data[:whole]):
        start = 2 * slot_bytes * slot
        tensor = numpy.frombuffer(memory, numpy.float32, length // 4, start)
        numpy.frombuffer(memory, numpy.float32, length // 4, start + slot_bytes)[:] = tensor
    os.write(1, data[:whole])
    rest = data[whole:]
