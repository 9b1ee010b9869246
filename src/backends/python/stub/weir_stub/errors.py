import traceback


class TritonModelException(Exception):
    """What the library and models raise."""


class Refused(Exception):
    """What the model has done cannot be taken: the text says all, and where in this package it was found tells nobody anything."""

    def __init__(self, message):
        super().__init__(message)
        self.message = message


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


# Longer texts about errors, and longer lines of the log, are cut.
_LONGEST = 1 << 16
# Of a deep recursion, the innermost.
_MOST_FRAMES = 50


def shortened(text):
    return text if len(text) <= _LONGEST else "%s... (%d characters more)" % (text[:_LONGEST], len(text) - _LONGEST)


def utf8(text):
    """Half a surrogate pair, which UTF-8 does not have, as it is written in Python."""
    return text.encode("utf-8", "backslashreplace")


def describe(error):
    """`Type: text` and where it was raised, the innermost frame first. Never raises."""
    try:
        said = shortened(str(error))
    except BaseException as other:
        said = "its text raises %s" % type(other).__name__
    if isinstance(error, SyntaxError):
        return "SyntaxError: %s" % said
    lines = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if not name.startswith(_OWN):
            lines.append("  %s(%d): %s\n" % (name, line, frame.f_code.co_name))
    text = "%s: %s" % (type(error).__name__, said)
    return text + "\n\nAt:\n" + "".join(reversed(lines[-_MOST_FRAMES:])) if lines else text


# The frames of this package tell a model's author nothing.
_OWN = __file__[: __file__.rindex("errors.py")]
