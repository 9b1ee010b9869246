"""Memory that server and process share: segments of either side, and blocks in them."""

import mmap
import os
import threading
from collections import deque

import numpy as np

_FOLDER = "/dev/shm/"
_WINDOW = 1024
_SMALLEST = 512
_LARGEST_STEP = 64 << 20
_MUCH = 16 << 20
_PATIENCE_SECONDS = 0.1


class OutOfSharedMemory(Exception):
    pass


class TheirSegment:
    """Memory that the server has made."""

    __slots__ = ("ident", "map", "address", "freed")

    def __init__(self, ident, shared, freed):
        self.ident = ident
        self.map = shared
        self.address = np.frombuffer(shared, np.uint8, 1).__array_interface__["data"][0]
        self.freed = freed


class Region(np.ndarray):
    """A block of the server's as bytes. Arrays of it keep it alive; when the last one is gone the server may use the block again."""

    __slots__ = ("segment", "start", "block")

    def __del__(self):
        self.segment.freed.append(self.block)


class Theirs:
    """Segments that the server has made."""

    __slots__ = ("segments", "freed")

    def __init__(self):
        self.segments = {}
        # Blocks that nothing here reads any more; the server is told with the next message.
        self.freed = deque()

    def map(self, ident, name, size):
        fd = os.open(_FOLDER + name, os.O_RDWR)
        try:
            shared = mmap.mmap(fd, size)
        finally:
            os.close(fd)
            os.unlink(_FOLDER + name)
        self.segments[ident] = TheirSegment(ident, shared, self.freed)

    def drop(self, ident):
        # Arrays that a model still has keep the memory.
        self.segments.pop(ident, None)

    def region(self, segment, offset, length, block):
        segment = self.segments[segment]
        region = _new_region(Region, (length,), _bytes, segment.map, offset)
        region.segment = segment
        region.start = offset
        region.block = block
        return region


_bytes = np.dtype(np.uint8)
_new_region = np.ndarray.__new__


class Block:
    __slots__ = ("ident", "segment", "offset", "size", "is_free", "room")

    def __init__(self, ident, segment, offset, size):
        self.ident = ident
        self.segment = segment
        self.offset = offset
        self.size = size
        self.is_free = False
        # Of the request whose answer lies in it, where that is counted.
        self.room = None


class Segment:
    __slots__ = ("ident", "map", "size", "end", "used", "takes")

    def __init__(self, ident, shared, size):
        self.ident = ident
        self.map = shared
        self.size = size
        # Blocks lie below, nothing above.
        self.end = 0
        self.used = 0
        self.takes = 0


def size_class(size):
    """The size rounded up, at most by a quarter."""
    if size <= _SMALLEST:
        return _SMALLEST
    step = 1 << ((size - 1).bit_length() - 3)
    return (size + step - 1) // step * step


class Ours:
    """Blocks in segments of our own. `take` lends one until the server frees it. Segments that nobody used for a while are given back."""

    __slots__ = ("prefix", "first", "growth", "announce", "segments", "blocks", "unused", "free", "lock", "takes", "made", "names", "make_room", "lent")

    def __init__(self, prefix, first, growth, announce, make_room):
        self.prefix = prefix
        self.first = first
        self.growth = growth
        self.announce = announce
        self.make_room = make_room
        self.segments = []
        # By ident; None where a segment with the block has gone.
        self.blocks = [None]
        self.unused = []
        self.free = {}
        self.lock = threading.Lock()
        # Bytes of all blocks that are lent.
        self.lent = 0
        self.takes = 0
        self.made = 0
        self.names = []

    def prepare(self):
        """Makes the first segment."""
        if not self.segments:
            self._make(self.first)

    def take(self, size):
        if size > _SMALLEST:
            size = size_class(size)
        else:
            size = _SMALLEST
        with self.lock:
            block = self._lend(size)
        if block is None:
            # What the server has read by now may be enough; with much lent already, what it reads in a moment: so a model that gives answers faster
            # than the server takes them waits for it.
            self.make_room(_PATIENCE_SECONDS if self._size() > _MUCH else 0)
            with self.lock:
                block = self._lend(size)
                if block is None:
                    self._grow(size)
                    block = self._lend(size)
        return block

    def _lend(self, size):
        self.takes += 1
        if self.takes >= _WINDOW:
            self._give_back()
        free = self.free.get(size)
        if free:
            block = free.pop()
        else:
            segment = self._segment_for(size)
            if segment is None:
                return None
            block = self._carve(segment, size)
        block.is_free = False
        segment = block.segment
        segment.used += 1
        segment.takes += 1
        self.lent += size
        return block

    def _size(self):
        return sum(segment.size for segment in self.segments)

    def give(self, ident):
        with self.lock:
            block = self.blocks[ident]
            if block is None or block.is_free:
                return
            block.is_free = True
            block.segment.used -= 1
            self.lent -= block.size
            room = block.room
            block.room = None
            self.free.setdefault(block.size, []).append(block)
        if room is not None:
            room.empty(block.size)

    def _segment_for(self, size):
        # Always a small one first, which stays: so a large answer is never what everything after it lies beside.
        self.prepare()
        for segment in self.segments:
            if segment.size - segment.end >= size:
                return segment
        for segment in self.segments:
            if segment.used == 0 and segment.size >= size:
                self._forget_blocks(segment)
                segment.end = 0
                return segment
        return None

    def _grow(self, size):
        try:
            self._make(max(self.first, size, min(self._size(), _LARGEST_STEP)))
        except OutOfSharedMemory:
            self._make(size)

    def _carve(self, segment, size):
        ident = self.unused.pop() if self.unused else len(self.blocks)
        block = Block(ident, segment, segment.end, size)
        if ident == len(self.blocks):
            self.blocks.append(block)
        else:
            self.blocks[ident] = block
        segment.end += size
        return block

    def _make(self, size):
        size = (size + self.growth - 1) // self.growth * self.growth
        self.made += 1
        name = "%s%d" % (self.prefix, self.made)
        shared = None
        fd = os.open(_FOLDER + name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            # Writing to memory that the system cannot give would end the process; asking for it fails.
            os.posix_fallocate(fd, 0, size)
            shared = mmap.mmap(fd, size)
        except OSError as error:
            raise OutOfSharedMemory("unable to get %d bytes of shared memory: %s" % (size, error.strerror)) from None
        finally:
            os.close(fd)
            if shared is None:
                os.unlink(_FOLDER + name)
        idents = {segment.ident for segment in self.segments}
        segment = Segment(next(n for n in range(len(idents) + 1) if n not in idents), shared, size)
        self.segments.append(segment)
        self.names.append(name)
        self.announce(segment.ident, name, size)
        return segment

    def _forget_blocks(self, segment):
        for size, blocks in self.free.items():
            gone = [block for block in blocks if block.segment is segment]
            if gone:
                self.free[size] = [block for block in blocks if block.segment is not segment]
                for block in gone:
                    self.blocks[block.ident] = None
                    self.unused.append(block.ident)

    def _give_back(self):
        self.takes = 0
        for segment in self.segments[1:]:
            if segment.used == 0 and segment.takes == 0:
                self._forget_blocks(segment)
                self.segments.remove(segment)
                self.announce(segment.ident, None, 0)
        for segment in self.segments:
            segment.takes = 0

    def unlink_all(self):
        """Names that the server may not have seen."""
        for name in self.names[-2:]:
            try:
                os.unlink(_FOLDER + name)
            except OSError:
                pass
