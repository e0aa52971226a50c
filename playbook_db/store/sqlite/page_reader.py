"""The pages of an SQLite file and the rows in them, read without SQLite, which gives up where a page is damaged.

Nothing that the bytes say is believed: whatever points out of its page, or in a circle, is passed over. The format
is that of https://sqlite.org/fileformat2.html; as in all our files, text is UTF-8 and no bytes of a page are reserved.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAGIC = b"SQLite format 3\0"
INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE = 0x02, 0x05, 0x0A, 0x0D
_INTERIOR = (INTERIOR_INDEX, INTERIOR_TABLE)
_KINDS = (*_INTERIOR, LEAF_INDEX, LEAF_TABLE)
_PAGE_SIZES = tuple(1 << power for power in range(9, 17))
_INT_SIZES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}  # bytes, by serial type
_HEADER_BYTES = 100
_MOST_COLUMNS = 64
_MOST_PAGES = 1 << 24  # more than any of our files has

Value = int | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """A row, or an entry of an index: `rowid` is None in an index and in a table that has no such."""

    rowid: int | None
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a file, counted from 1, with what its write-ahead log holds worked in.

    `older` are the copies that newer ones took the place of.
    """

    page_size: int
    data: bytes
    newer: dict[int, bytes] = field(default_factory=dict)
    older: Sequence[tuple[int, bytes]] = ()

    @property
    def count(self) -> int:
        """How many pages there are; one that is cut off counts."""
        return max(-(-len(self.data) // self.page_size), *self.newer, 0)

    @property
    def missing(self) -> int:
        """How many pages there should be more, as the file itself says."""
        first = self.page(1)
        said = _u32(first, 28) if first.startswith(MAGIC) else 0
        return max(0, said - self.count) if said < _MOST_PAGES else 0

    def page(self, number: int) -> bytes:
        """The bytes of a page; of one that isn't there, or cut off, zeros."""
        found = self.newer.get(number)
        if found is None:
            found = self.data[(number - 1) * self.page_size : number * self.page_size] if number > 0 else b""
        return found if len(found) == self.page_size else found.ljust(self.page_size, b"\0")

    def tree(self, root: int) -> Iterator[int]:
        """The numbers of the pages of the tree that begins at *root*, as far as they can be followed."""
        waiting, seen = [root], set()
        while waiting:
            number = waiting.pop()
            if number in seen or not 1 <= number <= self.count:
                continue
            seen.add(number)
            page = self.page(number)
            start = _start(number)
            if page[start] in _INTERIOR:
                waiting += [_u32(page, at) for at in _cell_places(page, start) if at + 4 <= self.page_size]
                waiting.append(_u32(page, start + 8))
            yield number

    def records(self, number: int, page: bytes | None = None) -> Iterator[Record]:
        """What can be read of the rows of a page, or of *page*, an older copy of it; nothing where it holds none."""
        page = self.page(number) if page is None else page
        start = _start(number)
        kind = page[start]
        if kind in (LEAF_TABLE, LEAF_INDEX, INTERIOR_INDEX):
            for place in _cell_places(page, start):
                record = self._record(page, place, kind)
                if record is not None:
                    yield record

    def said_rows(self, number: int) -> int | None:
        """How many rows the page says to hold; None where it is none that could."""
        page, start = self.page(number), _start(number)
        if page[start] not in _KINDS:
            return None
        return 0 if page[start] == INTERIOR_TABLE else len(_cell_places(page, start))

    def kind(self, number: int, page: bytes | None = None) -> int:
        """What sort of page it says to be."""
        return (self.page(number) if page is None else page)[_start(number)]

    def _record(self, page: bytes, place: int, kind: int) -> Record | None:
        try:
            place += 4 if kind == INTERIOR_INDEX else 0
            size, place = _varint(page, place)
            rowid = None
            if kind == LEAF_TABLE:
                rowid, place = _varint(page, place)
            payload = self._payload(page, place, size, kind == LEAF_TABLE)
            return Record(rowid, _values(payload))
        except (IndexError, ValueError, struct.error):
            return None

    def _payload(self, page: bytes, place: int, size: int, in_table: bool) -> bytes:
        """The *size* bytes of a cell that begin at *place*, with those that have flowed over to other pages."""
        room = self.page_size
        if not 0 < size <= room * (self.count + 1):
            raise ValueError("no such size")
        here = _bytes_here(size, room, in_table)
        if place + here + (4 if here < size else 0) > room:
            raise ValueError("it reaches out of the page")
        parts, left = [page[place : place + here]], size - here
        following, seen = (_u32(page, place + here) if left else 0), set()
        while left > 0:
            if following in seen or not 1 <= following <= self.count:
                raise ValueError("the chain is broken")
            seen.add(following)
            more = self.page(following)
            parts.append(more[4 : 4 + min(left, room - 4)])
            left -= room - 4
            following = _u32(more, 0)
        return b"".join(parts)


def page_size_of(data: bytes) -> int:
    """The size of the pages in *data*: what its header says where that is likely, else what most of it looks like."""
    (said,) = struct.unpack(">H", data[16:18]) if len(data) >= _HEADER_BYTES else (0,)
    said = 65536 if said == 1 else said
    found = {size: _bytes_in_pages(data, size) for size in _PAGE_SIZES}
    if data.startswith(MAGIC) and found.get(said, -1) * 2 >= max(found.values()):
        return said
    return max(_PAGE_SIZES, key=lambda size: (found[size], -size))


def _bytes_in_pages(data: bytes, size: int) -> int:
    """How much of *data* looks like pages of *size* with rows in them, in bytes: rows fill a page from its end."""
    total = 0
    for number in range(1, len(data) // size + 1):
        page = data[(number - 1) * size : number * size]
        start = _start(number)
        places = _cell_places(page, start) if page[start] in _KINDS else []
        if places and size // 2 < max(places) < size:
            total += size
    return total


def _start(number: int) -> int:
    return _HEADER_BYTES if number == 1 else 0


def _cell_places(page: bytes, start: int) -> list[int]:
    """Where in the page its cells begin, each once and in order, as far as that makes sense."""
    first = start + (12 if page[start] in _INTERIOR else 8)
    (count,) = struct.unpack_from(">H", page, start + 3)
    count = min(count, (len(page) - first) // 2)
    places = struct.unpack_from(f">{count}H", page, first)
    return [place for place in dict.fromkeys(places) if first <= place < len(page)]


def _bytes_here(size: int, room: int, in_table: bool) -> int:
    """How many of a cell's *size* bytes are on its own page of *room* bytes."""
    most = room - 35 if in_table else (room - 12) * 64 // 255 - 23
    if size <= most:
        return size
    least = (room - 12) * 32 // 255 - 23
    filled = least + (size - least) % (room - 4)
    return filled if filled <= most else least


def _values(payload: bytes) -> tuple[Value, ...]:
    """The values of a record. Raises ValueError where the bytes are none."""
    header_size, place = _varint(payload, 0)
    types = []
    while place < header_size:
        kind, place = _varint(payload, place)
        types.append(kind)
    if place != header_size or not 0 < len(types) <= _MOST_COLUMNS:
        raise ValueError("no header of a record")
    values: list[Value] = []
    for kind in types:
        size = _size(kind)
        if place + size > len(payload):
            raise ValueError("it reaches out of the record")
        values.append(_value(kind, payload[place : place + size]))
        place += size
    if place != len(payload):
        raise ValueError("the record is longer than its values")
    return tuple(values)


def _size(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind not in _INT_SIZES:
        raise ValueError("no such type")
    return _INT_SIZES[kind]


def _value(kind: int, raw: bytes) -> Value:
    if kind >= 12:
        return raw.decode("utf-8", "replace") if kind % 2 else raw
    if kind == 0:
        return None
    if kind == 7:
        (number,) = struct.unpack(">d", raw)
        return float(number)
    return kind - 8 if kind >= 8 else int.from_bytes(raw, "big", signed=True)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """The number at *place*, and the place after it."""
    value = 0
    for turn in range(9):
        byte = data[place]
        place += 1
        if turn == 8:
            value = value << 8 | byte
            break
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return (value - (1 << 64) if value >= 1 << 63 else value), place


def _u32(data: bytes, place: int) -> int:
    (number,) = struct.unpack_from(">I", data, place)
    return int(number)


# The write-ahead log of an SQLite file, read without SQLite, which stops at the first damaged frame.
#
# A frame's checksum goes on from that of the frame before, as it stands there; so each can be proved by its neighbour,
# and those after a damaged one are still known to be good. What was never committed is left out.


_MAGIC, _BIG_ENDIAN_MAGIC = 0x377F0682, 0x377F0683
_LOG_HEADER_BYTES, _FRAME_BYTES = 32, 24
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Frame:
    number: int
    page: bytes
    is_commit: bool
    is_in_line: bool  # all before it are good: SQLite reads it too


@dataclass(frozen=True, slots=True)
class Opened:
    """The pages of a database with its log worked in; `passed_over` is whether that holds commits which SQLite doesn't
    get to see, since a frame before them is damaged."""

    pages: Pages
    passed_over: bool


def open_pages(data: bytes, log: bytes = b"") -> Opened:
    """The pages in *data*, the bytes of a database file, with *log*, those of its write-ahead log, worked in."""
    size = page_size_of(data)
    if len(data) < 512 and len(log) >= _LOG_HEADER_BYTES:
        (size,) = struct.unpack_from(">I", log, 8)
    frames = _committed(_frames(log, size))
    newer: dict[int, bytes] = {}
    older: list[tuple[int, bytes]] = []
    passed_over = any(not frame.is_in_line for frame in frames)
    for frame in frames:
        # A row may have moved to a page whose newer copy is the damaged one; else older copies hold nothing more.
        if passed_over:
            older.append((frame.number, newer.get(frame.number) or Pages(size, data).page(frame.number)))
        newer[frame.number] = frame.page
    return Opened(Pages(size, data, newer, tuple(older)), passed_over)


def _committed(frames: list[_Frame]) -> list[_Frame]:
    last = max((place for place, frame in enumerate(frames) if frame.is_commit), default=-1)
    return frames[: last + 1]


def _frames(log: bytes, page_size: int) -> list[_Frame]:
    """The good frames of the log's present round, in order. Those of earlier rounds carry another salt."""
    step = _FRAME_BYTES + page_size
    if len(log) < _LOG_HEADER_BYTES + step:
        return []
    (magic,) = struct.unpack_from(">I", log)
    order = ">" if magic == _BIG_ENDIAN_MAGIC else "<"
    salt, before = log[16:24], struct.unpack_from(">II", log, 24)
    is_in_line = magic in (_MAGIC, _BIG_ENDIAN_MAGIC) and _checksum(log[:24], (0, 0), order) == before
    if not is_in_line:
        salt = log[_LOG_HEADER_BYTES + 8 : _LOG_HEADER_BYTES + 16]
    found = []
    for place in range(_LOG_HEADER_BYTES, len(log) - step + 1, step):
        number, size_after = struct.unpack_from(">II", log, place)
        page = log[place + _FRAME_BYTES : place + step]
        said = struct.unpack_from(">II", log, place + 16)
        is_ours = log[place + 8 : place + 16] == salt
        is_good = is_ours and number > 0 and _checksum(log[place : place + 8] + page, before, order) == said
        is_in_line = is_in_line and is_good
        if is_good:
            found.append(_Frame(number, page, size_after > 0, is_in_line))
        before = said
    return found


def _checksum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    one, two = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for place in range(0, len(words), 2):
        one = (one + words[place] + two) & _MASK
        two = (two + words[place + 1] + one) & _MASK
    return one, two
