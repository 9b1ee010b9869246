"""Runs a model's code: batch after batch, and what is asked of it between them."""

import asyncio
import contextvars
import inspect
import threading
from time import perf_counter

from . import frames
from .answers import message_of, send_answers, send_failure, write_sound
from .errors import Refused, TritonError, describe
from .memory import OutOfSharedMemory
from .process import leave_fork
from .requests import RELEASE_ALL, RELEASE_RESCHEDULE, read_requests, reply_of, wanted_outputs
from .response import InferenceResponse

# The batch that the code belongs to which runs; 0 for none.
batch_of_context = contextvars.ContextVar("weir_batch", default=0)

_READY_SECONDS = 5


class Runner:
    def __init__(self, host, path):
        self._host = host
        self._channel = host.channel
        self._path = path
        self._loop = None
        self._execute = getattr(host.model, "execute", None)
        if inspect.iscoroutinefunction(self._execute):
            self._start_loop()

    def _start_loop(self):
        self._channel.need_reader()
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run_loop, name="weir-loop", daemon=True).start()

    def _run_loop(self):
        while True:
            try:
                self._loop.run_forever()
            except (SystemExit, KeyboardInterrupt):
                # One coroutine has raised it, and fails of it. The others go on.
                pass

    def _call_execute(self, requests):
        if self._execute is None:
            raise self._refuse("Python model %s does not implement `execute` method." % self._path)
        try:
            result = self._execute(requests)
        except BaseException as error:
            if self._channel.is_cut:
                leave_fork(error)
            raise
        if self._channel.is_cut:
            leave_fork(None)
        return result

    # Models that give one answer

    def run(self, job):
        _, _, segment, batch, block, _, offset, length = job
        # The last array of the region that goes gives the block back.
        region = self._channel.theirs.region(segment, offset, length, block)
        requests = read_requests(self._host, batch, region)
        try:
            if requests[0].is_cancelled() and all(request.is_cancelled() for request in requests):
                send_failure(self._channel, batch, range(len(requests)), "", TritonError.CANCELLED, frames.IS_EXECUTED)
                return
            began = perf_counter()
            batch_of_context.set(batch)
            responses = self._responses(requests)
            seconds = perf_counter() - began
            entries = self._entries(requests, responses)
        except BaseException as error:
            message = self._failure(error)
            error = None
            self._fail(batch, requests, message)
            return

        try:
            written = write_sound(self._channel, batch, entries, seconds, frames.IS_EXECUTED, region)
        except OutOfSharedMemory as error:
            self._fail(batch, requests, str(error))
            return
        except Exception as error:
            self._fail(batch, requests, self._failure(error))
            return
        # With these references gone the last ones are those of the model.
        region = None
        self._channel.send_last(lambda freed: message_of(written, freed), requests, responses, entries)

    def _responses(self, requests):
        responses = self._call_execute(requests)
        if type(responses) is not list and asyncio.iscoroutine(responses):
            self._start_loop()
            responses = asyncio.run_coroutine_threadsafe(_within(batch_of_context.get(), responses), self._loop).result()
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
        outputs = self._host.outputs
        of = 0
        for request, response in zip(requests, responses):
            if type(response) is InferenceResponse and request._reply is None and request._release == RELEASE_ALL:
                entries.append((of, True, False, response, outputs if request._record[8] == 0 else wanted_outputs(request)))
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

    def _fail(self, batch, requests, message):
        ofs = [of for of, request in enumerate(requests) if request._reply is None or request._reply.close()]
        del requests[:]
        send_failure(self._channel, batch, ofs, message, flags=frames.IS_EXECUTED)
        self._host.log(message, 2)

    # Decoupled models

    def run_decoupled(self, job):
        _, _, segment, batch, block, _, offset, length = job
        requests = read_requests(self._host, batch, self._channel.theirs.region(segment, offset, length, block))
        replies = [reply_of(request) for request in requests]
        batch_of_context.set(batch)
        try:
            result = self._call_execute(requests)
            if asyncio.iscoroutine(result):
                self._start_loop()
                asyncio.run_coroutine_threadsafe(self._in_background(batch, result, requests, replies), self._loop)
                requests = replies = None
            else:
                self._end_decoupled(batch, result, requests, replies)
        except BaseException as error:
            self._fail_decoupled(batch, error, replies)
        self._channel.send(frames.pack(frames.EXECUTED, 0, 0, batch, 0, self._channel.pop_freed(), 0, 0))

    async def _in_background(self, batch, result, requests, replies):
        batch_of_context.set(batch)
        try:
            self._end_decoupled(batch, await result, requests, replies)
        except BaseException as error:
            self._fail_decoupled(batch, error, replies)

    def _end_decoupled(self, batch, result, requests, replies):
        if result is not None:
            raise self._refuse(
                "Python model '%s' is using the decoupled mode and the execute function must return None." % self._host.instance
            )
        rescheduled = [of for of, request in enumerate(requests) if request._release & RELEASE_RESCHEDULE and replies[of].close()]
        if not rescheduled:
            return
        try:
            send_answers(self._channel, batch, [(of, True, True, None, ()) for of in rescheduled], 0.0)
        except OutOfSharedMemory as error:
            for of in rescheduled:
                self._host.end_request(batch, of, str(error))

    def _fail_decoupled(self, batch, error, replies):
        message = self._failure(error)
        open_ones = [of for of, reply in enumerate(replies) if reply.close()]
        if open_ones:
            send_failure(self._channel, batch, open_ones, message)
        self._host.log(message, 2)

    # Beside batches

    def is_ready(self):
        """What the model says of itself."""
        try:
            result = self._host.model.is_ready()
            if asyncio.iscoroutine(result):
                self._start_loop()
                result = asyncio.run_coroutine_threadsafe(result, self._loop).result(_READY_SECONDS)
            return bool(result)
        except BaseException as error:
            self._host.log("is_ready of model instance '%s' failed: %s" % (self._host.instance, describe(error)), 2)
            return False

    def finalize(self):
        model = self._host.model
        if not hasattr(model, "finalize"):
            return
        try:
            model.finalize()
        except BaseException as error:
            self._host.log("finalize of model instance '%s' failed: %s" % (self._host.instance, describe(error)), 2)

    # What goes wrong

    def _failure(self, error):
        if isinstance(error, Refused):
            return error.message
        return "Failed to process the request(s) for model '%s', message: %s" % (self._host.instance, describe(error))

    def _refuse(self, text):
        return Refused("Failed to process the request(s) for model '%s', message: %s" % (self._host.instance, text))


async def _within(batch, coroutine):
    batch_of_context.set(batch)
    return await coroutine
