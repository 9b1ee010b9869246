"""What the process as a whole has to do with its server."""

import atexit
import os
import select
import signal
import sys
import threading
import traceback


def set_up(channel_fd):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # Programs that the model starts have nothing to say to the server, and would hold its end of the way open.
    os.set_inheritable(channel_fd, False)
    # Whatever stops the server tells the server, which ends its processes in order. A handler, since what is ignored stays so in programs that
    # the model starts.
    for number in _SIGNALS:
        signal.signal(number, _take_no_notice)
    threading.Thread(target=_watch, args=(channel_fd,), name="weir-watch", daemon=True).start()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _take_no_notice(*_):
    pass


class Forks:
    """What happens around each fork of the model. `on_fork` is called in the new process."""

    def __init__(self, on_fork):
        self._on_fork = on_fork
        self._kept = threading.local()
        os.register_at_fork(before=self._before, after_in_parent=self._restore, after_in_child=self._begin)

    def _before(self):
        # Whoever makes a process may end it by a signal at once, which is not to be lost.
        self._kept.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def _begin(self):
        self._on_fork()
        for number in _SIGNALS:
            if signal.getsignal(number) is _take_no_notice:
                signal.signal(number, signal.SIG_DFL)
        self._restore()

    def _restore(self):
        signal.pthread_sigmask(signal.SIG_SETMASK, self._kept.mask)


def _watch(fd):
    poll = select.poll()
    # Asks for nothing: the end of the other side is told in any case.
    poll.register(fd, 0)
    while True:
        try:
            for _, events in poll.poll():
                if events & (select.POLLHUP | select.POLLERR):
                    leave()
        except InterruptedError:
            pass


def leave():
    """The server has gone: ends this process and those that the model has started."""
    from .host import host

    if host is not None and host.channel.ours is not None:
        host.channel.ours.unlink_all()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def leave_fork(error):
    """Ends a process that the model has forked and whose code has come to its end, with that error if any, as a program of its own would end."""
    if error is None:
        end(0)
    if not isinstance(error, SystemExit):
        traceback.print_exception(type(error), error, error.__traceback__)
        end(1)
    if error.code is None or isinstance(error.code, int):
        end(error.code or 0)
    print(error.code, file=sys.stderr)
    end(1)


def end(status):
    """Ends without waiting for the threads of the model, which nobody will tell to end."""
    # Whatever the model has put there may raise.
    for last in (atexit._run_exitfuncs, lambda: sys.stdout.flush(), lambda: sys.stderr.flush()):
        try:
            last()
        except BaseException:
            pass
    os._exit(status & 0xFF)
