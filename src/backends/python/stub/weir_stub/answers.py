"""Answers to requests, as the server reads them; src/backends/python/read-answers.ts is the other half."""

import struct

from . import frames
from .datatypes import BYTES
from .errors import TritonError
from .memory import OutOfSharedMemory
from .response import InferenceResponse
from .strings import encode_elements
from .writer import _SMALL, _WORTH_A_LOOK, copy_into, lies_in

# Seconds that the model ran, how many records follow, where the tensors' elements begin.
_START = struct.Struct("<dII")
# Which request, flags, code of the error, how many outputs, bytes of error text or parameters.
_RECORD = struct.Struct("<IBBHII")
_PLACE = struct.Struct("<Q")
_pack_record = _RECORD.pack
_pack_place = _PLACE.pack

LAST = 1
RESCHEDULED = 2
ERROR = 4
EMPTY = 8

_LARGEST_CACHE = 1024
_layouts = {}


def _layout_of(name, code, shape, size):
    """What of an output does not change from one answer to the next."""
    text = name.encode("utf-8")
    packed = struct.pack("<QHBB4x%dQ" % len(shape), size, len(text), code, len(shape), *shape)
    return packed + text + b"\0" * (-len(text) % 8)


def send_answers(channel, batch, entries, seconds, release=None):
    """
    Sends entries of (index of the request, is last, is rescheduled, response or None, names of outputs that are wanted). `release` is called when
    all has been copied, and may drop what holds the inputs.
    """
    parts = [b""]
    pieces = []
    end = 0
    for of, is_last, is_rescheduled, response, wanted in entries:
        flags = (LAST if is_last else 0) | (RESCHEDULED if is_rescheduled else 0)
        if response is None:
            parts.append(_pack_record(of, flags | EMPTY, 0, 0, 0, 0))
            continue
        error = response._error
        if error is not None:
            text = error._message.encode("utf-8", "surrogateescape")
            parts.append(_pack_record(of, flags | ERROR, error._code, 0, len(text), 0))
            parts.append(text + b"\0" * (-len(text) % 8))
            continue
        text = response._parameters
        count_at = len(parts)
        parts.append(b"")
        if text:
            text = text.encode("utf-8")
            parts.append(text + b"\0" * (-len(text) % 8))
        count = 0
        for tensor in response._tensors:
            name = tensor._name
            if name not in wanted:
                continue
            count += 1
            code = tensor._code
            array = tensor._array
            if array is None:
                array = tensor._elements()
            if code == BYTES:
                array = encode_elements(array)
                size = len(array)
                parts.append(_pack_place(end))
                parts.append(_layout_of(name, code, tensor._shape, size))
            else:
                size = array.nbytes
                key = (name, code, tensor._shape)
                layout = _layouts.get(key)
                if layout is None:
                    if len(_layouts) >= _LARGEST_CACHE:
                        _layouts.clear()
                    layout = _layouts[key] = _layout_of(name, code, tensor._shape, size)
                if size >= _WORTH_A_LOOK:
                    place = lies_in(array)
                    if place is not None:
                        parts.append(_pack_place((place[0] + 1) << 48 | place[1]))
                        parts.append(layout)
                        continue
                parts.append(_pack_place(end))
                parts.append(layout)
            pieces.append((end, array, size))
            end += (size + 63) & -64
        parts[count_at] = _pack_record(of, flags, 0, count, len(text), 0)
    start = 0
    for part in parts:
        start += len(part)
    head_size = start + 16
    start = (head_size + 63) & -64
    parts[0] = _START.pack(seconds, len(entries), start)
    total = start + end
    block = channel.ours.take(total)
    offset = block.offset
    shared = block.segment.map
    if total <= _SMALL and len(pieces) == 1 and end:
        # The usual small answer in one piece.
        _, array, size = pieces[0]
        parts.append(b"\0" * (start - head_size))
        parts.append(array if type(array) is bytes else array.tobytes())
        shared[offset : offset + start + size] = b"".join(parts)
    else:
        shared[offset : offset + head_size] = b"".join(parts)
        for at, array, size in pieces:
            copy_into(shared, offset + start + at, array, size)
    if release is not None:
        pieces = array = tensor = response = None
        release()
    channel.send(frames.pack(frames.ANSWERS, 0, block.segment.ident, batch, block.ident, channel.pop_freed(), offset, total))


def send_failure(channel, batch, ofs, message, code=TritonError.INTERNAL):
    """One error for all these requests."""
    response = InferenceResponse(error=TritonError(message, code))
    try:
        send_answers(channel, batch, [(of, True, False, response, ()) for of in ofs], 0.0)
    except OutOfSharedMemory:
        channel.send(frames.inline(frames.EXECUTED, message.encode("utf-8", "surrogateescape"), frames.HAS_FAILED, batch))
