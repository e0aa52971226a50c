"""Read the pages and rows of an SQLite file without SQLite, which stops at a damaged page.

No byte is trusted: a reference that leaves its page, or leads in a circle, is skipped.
https://sqlite.org/fileformat2.html describes the format. In our files text is UTF-8, and pages have no reserved bytes.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

MAGIC = b"SQLite format 3\0"
INTERIOR_INDEX, INTERIOR_TABLE, LEAF_INDEX, LEAF_TABLE = 0x02, 0x05, 0x0A, 0x0D
_INTERIOR = (INTERIOR_INDEX, INTERIOR_TABLE)
_PAGE_SIZES, _USUAL_PAGE_SIZE = {2**n for n in range(9, 17)}, 4096
_INTEGER_BYTES = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}  # by serial type
_HEADER_BYTES = 100
_MAX_COLUMNS = 64
# Places in the file's header: the size of pages, the number of pages and of free pages, our schema.
_PAGE_SIZE_PLACE, _PAGE_COUNTS_PLACE, SCHEMA_PLACE = slice(16, 18), slice(28, 40), slice(60, 64)

_LOG_MAGIC, _LOG_MAGIC_BIG_ENDIAN = 0x377F0682, 0x377F0683
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_UINT32_MAX = 0xFFFFFFFF

Value = int | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table, or an entry of an index. `rowid` is None in an index and in a table without rowids."""

    rowid: int | None
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of a file after the commits in its write-ahead log. Pages are numbered from 1.

    `newer` are the copies of pages in the log, and `older` are the pages that they replaced. `log_is_damaged` means
    that some commits follow a damaged frame. SQLite stops at such a frame.
    """

    page_size: int
    data: bytes
    newer: dict[int, bytes] = field(default_factory=dict)
    older: Sequence[tuple[int, bytes]] = ()
    log_is_damaged: bool = False

    @property
    def count(self) -> int:
        """The number of pages. An incomplete last page counts."""
        return max(-(-len(self.data) // self.page_size), *self.newer, 0)

    def page(self, number: int) -> bytes:
        """Return the bytes of the page *number*. Missing bytes are zeros."""
        page = self.newer.get(number)
        if page is None:
            page = self.data[(number - 1) * self.page_size : number * self.page_size] if number > 0 else b""
        return page if len(page) == self.page_size else page.ljust(self.page_size, b"\0")

    def kind(self, number: int, page: bytes | None = None) -> int:
        """Return the kind of the page *number*. Pass *page* to use an older copy of the page."""
        return (self.page(number) if page is None else page)[_start(number)]

    def tree(self, root: int) -> Iterator[int]:
        """Yield the numbers of all pages that can be reached from the page *root* of a tree."""
        waiting, visited = [root], set()
        while waiting:
            number = waiting.pop()
            if number in visited or not 1 <= number <= self.count:
                continue
            visited.add(number)
            page = self.page(number)
            start = _start(number)
            if page[start] in _INTERIOR:
                waiting += [_u32(page, at) for at in _cell_places(page, start) if at + 4 <= self.page_size]
                waiting.append(_u32(page, start + 8))
            yield number

    def records(self, number: int, page: bytes | None = None) -> Iterator[Record]:
        """Yield the readable rows of the page *number*. Pass *page* to use an older copy of the page."""
        page = self.page(number) if page is None else page
        start = _start(number)
        kind = page[start]
        if kind in (LEAF_TABLE, LEAF_INDEX, INTERIOR_INDEX):
            for place in _cell_places(page, start):
                with suppress(LookupError, ValueError, struct.error):
                    yield self._record(page, place, kind)

    def with_header_of(self, sound: bytes) -> bytes:
        """Return the bytes of the file, but with the header of the undamaged file *sound*. Keep the file's own schema
        if that is readable. With this header SQLite counts the pages itself, and treats no page as free."""
        own = self.page(1)
        header = bytearray(sound[:_HEADER_BYTES])
        header[_PAGE_SIZE_PLACE] = struct.pack(">H", self.page_size & 0xFFFF or 1)
        header[_PAGE_COUNTS_PLACE] = bytes(12)
        if own.startswith(MAGIC):
            header[SCHEMA_PLACE] = own[SCHEMA_PLACE]
        return bytes(header) + own[_HEADER_BYTES:] + b"".join(map(self.page, range(2, self.count + 1)))

    def _record(self, page: bytes, place: int, kind: int) -> Record:
        place += 4 if kind == INTERIOR_INDEX else 0
        size, place = _varint(page, place)
        rowid = None
        if kind == LEAF_TABLE:
            rowid, place = _varint(page, place)
        return Record(rowid, _values(self._payload(page, place, size, kind == LEAF_TABLE)))

    def _payload(self, page: bytes, place: int, size: int, in_table: bool) -> bytes:
        """Return the *size* bytes of the cell at *place*, including the bytes on overflow pages."""
        if not 0 < size <= self.page_size * (self.count + 1):
            raise ValueError("the size is impossible")
        local = _local_bytes(size, self.page_size, in_table)
        if place + local + (4 if local < size else 0) > self.page_size:
            raise ValueError("the cell reaches beyond its page")
        parts, missing = [page[place : place + local]], size - local
        following, visited = (_u32(page, place + local) if missing else 0), set()
        while missing > 0:
            if following in visited or not 1 <= following <= self.count:
                raise ValueError("the chain of overflow pages is broken")
            visited.add(following)
            more = self.page(following)
            parts.append(more[4 : 4 + min(missing, self.page_size - 4)])
            missing -= self.page_size - 4
            following = _u32(more, 0)
        return b"".join(parts)


def open_file(path: str) -> Pages:
    """Read the database file *path* and its log. Return the pages."""
    with open(path, "rb") as file:
        data = file.read()
    log = b""
    with suppress(FileNotFoundError), open(f"{path}-wal", "rb") as file:
        log = file.read()
    return open_pages(data, log)


def open_pages(data: bytes, log: bytes = b"") -> Pages:
    """Return the pages in *data*, the bytes of a database file. Apply the commits in *log*, the bytes of its log."""
    size = page_size_of(data)
    frames = _frames(log, size)
    last_commit = max((place for place, frame in enumerate(frames) if frame.is_commit), default=-1)
    del frames[last_commit + 1 :]
    log_is_damaged = any(not frame.is_in_line for frame in frames)
    in_file = Pages(size, data)
    newer: dict[int, bytes] = {}
    older: list[tuple[int, bytes]] = []
    for frame in frames:
        # Older copies are needed only after damage, when a row may be missing from the newer ones.
        if log_is_damaged:
            older.append((frame.number, newer.get(frame.number) or in_file.page(frame.number)))
        newer[frame.number] = frame.page
    return Pages(size, data, newer, tuple(older), log_is_damaged)


def page_size_of(data: bytes) -> int:
    """Return the page size that the header of *data* states, or SQLite's usual size if the header is damaged."""
    if len(data) < _HEADER_BYTES:
        return _USUAL_PAGE_SIZE
    (stated,), count = struct.unpack(">H", data[_PAGE_SIZE_PLACE]), _u32(data, _PAGE_COUNTS_PLACE.start)
    stated = 65536 if stated == 1 else stated
    is_sound = data.startswith(MAGIC) and stated in _PAGE_SIZES and stated * count == len(data)
    return stated if is_sound else _USUAL_PAGE_SIZE


def _start(number: int) -> int:
    return _HEADER_BYTES if number == 1 else 0


def _cell_places(page: bytes, start: int) -> list[int]:
    """Return the places of the page's cells, in their order. Leave out duplicates and impossible places."""
    first = start + (12 if page[start] in _INTERIOR else 8)
    (count,) = struct.unpack_from(">H", page, start + 3)
    count = min(count, (len(page) - first) // 2)
    places = struct.unpack_from(f">{count}H", page, first)
    return [place for place in dict.fromkeys(places) if first <= place < len(page)]


def _local_bytes(size: int, page_size: int, in_table: bool) -> int:
    """Return how many of a cell's *size* bytes are on the cell's own page. The others are on overflow pages."""
    most = page_size - 35 if in_table else (page_size - 12) * 64 // 255 - 23
    if size <= most:
        return size
    least = (page_size - 12) * 32 // 255 - 23
    filled = least + (size - least) % (page_size - 4)
    return filled if filled <= most else least


def _values(payload: bytes) -> tuple[Value, ...]:
    """Return the values of the record in *payload*. Raises ValueError or LookupError if the bytes aren't a record."""
    header_size, place = _varint(payload, 0)
    types = []
    while place < header_size:
        kind, place = _varint(payload, place)
        types.append(kind)
    if place != header_size or not 0 < len(types) <= _MAX_COLUMNS:
        raise ValueError("the record has no valid header")
    values: list[Value] = []
    for kind in types:
        size = (kind - 12) // 2 if kind >= 12 else _INTEGER_BYTES[kind]
        if place + size > len(payload):
            raise ValueError("a value reaches beyond its record")
        values.append(_value(kind, payload[place : place + size]))
        place += size
    if place != len(payload):
        raise ValueError("the record has bytes after its last value")
    return tuple(values)


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
    """Read the integer at *place*, of 1 to 9 bytes. Return the integer and the place after it."""
    value = 0
    for byte in data[place : place + 8]:
        value, place = value << 7 | byte & 0x7F, place + 1
        if byte < 0x80:
            return value, place
    value = value << 8 | data[place]
    return value - (1 << 64) if value >= 1 << 63 else value, place + 1


def _u32(data: bytes, place: int) -> int:
    (number,) = struct.unpack_from(">I", data, place)
    return int(number)


# The write-ahead log. SQLite stops at the first damaged frame. Each frame's checksum continues the checksum that the
# previous frame states. So each frame can be checked against its neighbor, even after a damaged frame.


@dataclass(frozen=True, slots=True)
class _Frame:
    number: int
    page: bytes
    is_commit: bool
    is_in_line: bool  # no damaged frame precedes it: SQLite reads it, too


def _frames(log: bytes, page_size: int) -> list[_Frame]:
    """Return the undamaged frames of the log, in order. Frames from before the log's last restart have another salt."""
    step = _FRAME_HEADER_BYTES + page_size
    if len(log) < _LOG_HEADER_BYTES + step:
        return []
    magic = _u32(log, 0)
    order = ">" if magic == _LOG_MAGIC_BIG_ENDIAN else "<"
    salt, before = log[16:24], struct.unpack_from(">II", log, 24)
    is_in_line = magic in (_LOG_MAGIC, _LOG_MAGIC_BIG_ENDIAN) and _checksum(log[:24], (0, 0), order) == before
    if not is_in_line:
        salt = log[_LOG_HEADER_BYTES + 8 : _LOG_HEADER_BYTES + 16]
    frames = []
    for place in range(_LOG_HEADER_BYTES, len(log) - step + 1, step):
        number, size_after = struct.unpack_from(">II", log, place)
        page = log[place + _FRAME_HEADER_BYTES : place + step]
        stated = struct.unpack_from(">II", log, place + 16)
        is_present = log[place + 8 : place + 16] == salt
        is_good = is_present and number > 0 and _checksum(log[place : place + 8] + page, before, order) == stated
        is_in_line = is_in_line and is_good
        if is_good:
            frames.append(_Frame(number, page, size_after > 0, is_in_line))
        before = stated
    return frames


def _checksum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    one, two = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for place in range(0, len(words), 2):
        one = (one + words[place] + two) & _UINT32_MAX
        two = (two + words[place + 1] + one) & _UINT32_MAX
    return one, two
