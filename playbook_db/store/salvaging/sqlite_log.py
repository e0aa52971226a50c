"""The write-ahead log of an SQLite file, read without SQLite, which stops at the first damaged frame.

A frame's checksum goes on from that of the frame before, as it stands there; so each can be proved by its neighbour,
and those after a damaged one are still known to be good. What was never committed is left out.
"""

import struct
from dataclasses import dataclass

from playbook_db.store.salvaging.sqlite_pages import Pages, page_size_of

_MAGIC, _BIG_ENDIAN_MAGIC = 0x377F0682, 0x377F0683
_HEADER_BYTES, _FRAME_BYTES = 32, 24
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
    if len(data) < 512 and len(log) >= _HEADER_BYTES:
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
    if len(log) < _HEADER_BYTES + step:
        return []
    (magic,) = struct.unpack_from(">I", log)
    order = ">" if magic == _BIG_ENDIAN_MAGIC else "<"
    salt, before = log[16:24], struct.unpack_from(">II", log, 24)
    is_in_line = magic in (_MAGIC, _BIG_ENDIAN_MAGIC) and _checksum(log[:24], (0, 0), order) == before
    if not is_in_line:
        salt = log[_HEADER_BYTES + 8 : _HEADER_BYTES + 16]
    found = []
    for place in range(_HEADER_BYTES, len(log) - step + 1, step):
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
