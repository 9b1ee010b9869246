"""Answers to requests, as the server reads them; src/backends/python/read-answers.ts is the other half."""

import struct

from . import frames
from .datatypes import BYTES
from .errors import TritonError, describe, utf8
from .memory import OutOfSharedMemory
from .response import InferenceResponse
from .strings import encode_elements
from .writer import _SMALL, _WORTH_A_LOOK, copy_into, owner_of, place_of

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
_heads = {}
_pack_seconds = struct.Struct("<d").pack
_pack_frame = frames.pack
_ANSWERS = frames.ANSWERS


def _layout_of(name, code, shape, size):
    """What of an output does not change from one answer to the next."""
    text = name.encode("utf-8")
    packed = struct.pack("<QHBB4x%dQ" % len(shape), size, len(text), code, len(shape), *shape)
    return packed + text + b"\0" * (-len(text) % 8)


def send_answers(channel, batch, entries, seconds, flags=0):
    send_written(channel, write_answers(channel, batch, entries, seconds, flags))


def send_written(channel, written):
    channel.send(message_of(written, channel.pop_freed()))


def message_of(written, freed):
    block, flags, batch, total = written
    return _pack_frame(_ANSWERS, flags, block.segment.ident, batch, block.ident, freed, block.offset, total)


def write_sound(channel, batch, entries, seconds, flags, region):
    """The same; a response that cannot be written is an error in its place, and the others are as they are."""
    try:
        return write_answers(channel, batch, entries, seconds, flags, region)
    except OutOfSharedMemory:
        raise
    except Exception:
        return write_answers(channel, batch, [_sound(entry) for entry in entries], seconds, flags, region)


def _sound(entry):
    of, is_last, is_rescheduled, response, wanted = entry
    if response is None or response._error is not None:
        return entry
    try:
        for tensor in response._tensors:
            if tensor._code == BYTES and tensor._name in wanted:
                encode_elements(tensor._elements())
    except Exception as error:
        return of, is_last, is_rescheduled, InferenceResponse(error=TritonError(describe(error))), ()
    return entry


def write_answers(channel, batch, entries, seconds, flags=0, region=None):
    """
    Writes entries of (index of the request, is last, is rescheduled, response or None, names of outputs that are wanted) where the server reads them.
    Arrays that lie in `region`, the inputs of the batch, are not copied: nobody is to change them until the server has read them.
    """
    if len(entries) == 1:
        written = _write_one(channel, batch, entries[0], seconds, flags)
        if written is not None:
            return written
    parts = [b""]
    pieces = []
    end = 0
    for of, is_last, is_rescheduled, response, wanted in entries:
        marks = (LAST if is_last else 0) | (RESCHEDULED if is_rescheduled else 0)
        if response is None:
            parts.append(_pack_record(of, marks | EMPTY, 0, 0, 0, 0))
            continue
        error = response._error
        if error is not None:
            text = utf8(error._message)
            parts.append(_pack_record(of, marks | ERROR, error._code, 0, len(text), 0))
            parts.append(text + b"\0" * (-len(text) % 8))
            continue
        text = response._parameters
        count_at = len(parts)
        parts.append(b"")
        if text:
            text = utf8(text)
            parts.append(text + b"\0" * (-len(text) % 8))
        count = 0
        for tensor in response._tensors:
            if tensor._name in wanted:
                count += 1
                end = _add_tensor(tensor, parts, pieces, end, region)
        parts[count_at] = _pack_record(of, marks, 0, count, len(text), 0)
    head_size = 16
    for part in parts:
        head_size += len(part)
    start = (head_size + 63) & -64
    parts[0] = _START.pack(seconds, len(entries), start)
    total = start + end
    block = channel.ours.take(total)
    offset = block.offset
    shared = block.segment.map
    if total <= _SMALL:
        # Many small pieces at once.
        at = head_size
        for piece, array, size in pieces:
            parts.append(b"\0" * (start + piece - at))
            parts.append(array if type(array) is bytes else array.tobytes())
            at = start + piece + size
        shared[offset : offset + at] = b"".join(parts)
    else:
        shared[offset : offset + head_size] = b"".join(parts)
        for piece, array, size in pieces:
            copy_into(shared, offset + start + piece, array, size)
    return block, flags, batch, total


def _add_tensor(tensor, parts, pieces, end, region):
    """Where its elements go: into `pieces`, unless they lie where the server sees them. Returns where the next one's go."""
    name = tensor._name
    code = tensor._code
    array = tensor._array
    if array is None:
        array = tensor._elements()
    if code == BYTES:
        array = encode_elements(array)
        size = len(array)
        layout = _layout_of(name, code, tensor._shape, size)
    else:
        size = array.nbytes
        layout = _known_layout(name, code, tensor._shape, size)
        if region is not None and size >= _WORTH_A_LOOK and owner_of(array) is region:
            place = place_of(array)
            if place is not None:
                parts.append(_pack_place((place[0] + 1) << 48 | place[1]))
                parts.append(layout)
                return end
    parts.append(_pack_place(end))
    parts.append(layout)
    pieces.append((end, array, size))
    return end + ((size + 63) & -64)


def _known_layout(name, code, shape, size):
    key = (name, code, shape)
    layout = _layouts.get(key)
    if layout is None:
        if len(_layouts) >= _LARGEST_CACHE:
            _layouts.clear()
        layout = _layouts[key] = _layout_of(name, code, shape, size)
    return layout


def _write_one(channel, batch, entry, seconds, flags):
    """The usual answer: one small tensor, whose head differs from one to the next by the time alone. None for any other."""
    of, is_last, is_rescheduled, response, wanted = entry
    if response is None or response._error is not None or response._parameters or len(response._tensors) != 1:
        return None
    tensor = response._tensors[0]
    code = tensor._code
    if code == BYTES or tensor._name not in wanted:
        return None
    array = tensor._array
    if array is None:
        array = tensor._elements()
    size = array.nbytes
    if size >= _WORTH_A_LOOK:
        return None
    key = (tensor._name, code, tensor._shape, of, is_last)
    head = _heads.get(key)
    if head is None:
        record = _pack_record(of, LAST if is_last else 0, 0, 1, 0, 0)
        rest = record + _pack_place(0) + _layout_of(tensor._name, code, tensor._shape, size)
        start = (16 + len(rest) + 63) & -64
        if len(_heads) >= _LARGEST_CACHE:
            _heads.clear()
        head = _heads[key] = struct.pack("<II", 1, start) + rest + b"\0" * (start - 16 - len(rest))
    data = _pack_seconds(seconds) + head + array.tobytes()
    total = len(data)
    block = channel.ours.take(total)
    offset = block.offset
    block.segment.map[offset : offset + total] = data
    return block, flags, batch, total


def send_failure(channel, batch, ofs, message, code=TritonError.INTERNAL, flags=0):
    """One error for all these requests."""
    response = InferenceResponse(error=TritonError(message, code))
    try:
        send_answers(channel, batch, [(of, True, False, response, ()) for of in ofs], 0.0, flags)
    except OutOfSharedMemory:
        channel.send(frames.inline(frames.EXECUTED, utf8(message), frames.HAS_FAILED, batch))
