"""From the start of the process to its end."""

import json

from . import frames
from . import host as of_process
from .channel import Channel
from .errors import Refused, describe, utf8
from .host import Host
from .load_class import complete_config
from .process import Forks, end, leave_fork, set_up

_CHANNEL_FD = 3


def main():
    set_up(_CHANNEL_FD)
    channel = Channel(_CHANNEL_FD)
    host = of_process.host = Host(channel)
    Forks(host.forked)
    channel.send(frames.pack(frames.ALIVE, 0, 0, 0, 0, 0, 0, 0))
    start = json.loads(channel.next_job()[2])
    try:
        if start["mode"] == "complete":
            result = complete_config(start)
        else:
            host.load(start)
            result = {"checks": hasattr(host.model, "is_ready")}
        ready = json.dumps(result).encode()
    except BaseException as error:
        if channel.is_cut:
            leave_fork(error)
        message = error.message if isinstance(error, Refused) else describe(error)
        channel.send(frames.inline(frames.FAILED, utf8(message)))
    else:
        if channel.is_cut:
            leave_fork(None)
        channel.send(frames.inline(frames.READY, ready))
        if start["mode"] == "complete":
            # The server ends it.
            channel.next_job()
        else:
            host.serve()
    channel.finish()
    end(0)
