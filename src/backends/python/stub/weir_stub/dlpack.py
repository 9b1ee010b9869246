"""DLPack for the one datatype that numpy lacks, BF16, and for capsules, which numpy does not take."""

import ctypes

import numpy as np

from .errors import TritonModelException

_KINDS = {(0, 8): np.int8, (0, 16): np.int16, (0, 32): np.int32, (0, 64): np.int64, (1, 8): np.uint8, (1, 16): np.uint16, (1, 32): np.uint32}
_KINDS.update({(1, 64): np.uint64, (2, 16): np.float16, (2, 32): np.float32, (2, 64): np.float64, (6, 8): np.bool_, (4, 16): np.uint16})
_BFLOAT = 4
_CPU_DEVICES = (1, 3)


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("dl_tensor", _Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _Deleter)]

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_IsValid.restype = ctypes.c_int
_api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_New.restype = ctypes.py_object
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]

_OPEN = b"dltensor"
_USED = b"used_dltensor"

# What capsules point into, by address, until whoever took one says that it is done.
_lent = {}


@_Deleter
def _forget(managed):
    _lent.pop(ctypes.addressof(managed.contents), None)


# The capsule is being freed, so these take its address and no reference.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


@_Destructor
def _destroyed(capsule):
    """Nobody has taken it."""
    if _is_valid(capsule, _OPEN):
        _lent.pop(_pointer(capsule, _OPEN), None)


class _Held:
    """The memory behind a capsule of somebody else."""

    def __init__(self, capsule, managed):
        self._managed = managed
        self._capsule = capsule

    def __del__(self):
        if self._managed.contents.deleter:
            self._managed.contents.deleter(self._managed)


def is_bf16(kind):
    return kind == _BFLOAT


def bf16_capsule(bits):
    """A capsule over an array of the 16-bit patterns."""
    rank = bits.ndim
    shape = (ctypes.c_int64 * max(rank, 1))(*bits.shape)
    managed = _Managed()
    tensor = managed.dl_tensor
    tensor.data = bits.__array_interface__["data"][0]
    tensor.device_type = 1
    tensor.ndim = rank
    tensor.dtype = _DataType(_BFLOAT, 16, 1)
    tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _forget
    address = ctypes.addressof(managed)
    _lent[address] = (managed, shape, bits)
    return _api.PyCapsule_New(address, _OPEN, _destroyed)


def array_of(source):
    """The elements of a DLPack capsule or of an object that makes one, shared with it, and DLPack's kind. Only memory of the processor, in C order."""
    capsule = source
    if hasattr(source, "__dlpack__"):
        device = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (1, 0)
        if device[0] not in _CPU_DEVICES:
            raise TritonModelException("DLPack device type %d is not supported." % device[0])
        capsule = source.__dlpack__()
    if not _api.PyCapsule_IsValid(capsule, _OPEN):
        raise TritonModelException("from_dlpack takes a DLPack capsule that nobody has used, or an object with __dlpack__")
    managed = ctypes.cast(_api.PyCapsule_GetPointer(capsule, _OPEN), ctypes.POINTER(_Managed))
    tensor = managed.contents.dl_tensor
    kind = tensor.dtype.code
    numpy_kind = _KINDS.get((kind, tensor.dtype.bits))
    if numpy_kind is None or tensor.dtype.lanes != 1:
        raise TritonModelException("DLPack data type of kind %d with %d bits is not supported." % (kind, tensor.dtype.bits))
    if tensor.device_type not in _CPU_DEVICES:
        raise TritonModelException("DLPack device type %d is not supported." % tensor.device_type)
    shape = [tensor.shape[axis] for axis in range(tensor.ndim)]
    if tensor.strides and not _is_contiguous(shape, [tensor.strides[axis] for axis in range(tensor.ndim)]):
        raise TritonModelException("DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are supported.")
    _api.PyCapsule_SetName(capsule, _USED)
    held = _Held(capsule, managed)
    dtype = np.dtype(numpy_kind)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if size == 0:
        return np.empty(shape, dtype), kind
    memory = (ctypes.c_uint8 * size).from_address(tensor.data + tensor.byte_offset)
    memory.held = held
    return np.frombuffer(memory, dtype).reshape(shape), kind


def _is_contiguous(shape, strides):
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return 0 in shape
        expected *= length
    return True
