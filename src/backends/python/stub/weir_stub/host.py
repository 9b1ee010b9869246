"""The life of a model in its process."""

import asyncio
import atexit
import contextvars
import importlib.util
import json
import os
import sys
import threading
import types
from time import perf_counter

from . import frames
from .answers import send_answers, send_failure, send_written, write_answers
from .calls import Calls
from .channel import Channel
from .errors import TritonError, TritonModelException, describe
from .memory import OutOfSharedMemory
from .process import set_up
from .requests import RELEASE_ALL, RELEASE_RESCHEDULE, read_requests, reply_of, wanted_outputs
from .response import InferenceResponse
from .writer import Writer

# The host of this process; None until it has been told what to run.
host = None

_batch = contextvars.ContextVar("weir_batch", default=0)
_CHANNEL_FD = 3
_READY_SECONDS = 5


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
        self._execute_of_model = None
        self.version_directory = ""
        self._path = ""
        self._loop = None

    # What models' objects ask of it

    def current_batch(self):
        return _batch.get()

    def writer(self):
        return Writer(self)

    def answer(self, batch, entries):
        try:
            send_answers(self.channel, batch, entries, 0.0)
        except OutOfSharedMemory as error:
            for entry in entries:
                self._end_request(batch, entry[0], str(error))

    def abandon(self, reply):
        """Nobody can answer any more; called by the collector of garbage, on any thread."""
        message = None if self.is_decoupled else "the model has dropped the request without a response"
        self._end_request(reply.batch, reply.of, message)

    def _end_request(self, batch, of, message):
        payload = json.dumps({"of": of, "message": message}).encode()
        self.channel.send(frames.inline(frames.ABANDONED, payload, 0, batch))

    def give_up(self, call):
        """Nobody reads the call's answers any more; called by the collector of garbage."""
        self.channel.send(frames.pack(frames.CANCEL_CALL, 0, 0, call.ident, 0, 0, 0, 0))

    def forget(self, what, ident):
        """Called by the collector of garbage."""
        self.channel.send(frames.inline(frames.ASK, json.dumps({"op": what, "id": ident}).encode()))

    def ask(self, **question):
        """A question to the server. Raises TritonModelException with its error."""
        answer = self.channel.ask(**question)
        if "error" in answer:
            raise TritonModelException(answer["error"])
        return answer["value"]

    # Start

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
        self._path = start["file"]
        model_class = load_class(self._path, start["versionDirectory"], args["model_repository"])
        self.model = model_class()
        if hasattr(self.model, "initialize"):
            self.model.initialize(args)
        self._execute_of_model = getattr(self.model, "execute", None)
        if asyncio.iscoroutinefunction(self._execute_of_model):
            self._start_loop()
        self.may_call = True

    def _start_loop(self):
        self.channel.need_reader()
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="weir-loop", daemon=True).start()

    # Work

    def serve(self):
        channel = self.channel
        run = self._run_decoupled if self.is_decoupled else self._run
        while True:
            job = channel.next_job()
            kind = job[0]
            if kind == frames.BATCH:
                run(job)
                if channel.freed:
                    channel.flush_freed()
            elif kind == frames.CHECK:
                channel.send(frames.pack(frames.CHECKED, 1 if self._is_ready() else 0, 0, job[3], 0, 0, 0, 0))
            elif kind == frames.STOP:
                self._finalize()
                return

    def _run(self, job):
        _, _, segment, batch, block, _, offset, length = job
        # The last array of the region that goes gives the block back.
        requests = read_requests(self, batch, self.channel.theirs.region(segment, offset, length, block))
        try:
            if requests[0].is_cancelled() and all(request.is_cancelled() for request in requests):
                send_failure(self.channel, batch, range(len(requests)), "", TritonError.CANCELLED, frames.IS_EXECUTED)
                return
            began = perf_counter()
            _batch.set(batch)
            responses = self._execute(requests)
            seconds = perf_counter() - began
            entries = self._entries(requests, responses)
        except _Refused as refused:
            self._fail(batch, requests, refused.message)
            return
        except BaseException as error:
            message = "Failed to process the request(s) for model '%s', message: %s" % (self.instance, describe(error))
            error = None
            self._fail(batch, requests, message)
            return

        try:
            # Its own references to the inputs are the last but those of the model: with them gone before the message, this can give the block back.
            frame = write_answers(self.channel, batch, entries, seconds, frames.IS_EXECUTED)
        except OutOfSharedMemory as error:
            self._fail(batch, requests, str(error))
            return
        requests.clear()
        responses.clear()
        entries = None
        send_written(self.channel, frame)

    def _execute(self, requests):
        execute = self._execute_of_model
        if execute is None:
            raise self._refuse("Python model %s does not implement `execute` method." % self._path)
        responses = execute(requests)
        if type(responses) is not list and asyncio.iscoroutine(responses):
            self._start_loop()
            responses = asyncio.run_coroutine_threadsafe(_within(_batch.get(), responses), self._loop).result()
        if not isinstance(responses, list):
            raise self._refuse("Expected a list in the execute return, found type '%s'." % type(responses))
        if len(responses) != len(requests):
            raise self._refuse(
                "Number of InferenceResponse objects do not match the number of InferenceRequest objects. InferenceRequest(s) size is:%d, "
                "and InferenceResponse(s) size is:%d\n" % (len(requests), len(responses))
            )
        return responses

    def _entries(self, requests, responses):
        entries = []
        of = 0
        for request, response in zip(requests, responses):
            if type(response) is InferenceResponse and request._reply is None and request._release == RELEASE_ALL:
                entries.append((of, True, False, response, self.outputs if request._record[8] == 0 else wanted_outputs(request)))
            else:
                self._add_entry(entries, of, request, response)
            of += 1
        return entries

    def _add_entry(self, entries, of, request, response):
        if request._release & RELEASE_RESCHEDULE:
            if response is not None:
                raise self._refuse(
                    "Expected a None object in the execute function return list for reschduled request, found type '%s'." % type(response)
                )
            if request._reply is None or request._reply.close():
                entries.append((of, True, True, None, ()))
            return
        if response is None:
            if request._reply is None:
                # Makes one that says, when the model has let go of the request, that nobody can answer it.
                reply_of(request)
            return
        if not isinstance(response, InferenceResponse):
            raise self._refuse("Expected an 'InferenceResponse' object in the execute function return list, found type '%s'." % type(response))
        if request._reply is not None and not request._reply.close():
            raise self._refuse("Unable to send response. Non-decoupled model cannot send more than one response.")
        entries.append((of, True, False, response, wanted_outputs(request)))

    def _run_decoupled(self, job):
        _, _, segment, batch, block, _, offset, length = job
        requests = read_requests(self, batch, self.channel.theirs.region(segment, offset, length, block))
        replies = [reply_of(request) for request in requests]
        _batch.set(batch)
        try:
            execute = self._execute_of_model
            if execute is None:
                raise self._refuse("Python model %s does not implement `execute` method." % self._path)
            result = execute(requests)
            if asyncio.iscoroutine(result):
                self._start_loop()
                asyncio.run_coroutine_threadsafe(self._in_background(batch, result, requests, replies), self._loop)
                requests = replies = None
            else:
                self._end_decoupled(batch, result, requests, replies)
        except BaseException as error:
            self._fail_decoupled(batch, error, replies)
        self.channel.send(frames.pack(frames.EXECUTED, 0, 0, batch, 0, self.channel.pop_freed(), 0, 0))

    async def _in_background(self, batch, result, requests, replies):
        _batch.set(batch)
        try:
            self._end_decoupled(batch, await result, requests, replies)
        except BaseException as error:
            self._fail_decoupled(batch, error, replies)

    def _end_decoupled(self, batch, result, requests, replies):
        if result is not None:
            raise self._refuse(
                "Python model '%s' is using the decoupled mode and the execute function must return None." % self.instance
            )
        rescheduled = [of for of, request in enumerate(requests) if request._release & RELEASE_RESCHEDULE and replies[of].close()]
        if rescheduled:
            self.answer(batch, [(of, True, True, None, ()) for of in rescheduled])

    def _fail_decoupled(self, batch, error, replies):
        if isinstance(error, _Refused):
            message = error.message
        else:
            message = "Failed to process the request(s) for model '%s', message: %s" % (self.instance, describe(error))
        open_ones = [of for of, reply in enumerate(replies) if reply.close()]
        if open_ones:
            send_failure(self.channel, batch, open_ones, message)
        self.channel.send(frames.inline(frames.LOG, message.encode("utf-8", "backslashreplace"), 2))

    def _fail(self, batch, requests, message):
        ofs = [of for of, request in enumerate(requests) if request._reply is None or request._reply.close()]
        del requests[:]
        send_failure(self.channel, batch, ofs, message, flags=frames.IS_EXECUTED)
        self.channel.send(frames.inline(frames.LOG, message.encode("utf-8", "backslashreplace"), 2))

    def _refuse(self, text):
        return _Refused("Failed to process the request(s) for model '%s', message: %s" % (self.instance, text))

    def _is_ready(self):
        try:
            result = self.model.is_ready()
            if asyncio.iscoroutine(result):
                self._start_loop()
                result = asyncio.run_coroutine_threadsafe(result, self._loop).result(_READY_SECONDS)
            return bool(result)
        except BaseException as error:
            message = "is_ready of model instance '%s' failed: %s" % (self.instance, describe(error))
            self.channel.send(frames.inline(frames.LOG, message.encode("utf-8", "backslashreplace"), 2))
            return False

    def _finalize(self):
        self.may_call = False
        if hasattr(self.model, "finalize"):
            try:
                self.model.finalize()
            except BaseException as error:
                message = "finalize of model instance '%s' failed: %s" % (self.instance, describe(error))
                self.channel.send(frames.inline(frames.LOG, message.encode("utf-8", "backslashreplace"), 2))


class _Refused(Exception):
    def __init__(self, message):
        super().__init__(message)
        self.message = message


async def _within(batch, coroutine):
    _batch.set(batch)
    return await coroutine


def load_class(path, version_directory, model_directory):
    """The class TritonPythonModel of the file. It is the module `model` of a package named for the version, so it can import its neighbours."""
    for folder in (version_directory, model_directory):
        if folder not in sys.path:
            sys.path.append(folder)
    version = os.path.basename(version_directory)
    package = types.ModuleType(version)
    package.__path__ = [version_directory]
    sys.modules[version] = package
    name = "%s.%s" % (version, os.path.splitext(os.path.basename(path))[0])
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "TritonPythonModel"):
        raise AttributeError("module '%s' has no attribute 'TritonPythonModel'" % name)
    return module.TritonPythonModel


def complete_config(start):
    """What `auto_complete_config` of the model makes of the config; None where it has none."""
    from .model_config import ModelConfig

    model_class = load_class(start["file"], start["versionDirectory"], start["args"]["model_repository"])
    if not hasattr(model_class, "auto_complete_config"):
        return None
    completed = model_class.auto_complete_config(ModelConfig(start["config"]))
    if not isinstance(completed, ModelConfig):
        raise _Refused(
            "auto_complete_config function in model '%s' must return a valid pb.ModelConfig object." % start["args"]["model_name"]
        )
    return completed._model_config


def main():
    global host
    set_up(_CHANNEL_FD)
    channel = Channel(_CHANNEL_FD)
    host = Host(channel)
    channel.send(frames.pack(frames.ALIVE, 0, 0, 0, 0, 0, 0, 0))
    start = json.loads(channel.next_job()[2])
    try:
        if start["mode"] == "complete":
            result = complete_config(start)
        else:
            host.load(start)
            result = {"checks": hasattr(host.model, "is_ready")}
    except BaseException as error:
        message = error.message if isinstance(error, _Refused) else describe(error)
        channel.send(frames.inline(frames.FAILED, message.encode("utf-8", "backslashreplace")))
    else:
        channel.send(frames.inline(frames.READY, json.dumps(result).encode()))
        host.serve()
    _end()


def _end():
    """Ends without waiting for the threads of the model, which nobody will tell to end."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(0)
