import json
import operator
import struct

from .calls import ModelCall
from .datatypes import BYTES
from .errors import TritonModelException
from .parameters import to_json
from .request_options import InferenceTrace, PreferredMemory
from .sender import InferenceResponseSender, Reply
from .tensor import Tensor, element_bytes, from_region

_UNREAD = frozenset(["_sender", "_set_flags", "_outputs", "_id", "_correlation_id", "_timeout", "_parameters"])

SEQUENCE_START = 1
SEQUENCE_END = 2
RELEASE_ALL = 1
RELEASE_RESCHEDULE = 2

# src/backends/python/write-batch.ts writes it: record bytes, cancelled, flags, kind of correlation id, an unused byte, correlation id, time-out,
# and the lengths of layout, requested outputs, id, correlation id as text and parameters; where the tensors begin; how many strings there are.
RECORD = struct.Struct("<IBBBBQQIIIIIIQ")
_HEAD = RECORD.size
_unpack = RECORD.unpack_from
_PLACE = struct.Struct("<QQ")
_LARGEST_CACHE = 1024


class InferenceRequest:
    """A request that came to the model, or one that the model makes."""

    __slots__ = (
        "_host",
        # Of a request that came: its batch's block, the memory that this lies in, and where its record begins there.
        "_region",
        "_map",
        "_at",
        "_record",
        "_reply",
        "_sender",
        "_batch",
        "_of",
        "_release",
        "_set_flags",
        "_inputs",
        "_outputs",
        "_model_name",
        "_model_version",
        "_id",
        "_correlation_id",
        "_timeout",
        "_parameters",
        "__weakref__",
    )

    def __init__(
        self,
        inputs,
        requested_output_names,
        model_name,
        request_id="",
        correlation_id=0,
        model_version=-1,
        flags=0,
        timeout=0,
        preferred_memory=None,
        trace=None,
        parameters=None,
    ):
        for what, text in (("model_name", model_name), ("request_id", request_id)):
            if not isinstance(text, str):
                raise TypeError("%s must be a string, not %s" % (what, type(text).__name__))
        if isinstance(requested_output_names, str):
            raise TypeError("requested_output_names must hold strings, and is one")
        for tensor in inputs:
            if tensor is None:
                raise TritonModelException(
                    "Input tensor for request with id '%s' and model name '%s' should not be empty." % (request_id, model_name)
                )
            if not isinstance(tensor, Tensor):
                raise TypeError("inputs must hold Tensor objects, not %s" % type(tensor).__name__)
        for name in requested_output_names:
            if name and not isinstance(name, str):
                raise TypeError("requested_output_names must hold strings, not %s" % type(name).__name__)
            if not name:
                raise TritonModelException(
                    "Requested output name for request with id '%s' and model name '%s' should not be empty." % (request_id, model_name)
                )
        if isinstance(correlation_id, bool) or not isinstance(correlation_id, (int, str)):
            raise TritonModelException("Correlation ID must be integer or string")
        if isinstance(correlation_id, int):
            _whole("correlation_id", correlation_id, 0, 2**64)
        if preferred_memory is not None and not isinstance(preferred_memory, PreferredMemory):
            raise TypeError("preferred_memory must be a PreferredMemory, not %s" % type(preferred_memory).__name__)
        self._host = None
        self._region = None
        self._reply = None
        self._sender = None
        self._release = RELEASE_ALL
        self._inputs = list(inputs)
        self._outputs = list(requested_output_names)
        self._model_name = model_name
        self._model_version = _whole("model_version", model_version, -1, 2**63)
        self._id = request_id
        self._correlation_id = correlation_id
        self._set_flags = _whole("flags", flags, 0, 2**32)
        self._timeout = _whole("timeout", timeout, 0, 2**64)
        self._parameters = to_json(parameters)

    def __getattr__(self, name):
        # What of a request that came nobody has asked for yet.
        if name in _UNREAD:
            return None
        raise AttributeError("'InferenceRequest' object has no attribute '%s'" % name)

    def inputs(self):
        inputs = self._inputs
        if inputs is None:
            inputs = self._inputs = self._read_inputs()
        return inputs

    def request_id(self):
        if self._id is None:
            self._read_texts()
        return self._id

    def correlation_id(self):
        if self._correlation_id is None:
            self._read_texts()
        return self._correlation_id

    def parameters(self):
        """A JSON object as text; '' for none."""
        if self._parameters is None:
            self._read_texts()
        return self._parameters

    def requested_output_names(self):
        if self._outputs is None:
            self._outputs = _named_outputs(self) or self._host.output_names
        return set(self._outputs)

    def flags(self):
        return self._record[2] if self._set_flags is None else self._set_flags

    def set_flags(self, flags):
        self._set_flags = _whole("flags", flags, 0, 2**32)

    def timeout(self):
        return self._record[6] if self._timeout is None else self._timeout

    def trace(self):
        return InferenceTrace()

    def set_release_flags(self, flags):
        self._release = int(flags)

    def is_cancelled(self):
        return self._region is not None and self._map[self._at + 4] != 0

    def get_response_sender(self):
        if self._region is None:
            raise TritonModelException("a request that the model has made has no response sender")
        if self._sender is None:
            self._sender = InferenceResponseSender(reply_of(self))
        return self._sender

    def exec(self, decoupled=False):
        """Waits for the answer of the model that the request names. With `decoupled`, an iterator of all that it gives."""
        return ModelCall(self, decoupled).run()

    def async_exec(self, decoupled=False):
        """The same as an awaitable."""
        return ModelCall(self, decoupled).run_async()

    def _read_inputs(self):
        region = self._region
        record = self._record
        start = record[13]
        at = self._at + _HEAD
        length = record[7]
        key = self._map[at : at + length]
        layout = _layouts.get(key)
        if layout is None:
            layout = _read_layout(key, self._host.names)
        tensors, strings = layout
        made = [from_region(name, code, shape, region, start + offset, 0) for name, code, shape, offset in tensors]
        if strings:
            at += length
            for index in strings:
                offset, size = _PLACE.unpack_from(self._map, at)
                at += 16
                tensor = made[index]
                tensor._at = start + offset
                tensor._size = size
        return made

    def _read_texts(self):
        record = self._record
        at = self._at + _HEAD + record[7] + 16 * record[12] + record[8]
        texts = self._map[at : at + record[9] + record[10] + record[11]]
        id_end = record[9]
        correlation_end = id_end + record[10]
        self._id = texts[:id_end].decode("utf-8", "surrogateescape")
        if self._correlation_id is None:
            self._correlation_id = texts[id_end:correlation_end].decode("utf-8", "surrogateescape") if record[3] else record[5]
        self._parameters = texts[correlation_end:].decode("utf-8", "surrogateescape")


def _whole(what, value, least, end):
    number = operator.index(value)
    if not least <= number < end:
        raise TypeError("%s must be at least %d and below %d, not %d" % (what, least, end, number))
    return number


def _named_outputs(request):
    record = request._record
    if not record[8]:
        return None
    at = request._at + _HEAD + record[7] + 16 * record[12]
    return json.loads(request._map[at : at + record[8]])


def wanted_outputs(request):
    """Names of the outputs that an answer to it may have."""
    host = request._host
    if not request._record[8]:
        return host.outputs
    return host.states.union(_named_outputs(request))


def reply_of(request):
    reply = request._reply
    if reply is None:
        reply = request._reply = Reply(request, wanted_outputs(request))
    return reply


_layouts = {}


def _read_layout(key, names):
    """(name, number of datatype, shape, offset) of each tensor, and which of them are of strings, whose places follow."""
    tensors = []
    strings = []
    offset = 0
    at = 0
    while at < len(key):
        name, code, rank = struct.unpack_from("<HBB", key, at)
        shape = struct.unpack_from("<%dQ" % rank, key, at + 8)
        at += 8 + 8 * rank
        tensors.append((names[name], code, shape, offset))
        if code == BYTES:
            strings.append(len(tensors) - 1)
        else:
            offset += (element_bytes(code, shape) + 63) & -64
    if len(_layouts) >= _LARGEST_CACHE:
        _layouts.clear()
    _layouts[key] = layout = (tensors, strings)
    return layout


_new = InferenceRequest.__new__


def read_requests(host, batch, region):
    """The requests of a batch. Each reads the rest of itself when it is asked for it."""
    requests = []
    shared = region.segment.map
    at = region.start
    count = _count(shared, at)[0]
    at += 16
    for of in range(count):
        record = _unpack(shared, at)
        request = _new(InferenceRequest)
        request._host = host
        request._region = region
        request._map = shared
        request._at = at
        request._record = record
        request._batch = batch
        request._of = of
        request._release = RELEASE_ALL
        request._reply = request._inputs = None
        requests.append(request)
        at += record[0]
    return requests


_count = struct.Struct("<I").unpack_from
