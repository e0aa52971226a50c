"""Reading a file of JSON lines by byte offsets, even if the file is damaged or still grows."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

LINE_LIMIT = 64 << 20  # bytes; a longer line is skipped
_SKIPPED_AT_ONCE = 1 << 20
_NOTHING = "\ufeff \t\r\n"  # a mark at the file's beginning, and white space


def raw_lines(file: BinaryIO, start: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield start, end and bytes of each whole line from the byte *start* on. A line over LINE_LIMIT has no bytes. A
    last line without a newline is whole if it is a JSON object."""
    file.seek(start)
    while raw := file.readline(LINE_LIMIT):
        end, last = start + len(raw), raw
        if len(raw) < LINE_LIMIT and not raw.endswith(b"\n"):
            if parse(raw):
                yield start, end, raw
            return
        while not last.endswith(b"\n"):
            raw, last = b"", file.readline(_SKIPPED_AT_ONCE)
            if not last:
                return
            end += len(last)
        yield start, end, raw
        start = end


def parse(raw: bytes) -> dict[str, Any] | None:
    """Parse the JSON object in a line. Return `{}` for a blank line, and None for anything else."""
    text = raw.decode("utf-8", "replace").strip(_NOTHING)
    if not text:
        return {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
