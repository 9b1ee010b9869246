"""A step of an ensemble. Every output is the sum of the inputs, plus the parameter `add` of the config, after `wait_ms`.

The request parameter `fail` that names the model makes it fail; an output that the config's parameter `leave_out` names is not given.
"""

import json
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        parameters = {key: value["string_value"] for key, value in config.get("parameters", {}).items()}
        self.name = args["model_name"]
        self.add = int(parameters.get("add", "0"))
        self.wait_ms = int(parameters.get("wait_ms", "0"))
        self.outputs = [output["name"] for output in config["output"] if output["name"] != parameters.get("leave_out")]

    def execute(self, requests):
        time.sleep(self.wait_ms / 1000)
        responses = []
        for request in requests:
            if json.loads(request.parameters() or "{}").get("fail") == self.name:
                error = pb_utils.TritonError(f"{self.name} was asked to fail", pb_utils.TritonError.INVALID_ARG)
                responses.append(pb_utils.InferenceResponse(error=error))
                continue
            total = sum(tensor.as_numpy() for tensor in request.inputs()) + self.add
            outputs = [pb_utils.Tensor(name, total.astype(np.int32)) for name in self.outputs]
            responses.append(pb_utils.InferenceResponse(outputs))
        return responses
