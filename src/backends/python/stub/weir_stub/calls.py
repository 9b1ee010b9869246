"""Requests that the model makes of other models."""

import asyncio
import json
import struct
from collections import deque
from queue import SimpleQueue

from . import frames
from .errors import TritonError, TritonModelException
from .memory import OutOfSharedMemory
from .response import InferenceResponse
from .tensor import from_region
from .waiter import Waiter


_LENGTHS = struct.Struct("<II")
# Answers of a call, or their bytes, that its iterator has given out and the server has not been told of.
_MOST_UNTOLD = 16
_MOST_UNTOLD_BYTES = 1 << 20


class Calls:
    """All calls of the process. So many run at once; the others wait their turn here, in their order, with nothing of theirs copied yet."""

    def __init__(self, host, limit):
        self.host = host
        self.limit = limit
        self.running = {}
        self.waiting = deque()
        self.last = 0
        host.channel.handlers[frames.CALL_ANSWER] = self._take

    def start(self, call):
        host = self.host
        with host.lock:
            self.last += 1
            call.ident = self.last
            if len(self.running) >= self.limit:
                self.waiting.append(call)
                return
            self.running[call.ident] = call
        self._send(call)

    def cancel(self, call):
        with self.host.lock:
            if call in self.waiting:
                self.waiting.remove(call)
            elif call.ident not in self.running:
                return
            else:
                self.host.channel.send(frames.pack(frames.CANCEL_CALL, 0, 0, call.ident, 0, 0, 0, 0))
                return
        call.take(_failed(TritonError("", TritonError.CANCELLED)), True)

    def _send(self, call):
        try:
            self.host.channel.send(call.encode(self.host))
        except OutOfSharedMemory as error:
            self._end(call, _failed(TritonError(str(error))))

    def _take(self, frame, payload):
        """On whichever thread reads."""
        _, flags, segment, ident, block, _, offset, length = frame
        call = self.running.get(ident)
        response = None
        size = 0
        if payload is not None:
            error = json.loads(payload)
            response = _failed(TritonError(error["message"], error["code"]))
        elif length > 0:
            # Even with nobody left to read it, this gives the block back.
            response = _read_response(self.host.channel.theirs.region(segment, offset, length, block))
            size = length
        elif flags & frames.IS_LAST:
            response = InferenceResponse()
        if call is None:
            return
        if flags & frames.IS_LAST:
            self._end(call, response, size)
        else:
            call.take(response, False, size)

    def _end(self, call, response, size=0):
        following = None
        with self.host.lock:
            self.running.pop(call.ident, None)
            if self.waiting and len(self.running) < self.limit:
                following = self.waiting.popleft()
                self.running[following.ident] = following
        call.take(response, True, size)
        if following is not None:
            self._send(following)


class ModelCall:
    __slots__ = ("request", "is_decoupled", "ident", "_answers", "_waiter", "_future", "_loop", "_batch")

    def __init__(self, request, is_decoupled):
        if request._region is not None:
            raise TritonModelException("a request that came to the model cannot be sent to another one; make one with InferenceRequest")
        self.request = request
        self.is_decoupled = is_decoupled
        self.ident = 0
        self._answers = None
        self._waiter = None
        self._future = None
        self._loop = None
        self._batch = None

    def run(self):
        calls = _calls_of_process()
        self._batch = calls.host.current_batch()
        if self.is_decoupled:
            return self._iterate(calls)
        waiter = self._waiter = Waiter()
        calls.start(self)
        calls.host.channel.wait(waiter)
        return waiter.value

    async def run_async(self):
        calls = _calls_of_process()
        self._batch = calls.host.current_batch()
        calls.host.channel.need_reader()
        if self.is_decoupled:
            return self._iterate(calls)
        self._loop = asyncio.get_running_loop()
        self._future = self._loop.create_future()
        calls.start(self)
        try:
            return await self._future
        except asyncio.CancelledError:
            calls.cancel(self)
            raise

    def take(self, response, is_last, size=0):
        """An answer of so many bytes has come; on any thread."""
        if self._answers is not None:
            if response is not None:
                response._is_final = is_last
                self._answers.put((response, size))
        elif self._waiter is not None:
            self._waiter.done(response)
        elif self._future is not None:
            try:
                self._loop.call_soon_threadsafe(self._settle, response)
            except RuntimeError:
                # The loop has been closed under it.
                pass

    def _settle(self, response):
        if not self._future.done():
            self._future.set_result(response)

    def _iterate(self, calls):
        self._answers = SimpleQueue()
        calls.start(self)
        return ResponseIterator(self, self._answers, calls)

    def encode(self, host):
        """The message that starts it. The request keeps its arrays alive until the call has ended, since the server may read them where they are."""
        request = self.request
        writer = host.writer()
        inputs = [writer.place(tensor) for tensor in request._inputs]
        head = {
            "model": request._model_name,
            "version": request._model_version,
            "id": request._id,
            "correlation": str(request._correlation_id),
            "isText": isinstance(request._correlation_id, str),
            "flags": request._set_flags or 0,
            "timeout": str(request._timeout),
            "parameters": request._parameters,
            "outputs": request._outputs,
            "inputs": inputs,
            "batch": self._batch,
        }
        flags = frames.IS_DECOUPLED if self.is_decoupled else 0
        return writer.message(frames.CALL, flags, self.ident, json.dumps(head).encode())


class ResponseIterator:
    """The answers of a call in the order in which they come. Waits for each."""

    __slots__ = ("_call", "_queue", "_calls", "_is_done", "_untold", "_untold_bytes")

    def __init__(self, call, queue, calls):
        self._call = call
        self._queue = queue
        self._calls = calls
        self._is_done = False
        self._untold = 0
        self._untold_bytes = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self._is_done:
            raise StopIteration
        response = self._next()
        if response._is_final:
            self._is_done = True
        return response

    def cancel(self):
        """Ends the call. What it has given by now can still be read."""
        self._calls.cancel(self._call)

    def __del__(self):
        if not self._is_done:
            self._calls.host.give_up(self._call)

    def _next(self):
        queue = self._queue
        if queue.empty():
            self._calls.host.channel.pump_until(lambda: not queue.empty())
        response, size = queue.get()
        self._untold += 1
        self._untold_bytes += size
        if self._untold >= _MOST_UNTOLD or self._untold_bytes >= _MOST_UNTOLD_BYTES:
            self._tell()
        return response

    def _tell(self):
        """So much the called model may go on to answer."""
        taken = frames.pack(frames.TAKEN, 0, 0, self._call.ident, 0, 0, self._untold, self._untold_bytes)
        self._untold = self._untold_bytes = 0
        self._calls.host.channel.send(taken)


def _calls_of_process():
    from .host import host

    if host is None or not host.may_call:
        raise TritonModelException("BLS is only supported during the 'execute' function.")
    return host.calls


def _failed(error):
    return InferenceResponse(error=error)


def _read_response(region):
    shared = region.segment.map
    at = region.start
    length, start = _LENGTHS.unpack_from(shared, at)
    head = json.loads(shared[at + 8 : at + 8 + length])
    tensors = [from_region(name, code, tuple(shape), region, start + at, size) for name, code, shape, at, size in head["outputs"]]
    response = InferenceResponse(tensors)
    response._parameters = head["parameters"]
    return response
