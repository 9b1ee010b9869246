"""The same tensors for every client: extremes of each datatype, and strings that are easily damaged."""

import ml_dtypes
import numpy as np
from tritonclient.utils import triton_to_np_dtype

STRINGS = [b"", b"\x00", b"a\x00", b"\xff\xfe", "\U0001f600".encode(), b"x" * 100_000]


def extremes(datatype):
    """Shape [1, n]."""
    if datatype == "BYTES":
        return np.array([STRINGS], dtype=np.object_)
    if datatype == "BOOL":
        return np.array([[True, False, True]])
    if datatype in ("FP16", "FP32", "FP64", "BF16"):
        kind = ml_dtypes.bfloat16 if datatype == "BF16" else triton_to_np_dtype(datatype)
        return np.array([[0, -0.0, 1.5, ml_dtypes.finfo(kind).max, -np.inf, np.nan]], dtype=kind)
    kind = triton_to_np_dtype(datatype)
    return np.array([[np.iinfo(kind).min, 0, np.iinfo(kind).max]], dtype=kind)


def same(left, right):
    """Bit for bit, NaN included."""
    if left.dtype == np.object_:
        return left.shape == right.shape and all(a == b for a, b in zip(left.ravel(), right.ravel()))
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def fill(module, datatype, values, **options):
    """An `InferInput` of the HTTP or the gRPC client."""
    tensor = module.InferInput("INPUT0", list(values.shape), datatype)
    tensor.set_data_from_numpy(values, **options)
    return tensor


