"""Datatypes: their numbers on the way to the server and their numpy kinds. src/backends/python/tensor-codes.ts has the same numbers."""

import numpy as np

from .errors import TritonModelException

BYTES = 13
BF16 = 14

# Number, numpy kind, the config's name.
_ROWS = (
    (1, np.bool_, "TYPE_BOOL"),
    (2, np.uint8, "TYPE_UINT8"),
    (3, np.uint16, "TYPE_UINT16"),
    (4, np.uint32, "TYPE_UINT32"),
    (5, np.uint64, "TYPE_UINT64"),
    (6, np.int8, "TYPE_INT8"),
    (7, np.int16, "TYPE_INT16"),
    (8, np.int32, "TYPE_INT32"),
    (9, np.int64, "TYPE_INT64"),
    (10, np.float16, "TYPE_FP16"),
    (11, np.float32, "TYPE_FP32"),
    (12, np.float64, "TYPE_FP64"),
)

# By number; None for those that numpy does not have as they lie on the wire.
DTYPES = [None] * 15
SIZES = [0] * 15
CODES = {}
for _code, _kind, _name in _ROWS:
    DTYPES[_code] = np.dtype(_kind)
    SIZES[_code] = DTYPES[_code].itemsize
    CODES[DTYPES[_code]] = _code
SIZES[BF16] = 2
CODES[np.dtype(object)] = BYTES

CONFIG_TYPES = {_name: _kind for _, _kind, _name in _ROWS}
CONFIG_TYPES["TYPE_STRING"] = np.object_
CONFIG_TYPES["TYPE_BF16"] = None


def native(array):
    """The array as the server reads it: little-endian, and strings as objects. Raises for what has no datatype."""
    dtype = array.dtype
    if dtype in CODES:
        return array
    if dtype.kind in "SU":
        return array.astype(object)
    little = dtype.newbyteorder("<")
    if little in CODES:
        return array.astype(little)
    # Kinds that are equal to another one and not the same: np.longlong.
    if dtype.kind in "iuf":
        same = np.dtype("<%s%d" % (dtype.kind, dtype.itemsize))
        if same in CODES:
            return array.astype(same)
    raise TritonModelException("NumPy dtype is not supported.")
