"""What the process as a whole has to do with its server."""

import os
import select
import signal
import sys
import threading


def set_up(channel_fd):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # Whatever stops the server tells the server, which ends its processes in order. A handler, since what is ignored stays so in programs that
    # the model starts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    threading.Thread(target=_watch, args=(channel_fd,), name="weir-watch", daemon=True).start()


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
