"""Tells in its output which requests ran together, in which execution, and what the model saw of its own request.

Inputs are those of the config. WAIT, where there is one, is how many milliseconds the execution takes: the largest of its requests'.
The request parameter `fail` asks for an error of that request ("response"), of the execution ("raise"), for too few answers ("short"), or the end of the process ("exit").
"""

import json
import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils


def plain(tensor):
    values = tensor.as_numpy().flatten().tolist()
    return [value.decode() if isinstance(value, bytes) else value for value in values]


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        sequence = config.get("sequence_batching", {})
        self.controls = [control["name"] for control in sequence.get("control_input", [])]
        self.batches = config["max_batch_size"] > 0
        self.instance = args["model_instance_name"]
        self.execution = 0
        self.history = []
        # The first answer of a process takes long: better before the requests.
        pb_utils.InferenceResponse([pb_utils.Tensor("REPORT", np.full([1], b"{}", dtype=object))])

    def member(self, request, inputs):
        """What tells one request of the execution from the others; a row that only fills up has no id."""
        controls = {name: inputs[name] for name in self.controls if name in inputs}
        return {"id": request.request_id(), **controls}

    def execute(self, requests):
        execution = self.execution
        self.execution += 1
        inputs = [{tensor.name(): plain(tensor) for tensor in request.inputs()} for request in requests]
        parameters = [json.loads(request.parameters() or "{}") for request in requests]
        together = [self.member(*pair) for pair in zip(requests, inputs)]
        waits = [seen.get("WAIT", [0]) for request, seen in zip(requests, inputs) if request.request_id() != ""]
        time.sleep(max([wait[0] for wait in waits if wait] + [0]) / 1000)
        self.history.append(inputs)

        faults = [given.get("fail") for given in parameters]
        if "exit" in faults:
            os._exit(3)
        if "raise" in faults:
            raise ValueError("asked to raise")
        responses = []
        for request, seen, given, fault in zip(requests, inputs, parameters, faults):
            if fault == "response":
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError("asked to fail")))
                continue
            shape = request.inputs()[0].shape()
            report = {
                "execution": execution,
                "instance": self.instance,
                "together": together,
                "seen": {name: values for name, values in seen.items() if name != "WAIT"},
                "parameters": given,
                "correlation": request.correlation_id(),
                "flags": request.flags(),
                "timeout": request.timeout(),
            }
            if given.get("history"):
                report["history"] = self.history[:-1]
            text = json.dumps(report).encode()
            rows = [shape[0], 1] if self.batches else [1]
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("REPORT", np.full(rows, text, dtype=object))]))
        return responses[1:] if "short" in faults else responses
