"""The way to the server and back."""

import json
import os
import select
import threading
import time
from collections import deque
from contextlib import suppress
from queue import SimpleQueue

from . import frames
from .errors import TritonModelException
from .memory import Ours, Theirs
from .room import Rooms
from .waiter import Waiter

_SIZE = frames.SIZE
_unpack = frames.FRAME.unpack_from
_READ = 1 << 16
# Messages that may wait for the server to read; who sends more waits with them.
_LARGEST_WAIT = 1000
# The collector of garbage may send too, on the very thread that is writing: then there is nobody to wait for.
_LONGEST_WAIT_SECONDS = 0.1
# A thread that reads for a moment gives the turn back within it.
_TURN_SECONDS = 0.05
_PAUSE_SECONDS = 0.002
# Until what was said last must be on its way.
_LAST_SECONDS = 1
# Blocks that are no longer read may wait so many for a message to be told with.
_MOST_FREED = 16


class Channel:
    """
    Any thread may send. Messages are read by the main thread between two batches; by a thread of its own from the moment that another thread waits
    for an answer; or by the main thread while a model's code on it waits for one.
    """

    def __init__(self, fd):
        self.fd = fd
        self.theirs = Theirs()
        self.freed = self.theirs.freed
        self.ours = None
        self.inbox = SimpleQueue()
        self.handlers = {}
        self._rest = b""
        self._out = deque()
        self._write_lock = threading.Lock()
        # Whoever cannot have it at once leaves the blocks to somebody else: it may be in the middle of a collection of garbage.
        self._freed_lock = threading.Lock()
        self._read_lock = threading.Lock()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._has_reader = False
        self._start_lock = threading.Lock()
        self._replies = {}
        self._last_ask = 0
        self._main = threading.main_thread().ident
        self.rooms = None
        self.is_stopping = False
        # In a process that the model has forked: the way to the server is not for it.
        self.is_cut = False

    def use_memory(self, prefix, first, growth):
        self.ours = Ours(prefix, first, growth, self._announce, self._make_room)
        self.rooms = Rooms(self.ours)

    # Sending

    def send(self, data):
        if self.is_cut:
            return
        self._out.append(data)
        self._flush()
        if len(self.freed) > _MOST_FREED:
            self.flush_freed()
        if len(self._out) > _LARGEST_WAIT and self._write_lock.acquire(timeout=_LONGEST_WAIT_SECONDS):
            self._write_lock.release()

    def flush_freed(self):
        """Tells of blocks that are no longer read, when there is no other message to tell it with."""
        freed = self.freed
        if not freed or self.is_cut or not self._freed_lock.acquire(False):
            return
        try:
            while freed:
                self._out.append(frames.pack(frames.FREE, 0, 0, 0, 0, freed.popleft(), 0, 0))
        finally:
            self._freed_lock.release()
        self._flush()

    def pop_freed(self):
        """A block to name in a message that is sent next; 0 for none."""
        freed = self.freed
        if not freed or not self._freed_lock.acquire(False):
            return 0
        try:
            return freed.popleft() if freed else 0
        finally:
            self._freed_lock.release()

    def send_last(self, message_with, *used):
        """
        The last message about a batch, made with the number of a block that is no longer read, and the lists of what the batch used, which are cleared.
        Nobody else tells of the batch's own block before it: tensors of the message may lie there.
        """
        freed = self.freed
        with self._freed_lock:
            for each in used:
                each.clear()
            self._out.append(message_with(freed.popleft() if freed else 0))
        self._flush()

    def _flush(self):
        # Whoever finds another one writing leaves the message to them, so that no thread waits: it may be in the middle of a collection of garbage.
        out = self._out
        while out:
            if not self._write_lock.acquire(False):
                return
            try:
                while out:
                    data = out.popleft()
                    if out:
                        parts = [data]
                        while out and len(parts) < 256:
                            parts.append(out.popleft())
                        data = b"".join(parts)
                    self._write(data)
            finally:
                self._write_lock.release()

    def _write(self, data):
        written = os.write(self.fd, data)
        while written < len(data):
            data = data[written:]
            written = os.write(self.fd, data)

    def _announce(self, segment, name, size):
        if name is None:
            self.send(frames.pack(frames.DROP, 0, segment, 0, 0, 0, 0, 0))
        else:
            payload = name.encode()
            self.send(frames.pack(frames.SEGMENT, frames.INLINE, segment, 0, 0, 0, size, len(payload)) + payload)

    def finish(self):
        """Waits until all has been written, for a moment: threads of the model may send for ever."""
        limit = time.monotonic() + _LAST_SECONDS
        while not self.is_cut:
            self._flush()
            # Another thread may be in the middle of the last message.
            if not self._write_lock.acquire(timeout=max(0, limit - time.monotonic())):
                return
            self._write_lock.release()
            if not self._out or time.monotonic() > limit:
                return

    # Reading

    def next_job(self):
        """The next batch or order for the main thread."""
        inbox = self.inbox
        while True:
            if self._has_reader or not inbox.empty():
                return inbox.get()
            # A reader of its own that has begun meanwhile has it for good.
            if self._read_lock.acquire(timeout=_TURN_SECONDS):
                try:
                    if inbox.empty():
                        self._read()
                finally:
                    self._read_lock.release()

    def _read(self):
        data = os.read(self.fd, _READ)
        if not data:
            # The server has gone, and nobody is left to answer.
            os._exit(0)
        if self._rest:
            data = self._rest + data
        at = 0
        end = len(data)
        while end - at >= _SIZE:
            frame = _unpack(data, at)
            kind, flags, _, _, _, freed, _, length = frame
            next_at = at + _SIZE
            payload = None
            if flags & frames.INLINE:
                next_at += length
                if next_at > end:
                    break
                payload = data[at + _SIZE : next_at]
            at = next_at
            if freed:
                self.ours.give(freed)
            if kind == frames.BATCH:
                self.inbox.put(frame)
            else:
                self._take(kind, frame, payload)
        self._rest = data[at:]

    def _take(self, kind, frame, payload):
        _, flags, segment, ident, _, _, offset, _ = frame
        if kind == frames.FREE:
            return
        if kind == frames.STOP:
            self.is_stopping = True
            if self.rooms is not None:
                self.rooms.notify()
        if kind == frames.SEGMENT:
            self.theirs.map(segment, payload.decode(), offset)
        elif kind == frames.DROP:
            self.theirs.drop(segment)
        elif kind == frames.REPLY:
            waiter = self._replies.pop(ident, None)
            if waiter is not None:
                waiter.done(json.loads(payload))
        elif kind in self.handlers:
            self.handlers[kind](frame, payload)
        else:
            self.inbox.put((kind, flags & ~frames.INLINE, payload, ident))

    def need_reader(self):
        """From now on a thread of its own reads."""
        with self._start_lock:
            if self._has_reader:
                return
            self._has_reader = True
            threading.Thread(target=self._read_on, name="weir-reader", daemon=True).start()

    def _read_on(self):
        # The main thread may still be reading: it has the lock until it has something to do.
        with self._read_lock:
            while True:
                self._read()

    def wait(self, waiter):
        """Waits, on any thread, for its value; messages that come meanwhile are taken."""
        self.pump_until(lambda: waiter.is_done)
        waiter.join()

    def pump_until(self, is_done):
        """Reads, if nobody else does, until that is so. When another thread reads it returns at once."""
        while self.reads_here() and not is_done():
            if self._read_lock.acquire(timeout=_TURN_SECONDS):
                try:
                    if not is_done():
                        self._read()
                finally:
                    self._read_lock.release()

    def reads_here(self):
        """Whether this thread is to read while it waits: the main one does, as long as there is no thread for it."""
        if threading.get_ident() == self._main and not self._has_reader:
            return True
        self.need_reader()
        return False

    def read_within(self, seconds):
        """Takes what comes within so long, unless somebody else reads."""
        if self._read_lock.acquire(timeout=seconds):
            try:
                if self._poll.poll(seconds * 1000):
                    self._read()
            finally:
                self._read_lock.release()

    def _make_room(self, seconds):
        """Hears which blocks are free again; waits so long for the server to tell of one."""
        if self._read_lock.acquire(False):
            try:
                if self._poll.poll(seconds * 1000):
                    self._read()
            finally:
                self._read_lock.release()
        elif seconds > 0:
            time.sleep(_PAUSE_SECONDS)

    def ask(self, **question):
        """A small question to the server."""
        if self.is_cut:
            raise TritonModelException("a process that the model has forked cannot ask the server")
        waiter = Waiter()
        with self._start_lock:
            self._last_ask += 1
            ident = self._last_ask
        self._replies[ident] = waiter
        self.send(frames.inline(frames.ASK, json.dumps(question).encode(), ident=ident))
        self.wait(waiter)
        return waiter.value

    def cut(self):
        """In a forked process, which has a copy of everything and must not speak for the model. Other threads of the model are not in it."""
        self.is_cut = True
        self._out.clear()
        for lock in ("_write_lock", "_freed_lock", "_read_lock", "_start_lock"):
            setattr(self, lock, threading.Lock())
        with suppress(OSError):
            os.close(self.fd)
