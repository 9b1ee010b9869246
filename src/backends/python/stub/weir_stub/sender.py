import threading

from .errors import TritonModelException
from .response import InferenceResponse
from .room import Room

FINAL = 1


class Reply:
    """The way of the answers to one request. When nobody can answer it any more it says so, and the request ends."""

    __slots__ = ("host", "batch", "of", "region", "map", "at", "outputs", "is_closed", "answers", "lock", "room")

    def __init__(self, request, outputs):
        self.host = request._host
        self.batch = request._batch
        self.of = request._of
        # Keeps the mark of being cancelled where it is.
        self.region = request._region
        self.map = request._map
        self.at = request._at
        self.outputs = outputs
        self.is_closed = False
        self.answers = 0
        self.lock = threading.Lock()
        # Of a decoupled model: how far its answers are ahead of who takes them.
        self.room = Room(self.host.channel.rooms) if self.host.is_decoupled else None

    def __del__(self):
        if self._is_open():
            self.is_closed = True
            self.host.abandon(self)

    def _is_open(self):
        return not self.is_closed and (self.answers == 0 or self.host.is_decoupled)

    def is_cancelled(self):
        return self.map[self.at + 4] != 0

    def send(self, response, flags):
        if flags not in (0, FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if response is None and flags == 0:
            raise TritonModelException("Inference Response object must be provided when the response flags is set to zero.")
        if response is not None and not isinstance(response, InferenceResponse):
            raise TypeError("send takes an InferenceResponse, not %s" % type(response).__name__)
        # Outside the lock, so that nobody who closes it has to wait too.
        if response is not None and self.room is not None and self.room.is_full():
            self.host.wait_for_room(self)
        with self.lock:
            is_decoupled = self.host.is_decoupled
            if not is_decoupled and response is not None and self.answers > 0:
                raise TritonModelException("Unable to send response. Non-decoupled model cannot send more than one response.")
            if not is_decoupled and response is None and self.answers == 0:
                raise TritonModelException(
                    "Unable to send response. Non-decoupled model cannot send complete final before sending a response."
                )
            if self.is_closed:
                raise TritonModelException("Unable to send response. Response sender has been closed.")
            is_last = flags == FINAL
            if is_decoupled or response is not None:
                # The one answer of a model that is not decoupled is its last. What cannot be written is not sent: the model hears why.
                self.host.answer(self, (self.of, is_last or not is_decoupled, False, response, self.outputs))
            if response is not None:
                self.answers += 1
            if is_last:
                self.is_closed = True

    def close(self):
        """It is answered some other way. True unless it has been closed already."""
        with self.lock:
            was_open = self._is_open()
            self.is_closed = True
            return was_open


class InferenceResponseSender:
    """Answers a request: once, or for a decoupled model as often as it likes, and from any thread."""

    __slots__ = ("_reply",)

    def __init__(self, reply):
        self._reply = reply

    def send(self, response=None, flags=0):
        self._reply.send(response, flags)

    def is_cancelled(self):
        return self._reply.is_cancelled()
