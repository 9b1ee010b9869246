"""BYTES tensors: on the wire each element is its length, four bytes little-endian, and its bytes."""

import struct

import numpy as np

_LENGTH = struct.Struct("<I")


def encode_elements(array):
    """The wire form of an object array, row-major. Strings become UTF-8; what is neither string nor bytes, its str()."""
    pack = _LENGTH.pack
    parts = []
    for element in array.ravel().tolist() if array.dtype.kind != "O" else array.ravel():
        if type(element) is not bytes:
            if isinstance(element, (bytes, bytearray, memoryview, np.bytes_)):
                element = bytes(element)
            else:
                element = (element if isinstance(element, str) else str(element)).encode("utf-8")
        parts.append(pack(len(element)))
        parts.append(element)
    return b"".join(parts)


def decode_elements(data, shape=None):
    """An object array of bytes from the wire form; one dimension unless a shape is given."""
    unpack = _LENGTH.unpack_from
    elements = []
    at = 0
    end = len(data)
    while at < end:
        start = at + 4
        at = start + unpack(data, at)[0]
        elements.append(data[start:at])
    array = np.empty(len(elements), dtype=object)
    array[:] = elements
    return array if shape is None else array.reshape(shape)
