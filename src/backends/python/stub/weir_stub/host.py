"""What a model's objects and its server have to do with each other."""

import asyncio
import json
import sys
import threading

from . import frames
from .answers import send_written, write_answers
from .calls import Calls
from .errors import TritonModelException, shortened, utf8
from .load_class import load_class
from .memory import OutOfSharedMemory
from .runner import Runner, batch_of_context
from .writer import Writer

# The host of this process; None until it has been told what to run.
host = None


class Host:
    def __init__(self, channel):
        self.channel = channel
        self.lock = threading.Lock()
        self.instance = ""
        self.model_name = ""
        self.model_version = -1
        self.names = []
        self.output_names = []
        self.states = frozenset()
        # What an answer may have when its request does not say.
        self.outputs = frozenset()
        self.is_decoupled = False
        self.may_call = False
        self.calls = None
        self.model = None
        self.version_directory = ""
        self._room_seconds = 0
        self._runner = None

    def load(self, start):
        args = start["args"]
        self.instance = args["model_instance_name"]
        self.model_name = args["model_name"]
        self.model_version = int(args["model_version"])
        self.version_directory = start["versionDirectory"]
        self.names = start["inputs"]
        self.output_names = start["outputs"]
        self.states = frozenset(start["states"])
        self.outputs = self.states.union(self.output_names)
        self.is_decoupled = start["decoupled"]
        self.channel.use_memory(start["prefix"], start["memoryBytes"], start["growthBytes"])
        self.channel.ours.prepare()
        self.calls = Calls(self, start["calls"])
        self._room_seconds = start["roomSeconds"]
        model_class = load_class(start["file"], start["versionDirectory"], args["model_repository"])
        self.model = model_class()
        if hasattr(self.model, "initialize"):
            self.model.initialize(args)
        self._runner = Runner(self, start["file"])
        self.may_call = True

    def serve(self):
        """Until the server says that it is enough."""
        channel = self.channel
        runner = self._runner
        run = runner.run_decoupled if self.is_decoupled else runner.run
        while True:
            job = channel.next_job()
            kind = job[0]
            if kind == frames.BATCH:
                run(job)
                channel.flush_freed()
            elif kind == frames.CHECK:
                channel.send(frames.pack(frames.CHECKED, 1 if runner.is_ready() else 0, 0, job[3], 0, 0, 0, 0))
            elif kind == frames.STOP:
                self.may_call = False
                runner.finalize()
                return

    def forked(self):
        """In a process that the model has forked: it is the model's own affair, and has nothing to say to the server."""
        self.may_call = False
        self.channel.cut()

    # What models' objects ask of it

    def current_batch(self):
        return batch_of_context.get()

    def writer(self):
        return Writer(self)

    def answer(self, reply, entry):
        """Of a response sender. Raises what keeps it from being written."""
        channel = self.channel
        if channel.is_cut:
            raise TritonModelException("a process that the model has forked cannot answer for it")
        try:
            written = write_answers(channel, reply.batch, (entry,), 0.0)
        except OutOfSharedMemory as error:
            self.end_request(reply.batch, reply.of, str(error))
            return
        if reply.room is not None:
            reply.room.fill(written[0])
        send_written(channel, written)

    def wait_for_room(self, reply):
        """
        Until whoever takes the answers has room for more, or has gone, or the server stops, but no longer than the server allows. Never on a thread that
        runs coroutines, where everything else would wait too.
        """
        channel = self.channel
        if channel.is_cut or asyncio._get_running_loop() is not None:
            return
        reply.room.wait(channel, lambda: reply.is_closed or channel.is_stopping or reply.is_cancelled(), self._room_seconds)

    def abandon(self, reply):
        """Nobody can answer any more; called by the collector of garbage, on any thread."""
        message = None if self.is_decoupled else "the model has dropped the request without a response"
        self.end_request(reply.batch, reply.of, message)

    def end_request(self, batch, of, message):
        payload = json.dumps({"of": of, "message": message}).encode()
        self.channel.send(frames.inline(frames.ABANDONED, payload, 0, batch))

    def give_up(self, call):
        """Nobody reads the call's answers any more; called by the collector of garbage."""
        self.channel.send(frames.pack(frames.CANCEL_CALL, 0, 0, call.ident, 0, 0, 0, 0))

    def log(self, message, level):
        text = utf8(shortened(message))
        if self.channel.is_cut:
            # What is written there is told by the server all the same.
            print(text.decode(), file=sys.stderr)
        else:
            self.channel.send(frames.inline(frames.LOG, text, level))

    def forget(self, what, ident):
        """Called by the collector of garbage."""
        self.channel.send(frames.inline(frames.ASK, json.dumps({"op": what, "id": ident}).encode()))

    def ask(self, **question):
        """A question to the server. Raises TritonModelException with its error."""
        answer = self.channel.ask(**question)
        if "error" in answer:
            raise TritonModelException(answer["error"])
        return answer["value"]
