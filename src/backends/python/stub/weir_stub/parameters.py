"""Parameters of requests and responses, as a JSON object: what models read, and what the server parses."""

import json

from .errors import TritonModelException


def to_json(parameters):
    """The text of a dict of bool, int and str values; '' for none."""
    if not parameters:
        if parameters is None or isinstance(parameters, dict):
            return ""
    if not isinstance(parameters, dict):
        raise TritonModelException("Expect a dict of parameters, found type %s" % type(parameters))
    for key, value in parameters.items():
        if not isinstance(key, str):
            raise TritonModelException("Expect parameters keys to have type str, found type %s" % type(key))
        if not isinstance(value, (bool, int, str)):
            raise TritonModelException("Expect parameters values to have type bool/int/str, found type %s" % type(value))
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise TritonModelException("parameter '%s' is %d, which 64 bits do not hold" % (key, value))
    return json.dumps(parameters, ensure_ascii=False, separators=(",", ":"))
