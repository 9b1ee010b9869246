"""Metrics of the model's own, kept and shown by the server."""

import struct
import weakref
from enum import IntEnum

from . import frames
from .errors import TritonModelException


class MetricKind(IntEnum):
    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


COUNTER = MetricKind.COUNTER
GAUGE = MetricKind.GAUGE
HISTOGRAM = MetricKind.HISTOGRAM
_KINDS = ("counter", "gauge", "histogram")

_CHANGE = struct.Struct("<d")
_INCREMENT = 0
_SET = 1
_OBSERVE = 2


def _host():
    from .host import host

    if host is None:
        raise TritonModelException("metrics need a server")
    return host


def _asked(host, what, **question):
    try:
        return host.ask(**question)
    except TritonModelException as error:
        message = "Error when creating %s: Failed to process the request for model '%s', message: %s" % (what, host.instance, error)
    raise TritonModelException(message)


class MetricFamily:
    """Series of one name and kind; the same one for all that ask with the same description."""

    MetricKind = MetricKind
    COUNTER = COUNTER
    GAUGE = GAUGE
    HISTOGRAM = HISTOGRAM

    def __init__(self, name, description, kind):
        self._id = None
        if not isinstance(kind, int) or not 0 <= kind <= 2:
            raise TypeError("%r is not a kind of MetricFamily" % (kind,))
        self._host = _host()
        self._kind = int(kind)
        self._metrics = weakref.WeakSet()
        self._id = _asked(self._host, "MetricFamily", op="family", name=name, description=description, kind=_KINDS[self._kind])

    def Metric(self, labels=None, buckets=None):
        return Metric(self, labels, buckets)

    def __del__(self):
        if self._id is not None:
            for metric in self._metrics:
                metric._is_gone = True
            self._host.forget("forget-family", self._id)


class Metric:
    def __init__(self, family, labels, buckets):
        self._id = None
        labels = labels or {}
        for key, value in labels.items():
            if not isinstance(key, str):
                raise TritonModelException("Expect label keys to have type str, found type %s" % type(key))
            if not isinstance(value, str):
                raise TritonModelException("Expect label values to have type str, found type %s" % type(value))
        if family._kind == HISTOGRAM and buckets is None:
            raise TritonModelException("Failed to create metric. Missing required buckets.")
        if family._kind != HISTOGRAM and buckets is not None:
            raise TritonModelException("Failed to create metric. Unexpected buckets found.")
        question = {"op": "series", "family": family._id, "labels": labels}
        if buckets is not None:
            question["buckets"] = [float(bound) for bound in buckets]
        self._host = family._host
        self._kind = family._kind
        self._is_gone = False
        self._id = _asked(self._host, "Metric", **question)
        family._metrics.add(self)

    def increment(self, value):
        if self._kind == HISTOGRAM:
            raise self._refused("increment metric value", "TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Increment")
        if self._kind == COUNTER and value < 0:
            raise self._refused(
                "increment metric value", "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values."
            )
        self._change(_INCREMENT, value)

    def set(self, value):
        if self._kind == COUNTER:
            raise self._refused("set metric value", "TRITONSERVER_METRIC_KIND_COUNTER does not support Set")
        if self._kind == HISTOGRAM:
            raise self._refused("set metric value", "TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Set")
        self._change(_SET, value)

    def observe(self, value):
        if self._kind != HISTOGRAM:
            name = "COUNTER" if self._kind == COUNTER else "GAUGE"
            raise self._refused("observe metric value", "TRITONSERVER_METRIC_KIND_%s does not support Observe" % name)
        self._change(_OBSERVE, value)

    def value(self):
        if self._kind == HISTOGRAM:
            raise self._refused("get metric value", "TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value")
        self._check()
        return self._host.ask(op="value", metric=self._id)

    def _change(self, what, value):
        self._check()
        payload = _CHANGE.pack(value)
        if self._host.channel.is_cut:
            raise TritonModelException("a process that the model has forked cannot change its metrics")
        self._host.channel.send(frames.inline(frames.METRIC, payload, what, self._id))

    def _check(self):
        if self._is_gone:
            raise TritonModelException(
                "Invalid metric operation as the corresponding 'MetricFamily' has been deleted. The 'MetricFamily' object should be "
                "deleted AFTER its corresponding 'Metric' objects have been deleted."
            )

    def _refused(self, what, why):
        return TritonModelException(
            "Failed to %s: Failed to process the request for model '%s', message: %s" % (what, self._host.instance, why)
        )

    def __del__(self):
        if self._id is not None and not self._is_gone:
            self._host.forget("forget-metric", self._id)
