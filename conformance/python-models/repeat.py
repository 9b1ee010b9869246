"""A decoupled model: COUNT answers, WAIT milliseconds apart, OUT counting from 0; each request in a thread of its own.

The request parameter `final` puts the final flag on the last answer ("last") instead of behind it; `fail_at` makes that answer an error.
"""

import json
import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def initialize(self, args):
        self.batches = json.loads(args["model_config"])["max_batch_size"] > 0
        self.threads = []

    def answer(self, number):
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.full([1, 1] if self.batches else [1], number, dtype=np.int32))])

    def send(self, sender, count, wait, parameters):
        for number in range(count):
            time.sleep(wait / 1000)
            is_last = number == count - 1 and parameters.get("final") == "last"
            if parameters.get("fail_at") == number:
                answer = pb_utils.InferenceResponse(error=pb_utils.TritonError(f"answer {number} fails"))
            else:
                answer = self.answer(number)
            sender.send(answer, FINAL if is_last else 0)
        if count == 0 or parameters.get("final") != "last":
            sender.send(flags=FINAL)

    def execute(self, requests):
        for request in requests:
            count = int(pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy().flatten()[0])
            wait = int(pb_utils.get_input_tensor_by_name(request, "WAIT").as_numpy().flatten()[0])
            parameters = json.loads(request.parameters() or "{}")
            thread = threading.Thread(target=self.send, args=(request.get_response_sender(), count, wait, parameters))
            thread.start()
            self.threads.append(thread)
        return None

    def finalize(self):
        for thread in self.threads:
            thread.join()
