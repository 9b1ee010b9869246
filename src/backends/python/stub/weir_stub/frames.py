"""Messages between server and process, 32 bytes each; src/backends/python/frames.ts is the other half.

kind, flags, segment, id, block, freed, offset, length. With the flag INLINE, `length` bytes of payload follow. `freed` names a block of
the receiver that the sender no longer reads; 0 for none.
"""

import struct

FRAME = struct.Struct("<BBHIIIQQ")
SIZE = FRAME.size
pack = FRAME.pack

# From the server.
START = 1
SEGMENT = 2
DROP = 3
BATCH = 4
CALL_ANSWER = 5
FREE = 6
STOP = 7
CHECK = 8
REPLY = 9

# From the process; SEGMENT, DROP and FREE go both ways.
ALIVE = 32
READY = 33
FAILED = 34
ANSWERS = 37
EXECUTED = 38
CALL = 39
CANCEL_CALL = 40
TAKEN = 41
LOG = 42
ASK = 43
METRIC = 44
CHECKED = 45
ABANDONED = 46

INLINE = 0x80
IS_LAST = 1
IS_ERROR = 2
IS_DECOUPLED = 1
HAS_FAILED = 1
IS_EXECUTED = 1


def inline(kind, payload, flags=0, ident=0, segment=0):
    return pack(kind, flags | INLINE, segment, ident, 0, 0, 0, len(payload)) + payload
