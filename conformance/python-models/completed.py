"""Completes its config as the parameters of the config say (JSON): `rows`, `batching`, `inputs`, `outputs`, `decoupled`."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        parameters = config.as_dict().get("parameters", {})
        asked = json.loads(parameters.get("complete", {"string_value": "{}"})["string_value"])
        for tensor in asked.get("inputs", []):
            config.add_input(tensor)
        for tensor in asked.get("outputs", []):
            config.add_output(tensor)
        if "rows" in asked:
            config.set_max_batch_size(asked["rows"])
        if asked.get("batching"):
            config.set_dynamic_batching()
        if "decoupled" in asked:
            config.set_model_transaction_policy(asked["decoupled"])
        return config if asked.get("returns", True) else None

    def initialize(self, args):
        self.args = {key: value for key, value in args.items() if key not in ("model_config", "model_repository")}
        self.config = json.loads(args["model_config"])

    def execute(self, requests):
        report = {"args": self.args, "config": self.config}
        text = np.array([json.dumps(report).encode()], dtype=object)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("REPORT", text)]) for _ in requests]
