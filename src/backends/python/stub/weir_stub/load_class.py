"""The model's own code."""

import importlib.util
import os
import sys
import types

from .errors import Refused
from .model_config import ModelConfig


def load_class(path, version_directory, model_directory):
    """The class TritonPythonModel of the file. It is the module `model` of a package named for the version, so it can import its neighbours."""
    for folder in (version_directory, model_directory):
        if folder not in sys.path:
            sys.path.append(folder)
    version = os.path.basename(version_directory)
    package = types.ModuleType(version)
    package.__path__ = [version_directory]
    sys.modules[version] = package
    # A dot of the file's name would be a package of it.
    name = "%s.%s" % (version, os.path.splitext(os.path.basename(path))[0].replace(".", "_"))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "TritonPythonModel"):
        raise AttributeError("module '%s' has no attribute 'TritonPythonModel'" % name)
    return module.TritonPythonModel


def complete_config(start):
    """What `auto_complete_config` of the model makes of the config; None where it has none."""
    model_class = load_class(start["file"], start["versionDirectory"], start["args"]["model_repository"])
    if not hasattr(model_class, "auto_complete_config"):
        return None
    completed = model_class.auto_complete_config(ModelConfig(start["config"]))
    if not isinstance(completed, ModelConfig):
        raise Refused(
            "auto_complete_config function in model '%s' must return a valid pb.ModelConfig object." % start["args"]["model_name"]
        )
    return completed._model_config
