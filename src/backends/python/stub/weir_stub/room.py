"""How far a decoupled model may be ahead of the server with its answers."""

import threading
from time import monotonic

# Answers to one request, and their bytes, that the server has and nobody has taken. From here on whoever sends another one waits.
_MOST_ANSWERS = 256
_MOST_BYTES = 4 << 20
# Bytes of the process that the server has, all requests together. From here on each may have one answer there.
_MOST_LENT = 32 << 20
# Between two looks whether the caller has gone.
_LOOK_SECONDS = 0.25
_TURN_SECONDS = 0.05


class Rooms:
    """What the rooms of all requests share."""

    __slots__ = ("memory", "changed", "waiting")

    def __init__(self, memory):
        self.memory = memory
        self.changed = threading.Condition()
        self.waiting = 0

    def notify(self):
        # Whoever begins to wait counts itself before it looks, so one of the two sees the other.
        if self.waiting:
            with self.changed:
                self.changed.notify_all()


class Room:
    """For the answers to one request. One thread at a time sends, and one at a time reads what the server says."""

    __slots__ = ("_rooms", "_sent", "_sent_bytes", "_taken", "_taken_bytes")

    def __init__(self, rooms):
        self._rooms = rooms
        self._sent = 0
        self._sent_bytes = 0
        self._taken = 0
        self._taken_bytes = 0

    def is_full(self):
        there = self._sent - self._taken
        if there >= _MOST_ANSWERS or self._sent_bytes - self._taken_bytes >= _MOST_BYTES:
            return True
        return there > 0 and self._rooms.memory.lent >= _MOST_LENT

    def fill(self, block):
        """An answer lies in the block and is about to be sent."""
        self._sent += 1
        self._sent_bytes += block.size
        block.room = self

    def empty(self, size):
        """The server has handed on an answer of that size."""
        self._taken += 1
        self._taken_bytes += size
        self._rooms.notify()

    def wait(self, channel, is_over, seconds):
        """Until there is room, or that is so, or for so many seconds; messages that come meanwhile are taken."""
        limit = monotonic() + seconds
        while channel.reads_here() and self.is_full() and not is_over():
            left = limit - monotonic()
            if left <= 0:
                return
            channel.read_within(min(left, _TURN_SECONDS))
        rooms = self._rooms
        with rooms.changed:
            rooms.waiting += 1
            try:
                while self.is_full() and not is_over():
                    left = limit - monotonic()
                    if left <= 0:
                        return
                    rooms.changed.wait(min(left, _LOOK_SECONDS))
            finally:
                rooms.waiting -= 1
