from .errors import TritonError, TritonModelException
from .parameters import to_json
from .tensor import Tensor


class InferenceResponse:
    """One answer: tensors, or an error."""

    __slots__ = ("_tensors", "_error", "_parameters", "_is_final")

    def __init__(self, output_tensors=(), error=None, parameters=None):
        tensors = list(output_tensors)
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                if tensor is None:
                    raise TritonModelException("Output tensor for inference response should not be empty.")
                raise TypeError("output_tensors must hold Tensor objects, not %s" % type(tensor).__name__)
        if error is not None and not isinstance(error, TritonError):
            raise TypeError("error must be a TritonError, not %s" % type(error).__name__)
        self._tensors = tensors
        self._error = error
        self._parameters = to_json(parameters) if parameters is not None else ""
        self._is_final = True

    def output_tensors(self):
        return self._tensors

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return self._parameters
