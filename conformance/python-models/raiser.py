"""Raises where the parameter `where` of its config says: "import", "initialize", "finalize", or "execute"."""

import json
import pathlib

import triton_python_backend_utils as pb_utils

if "import" in pathlib.Path(__file__).parent.parent.name:
    raise ImportError("asked to raise at import")


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.where = parameters.get("where", {}).get("string_value", "")
        if self.where == "initialize":
            raise pb_utils.TritonModelException("asked to raise in initialize")

    def execute(self, requests):
        raise RuntimeError("asked to raise in execute")
