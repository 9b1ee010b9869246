import threading


class Waiter:
    """One value that some thread waits for."""

    __slots__ = ("is_done", "value", "_lock")

    def __init__(self):
        self.is_done = False
        self.value = None
        self._lock = threading.Lock()
        self._lock.acquire()

    def done(self, value):
        self.value = value
        self.is_done = True
        self._lock.release()

    def join(self):
        self._lock.acquire()
        self._lock.release()
