import asyncio
import json

import triton_python_backend_utils as pb_utils

PREFIX = "model_for_"


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.targets = {
            key[len(PREFIX) :]: value["string_value"] for key, value in parameters.items() if key.startswith(PREFIX)
        }

    async def execute(self, requests):
        return await asyncio.gather(*(self.answer(request) for request in requests))

    async def answer(self, request):
        language = pb_utils.get_input_tensor_by_name(request, "LANGUAGE").as_numpy()[0].decode()
        target = self.targets.get(language)
        if target is None:
            message = f"expected LANGUAGE to be one of {', '.join(self.targets)}; got '{language}'"
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, pb_utils.TritonError.INVALID_ARG))
        call = pb_utils.InferenceRequest(
            model_name=target,
            requested_output_names=["GREETING"],
            inputs=[pb_utils.get_input_tensor_by_name(request, "NAME")],
            request_id=request.request_id(),
        )
        # It is cancelled when the caller of this request goes.
        answer = await call.async_exec()
        if answer.has_error():
            message = f"no greeting from '{target}': {answer.error().message()}"
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, answer.error().code()))
        return pb_utils.InferenceResponse([pb_utils.get_output_tensor_by_name(answer, "GREETING")])
