"""
The library that Triton's Python models import, for models that run in Weir: the same names, meanings and error texts.

Tensors are numpy arrays over memory that the model shares with the server; `as_numpy` copies nothing.
"""


import numpy as np

from weir_stub.datatypes import BYTES, CODES
from weir_stub.errors import TritonError, TritonModelException
from weir_stub.logger import Logger
from weir_stub.metrics import MetricFamily
from weir_stub.model_config import ModelConfig
from weir_stub.request_options import InferenceTrace, PreferredMemory
from weir_stub.requests import InferenceRequest
from weir_stub.response import InferenceResponse
from weir_stub.sender import InferenceResponseSender
from weir_stub.strings import decode_elements, encode_elements
from weir_stub.tensor import Tensor

TRITON_STRING_TO_NUMPY = {
    "TYPE_BOOL": bool,
    "TYPE_UINT8": np.uint8,
    "TYPE_UINT16": np.uint16,
    "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64,
    "TYPE_INT8": np.int8,
    "TYPE_INT16": np.int16,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_MEMORY_CPU = 0
TRITONSERVER_MEMORY_GPU = 2


def serialize_byte_tensor(input_tensor):
    """The wire form of an array; () for one without elements, None for one that is neither of objects nor of bytes."""
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype.kind not in "OS":
        return None
    return encode_elements(input_tensor)


def deserialize_bytes_tensor(encoded_tensor):
    """The elements of the wire form, in one dimension."""
    return decode_elements(bytes(encoded_tensor))


def get_input_tensor_by_name(inference_request, name):
    for tensor in inference_request.inputs():
        if tensor._name == name:
            return tensor
    return None


def get_output_tensor_by_name(inference_response, name):
    if inference_response.has_error():
        return None
    for tensor in inference_response.output_tensors():
        if tensor._name == name:
            return tensor
    return None


def get_input_config_by_name(model_config, name):
    return _by_name(model_config.get("input", ()), name)


def get_output_config_by_name(model_config, name):
    return _by_name(model_config.get("output", ()), name)


def _by_name(configs, name):
    for config in configs:
        if config["name"] == name:
            return config
    return None


def using_decoupled_model_transaction_policy(model_config):
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def triton_to_numpy_type(data_type):
    """The numpy type of a datatype by its number."""
    return _NUMPY_TYPES[data_type]


def numpy_to_triton_type(data_type):
    """The number of a datatype by its numpy type; None for one that has none."""
    try:
        dtype = np.dtype(data_type)
        return BYTES if dtype.kind == "S" else CODES.get(dtype)
    except TypeError:
        return None


def triton_string_to_numpy(triton_type_string):
    return TRITON_STRING_TO_NUMPY[triton_type_string]


_NUMPY_TYPES = {code: np.bool_ if dtype == np.bool_ else dtype.type for dtype, code in CODES.items()}


def _host():
    from weir_stub.host import host

    if host is None:
        raise TritonModelException("there is no server")
    return host


def get_model_dir():
    """The folder of the version that runs."""
    return _host().version_directory


def is_model_ready(model_name, model_version=""):
    return _host().ask(op="ready", name=str(model_name), version=str(model_version))


def load_model(model_name, config="", files=None):
    """Asks the server to load a model."""
    _host().ask(op="load", name=str(model_name))


def unload_model(model_name, unload_dependents=False):
    """Asks the server to unload a model."""
    _host().ask(op="unload", name=str(model_name))
