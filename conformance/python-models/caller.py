"""Calls other models as its input PLAN says (JSON), and tells in REPORT what came back.

A plan is {"calls": [...], "how": "sync" | "together"}. Of each call: `model`, `inputs` (name to {"datatype", "shape", "values"}), `outputs`,
`decoupled`, and what `InferenceRequest` takes besides: `request_id`, `correlation_id`, `flags`, `timeout`, `parameters`, `model_version`.
"""

import asyncio
import json

import numpy as np
import triton_python_backend_utils as pb_utils

OPTIONS = ("request_id", "correlation_id", "flags", "timeout", "parameters", "model_version")


def plain(tensor):
    values = tensor.as_numpy().flatten().tolist()
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def tell(response):
    if response.has_error():
        return {"error": response.error().message(), "code": int(response.error().code())}
    outputs = {}
    for tensor in response.output_tensors():
        values = plain(tensor)
        outputs[tensor.name()] = json.loads(values[0]) if tensor.name() == "REPORT" else values
    return outputs


def make(call):
    inputs = [
        pb_utils.Tensor(name, np.array(given["values"], dtype=given["datatype"]).reshape(given["shape"]))
        for name, given in call["inputs"].items()
    ]
    options = {key: call[key] for key in OPTIONS if key in call}
    return pb_utils.InferenceRequest(inputs=inputs, requested_output_names=call["outputs"], model_name=call["model"], **options)


def run(call):
    try:
        request = make(call)
        if call.get("decoupled"):
            return [tell(response) for response in request.exec(decoupled=True)]
        return tell(request.exec())
    except Exception as error:
        return {"raised": type(error).__name__, "message": str(error)}


async def run_async(call):
    try:
        request = make(call)
        if call.get("decoupled"):
            return [tell(response) for response in await request.async_exec(decoupled=True)]
        return tell(await request.async_exec())
    except Exception as error:
        return {"raised": type(error).__name__, "message": str(error)}


class TritonPythonModel:
    async def together(self, calls):
        return await asyncio.gather(*[run_async(call) for call in calls])

    def execute(self, requests):
        responses = []
        for request in requests:
            plan = json.loads(pb_utils.get_input_tensor_by_name(request, "PLAN").as_numpy().flatten()[0].decode())
            if plan["how"] == "together":
                results = asyncio.run(self.together(plan["calls"]))
            else:
                results = [run(call) for call in plan["calls"]]
            report = np.array([json.dumps({"results": results}).encode()], dtype=object)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("REPORT", report)]))
        return responses
