import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.word = json.loads(args["model_config"])["parameters"]["word"]["string_value"]

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        name = pb_utils.get_input_tensor_by_name(request, "NAME").as_numpy()[0].decode()
        if not name:
            error = pb_utils.TritonError("expected NAME to be somebody", pb_utils.TritonError.INVALID_ARG)
            return pb_utils.InferenceResponse(error=error)
        greeting = np.array([f"{self.word}, {name}!"], dtype=np.object_)
        return pb_utils.InferenceResponse([pb_utils.Tensor("GREETING", greeting)])
