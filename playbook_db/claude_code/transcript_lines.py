"""A transcript's lines by their byte offsets, one at a time, however long one of them is.

Of a line longer than LINE_LIMIT the long strings are shortened while it is read, so that what kind of line it is, and
how each of its strings begins and ends, is known all the same.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

LINE_LIMIT = 4 << 20  # bytes; longer lines are shortened
_CHUNK = 256 << 10
_KEPT = 256 << 10  # bytes of a long string that are kept at each of its ends

_STRING_BODY = re.compile(rb'(?s)(?:[^"\\]++|\\.)*+')
_WHOLE_ESCAPES = re.compile(rb'(?s)(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+')
# No escape is open where a backslash follows another byte, nor after six bytes without one: the longest has five.
_OUTSIDE_ESCAPES = re.compile(rb"[^\\](?=\\)|[^\\]{6}")


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line: where it stands, its JSON object (None where it is none), the bytes of it that were not kept."""

    start: int
    end: int
    content: dict[str, Any] | None
    left_out_bytes: int = 0


def read_lines(path: str, start: int = 0) -> Iterator[Line]:
    """The lines from byte *start* on. A last line without its newline is still being written and is not read.

    Raises OSError where the file can't be read. Nothing comes where it ends before *start*.
    """
    with open(path, "rb") as file:
        file.seek(start)
        while raw := file.readline(LINE_LIMIT):
            size, left_out = len(raw), 0
            if not raw.endswith(b"\n"):
                long = _LongLine(raw)
                if not long.read_rest(file):
                    return
                size, raw, left_out = long.size, long.shortened(), long.left_out
            yield Line(start, start + size, parse(raw.decode("utf-8", "replace")), left_out)
            start += size


def parse(text: str) -> dict[str, Any] | None:
    """The JSON object in *text*; an empty one for a blank line, None for anything else."""
    if not text.strip():
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


class _LongLine:
    """A line of JSON whose long strings lose their middle while it is read."""

    def __init__(self, beginning: bytes) -> None:
        self.size = 0
        self.left_out = 0
        self._beginning = beginning
        self._out = bytearray()
        self._is_endless = False
        self._string: _LongString | None = None
        self._carry = b""  # the backslash of an escape whose rest comes with the next chunk

    def read_rest(self, file: BinaryIO) -> bool:
        """Read *file* to the end of the line; whether there is one."""
        chunk = self._beginning
        self._beginning = b""
        while chunk:
            self.size += len(chunk)
            self._take(self._carry + chunk)
            if chunk.endswith(b"\n"):
                return True
            chunk = file.readline(_CHUNK)
        return False

    def shortened(self) -> bytes:
        """The line as JSON; nothing that could be parsed where it is too long even so."""
        if self._is_endless:
            self.left_out = self.size
            return b"endless"
        return bytes(self._out)

    def _take(self, data: bytes) -> None:
        at = 0
        self._carry = b""
        while at < len(data) and not self._is_endless:
            if self._string is None:
                quote = data.find(b'"', at) + 1
                self._keep(data[at : quote or None])
                at = quote or len(data)
                self._string = _LongString() if quote else None
                continue
            body = _STRING_BODY.match(data, at)
            end = body.end() if body else at
            self._string.add(data[at:end])
            at = end
            if data[at : at + 1] == b'"':
                self._keep(self._string.shortened() + b'"')
                self.left_out += self._string.left_out
                self._string = None
                at += 1
            else:
                self._carry = data[at:]
                at = len(data)

    def _keep(self, part: bytes) -> None:
        if len(self._out) + len(part) > LINE_LIMIT:  # a list without end, not a long text
            self._is_endless = True
        else:
            self._out += part


class _LongString:
    """The two ends of a string in JSON, and how much stood between them."""

    def __init__(self) -> None:
        self.left_out = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, part: bytes) -> None:
        room = _KEPT - len(self._head)
        self._head += part[:room]
        self._tail += part[room:]
        if len(self._tail) > 2 * _KEPT:
            self._drop(len(self._tail) - _KEPT)

    def shortened(self) -> bytes:
        """What is kept, cut so that no escape is halved, with a word about what was between."""
        if not self.left_out:
            return bytes(self._head + self._tail)
        whole = _WHOLE_ESCAPES.match(self._head)
        head = self._head[: whole.end()] if whole else self._head
        self.left_out += len(self._head) - len(head)
        clean = _OUTSIDE_ESCAPES.search(self._tail)
        self._drop(clean.end() if clean else len(self._tail))
        return bytes(head) + rb"\n[... %d bytes left out ...]\n" % self.left_out + bytes(self._tail)

    def _drop(self, count: int) -> None:
        self.left_out += count
        del self._tail[:count]
