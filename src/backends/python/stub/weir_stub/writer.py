"""Puts tensors into shared memory, where the server reads them."""

import struct

import numpy as np

from . import frames
from .datatypes import BYTES
from .memory import Region
from .strings import encode_elements

# Arrays of at least so many bytes are looked at whether they lie in memory of the server already.
_WORTH_A_LOOK = 4096
# Up to so many bytes one copy more is cheaper than another array.
_SMALL = 16384

_HEAD = struct.Struct("<II")


class Writer:
    """One message with tensors: places first, then `message`, which copies."""

    __slots__ = ("_host", "_pieces", "_end")

    def __init__(self, host):
        self._host = host
        self._pieces = []
        self._end = 0

    def put(self, tensor):
        """(segment of the server + 1, or 0 for this message's own data, and offset; size in bytes) of the tensor's elements."""
        if tensor._code == BYTES:
            array = encode_elements(tensor._elements())
            size = len(array)
        else:
            array = tensor._array
            if array is None:
                array = tensor._elements()
            size = array.nbytes
            if size >= _WORTH_A_LOOK:
                place = place_of(array)
                if place is not None:
                    return place[0] + 1, place[1], size
        at = self._end
        self._end = at + ((size + 63) & -64)
        self._pieces.append((at, array, size))
        return 0, at, size

    def place(self, tensor):
        segment, at, size = self.put(tensor)
        return [tensor._name, tensor._code, list(tensor._shape), segment, at, size]

    def message(self, kind, flags, ident, head):
        """The message, `head` before the data. Both sides know that the data begin at the next multiple of 64."""
        start = (8 + len(head) + 63) & -64
        channel = self._host.channel
        total = start + self._end
        block = channel.ours.take(total)
        offset = block.offset
        shared = block.segment.map
        end = offset + 8 + len(head)
        shared[offset:end] = _HEAD.pack(len(head), start) + head
        data = offset + start
        for at, array, size in self._pieces:
            copy_into(shared, data + at, array, size)
        return frames.pack(kind, flags, block.segment.ident, ident, block.ident, channel.pop_freed(), offset, total)


def copy_into(shared, at, array, size):
    if type(array) is bytes:
        shared[at : at + size] = array
    elif size <= _SMALL:
        shared[at : at + size] = array.tobytes()
    else:
        np.copyto(np.ndarray(array.shape, array.dtype, shared, at), array)


def owner_of(array):
    """The array whose memory it is, or whatever else that belongs to."""
    owner = array.base
    while type(owner) is np.ndarray:
        owner = owner.base
    return owner


def place_of(array):
    """Segment of the server and offset, when all of the array lies there in order."""
    owner = owner_of(array)
    if type(owner) is not Region or not array.flags.c_contiguous:
        return None
    segment = owner.segment
    return segment.ident, array.__array_interface__["data"][0] - segment.address
