import traceback


class TritonModelException(Exception):
    """What the library and models raise."""


class TritonError:
    """An error as an answer: a message for the client and one of the codes below."""

    __slots__ = ("_message", "_code")

    UNKNOWN = 0
    INTERNAL = 1
    NOT_FOUND = 2
    INVALID_ARG = 3
    UNAVAILABLE = 4
    UNSUPPORTED = 5
    ALREADY_EXISTS = 6
    CANCELLED = 7

    def __init__(self, message, code=INTERNAL):
        if not isinstance(message, str):
            raise TypeError("an error's message must be a string, not %s" % type(message).__name__)
        if not isinstance(code, int) or not 0 <= code <= 7:
            raise TypeError("%r is not a code of TritonError" % (code,))
        self._message = message
        self._code = int(code)

    def code(self):
        return self._code

    def message(self):
        return self._message


def describe(error):
    """`Type: text` and where it was raised, the innermost frame first."""
    if isinstance(error, SyntaxError):
        return "SyntaxError: %s" % error
    lines = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith(_OWN):
            lines.append("  %s(%d): %s\n" % (name, line, frame.f_code.co_name))
    text = "%s: %s" % (type(error).__name__, error)
    return text + "\n\nAt:\n" + "".join(reversed(lines)) if lines else text


# The frames of this package tell a model's author nothing.
_OWN = __file__[: __file__.rindex("errors.py")]
