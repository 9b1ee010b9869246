class PreferredMemory:
    """Where the tensors of an answer should lie. There is no memory but the processor's, so that is where they do."""

    DEFAULT = 0
    CPU = 1
    GPU = 2

    __slots__ = ("_kind", "_device_id")

    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self._kind = preferred_memory_type
        self._device_id = preferred_device_id


class InferenceTrace:
    """The trace that a request belongs to."""

    __slots__ = ()

    def get_context(self):
        return None
