"""An iterative sequence: a request for COUNT steps is rescheduled until they have run. A decoupled model answers at each step, others at the last."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
RESCHEDULE = pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.is_decoupled = pb_utils.using_decoupled_model_transaction_policy(config)
        self.batches = config["max_batch_size"] > 0
        self.steps = {}
        self.execution = 0

    def answer(self, report):
        text = np.full([1, 1] if self.batches else [1], json.dumps(report).encode(), dtype=object)
        return pb_utils.InferenceResponse([pb_utils.Tensor("REPORT", text)])

    def execute(self, requests):
        execution = self.execution
        self.execution += 1
        together = [request.request_id() for request in requests]
        responses = []
        for request in requests:
            id = request.request_id()
            step = self.steps.get(id, 0)
            count = int(pb_utils.get_input_tensor_by_name(request, "COUNT").as_numpy().flatten()[0])
            start = pb_utils.get_input_tensor_by_name(request, "START")
            is_last = step + 1 >= count
            report = {
                "execution": execution,
                "together": together,
                "step": step,
                "flags": request.flags(),
                "start": [] if start is None else start.as_numpy().flatten().tolist(),
            }
            self.steps[id] = step + 1
            if not is_last:
                request.set_release_flags(RESCHEDULE)
            if self.is_decoupled:
                sender = request.get_response_sender()
                sender.send(self.answer(report), FINAL if is_last else 0)
            else:
                responses.append(self.answer(report) if is_last else None)
        return None if self.is_decoupled else responses
