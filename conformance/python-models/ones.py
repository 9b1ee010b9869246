"""A decoupled model: COUNT answers of 1, sent one after the other by the thread that runs `execute`."""

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for _ in range(int(pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy()[0])):
                sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.ones([1], dtype=np.int32))]))
            sender.send(flags=FINAL)
        return None
