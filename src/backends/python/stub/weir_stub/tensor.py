import numpy as np

from .datatypes import BF16, BYTES, CODES, DTYPES, SIZES, native
from .errors import TritonModelException
from .strings import decode_elements

_ndarray = np.ndarray


class Tensor:
    """
    A name and an array. One that came from the server is a range of shared memory until somebody wants an array of it.
    """

    # Of a tensor from the server: region, at and size are where it lies. Elements of BF16 are kept as their 16 bits.
    __slots__ = ("_name", "_code", "_shape", "_array", "_region", "_at", "_size", "__weakref__")

    def __init__(self, name, array):
        if not isinstance(name, str) or not isinstance(array, np.ndarray):
            raise TypeError("Tensor takes a name and a numpy array, got %s and %s" % (type(name).__name__, type(array).__name__))
        if not name:
            raise TritonModelException("Tensor name cannot be an empty string.")
        code = CODES.get(array.dtype)
        if code is None:
            array = native(array)
            code = CODES[array.dtype]
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        self._name = name
        self._code = code
        self._array = array
        self._shape = array.shape
        self._region = None

    def name(self):
        return self._name

    def as_numpy(self):
        if self._code == BF16:
            raise TritonModelException(
                "Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() instead."
            )
        return self._elements()

    def triton_dtype(self):
        """The number of the datatype in the server's interface."""
        return self._code

    def shape(self):
        return list(self._shape)

    def is_cpu(self):
        return True

    def to_dlpack(self):
        return self.__dlpack__()

    def __dlpack__(self, stream=None, **options):
        if self._code == BYTES:
            raise TritonModelException("DLPack does not have support for string tensors.")
        if self._code == BF16:
            from .dlpack import bf16_capsule

            return bf16_capsule(self._elements())
        elements = self._elements()
        if not elements.flags.writeable:
            elements = elements.copy()
        return elements.__dlpack__()

    def __dlpack_device__(self):
        # kDLCPU
        return (1, 0)

    @staticmethod
    def from_dlpack(name, tensor):
        from .dlpack import array_of, is_bf16

        if not isinstance(name, str) or not name:
            raise TritonModelException("Tensor name cannot be an empty string.")
        elements, code = array_of(tensor)
        if is_bf16(code):
            made = Tensor(name, elements)
            made._code = BF16
            return made
        return Tensor(name, elements)

    def _elements(self):
        array = self._array
        if array is None:
            code = self._code
            if code == BYTES:
                region = self._region
                at = region.start + self._at
                data = region.segment.map[at : at + self._size]
                array = decode_elements(data, self._shape)
            else:
                array = _ndarray(self._shape, DTYPES[code] or _bits, self._region, self._at)
            self._array = array
        return array


_bits = np.dtype(np.uint16)
_new = Tensor.__new__


def from_region(name, code, shape, region, at, size):
    tensor = _new(Tensor)
    tensor._name = name
    tensor._code = code
    tensor._shape = shape
    tensor._array = None
    tensor._region = region
    tensor._at = at
    tensor._size = size
    return tensor


def element_bytes(code, shape):
    count = SIZES[code]
    for size in shape:
        count *= size
    return count
