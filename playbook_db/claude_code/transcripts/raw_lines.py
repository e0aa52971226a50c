"""Reading a file of JSON lines by byte offsets, even if the file is damaged or still grows."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

LINE_LIMIT = 64 << 20  # bytes; a longer line is skipped
_SKIPPED_AT_ONCE = 1 << 20
_MOST_TRIED = 1_000  # places in a damaged line where a record may begin
_BEGINNING = re.compile(r'\{"(?:parentUuid|type)"')
_NOTHING = "\ufeff \t\r\n"  # a mark at the file's beginning, and white space
_END = re.compile(r"[\ufeff\s]*(?:\Z|[{\0])")  # of a record, in a damaged line
_DECODER = json.JSONDecoder()


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


def records(raw: bytes) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the records of a line, each with its size in bytes. Of a damaged line, yield the whole records, and None
    for the bytes between them. An object within a cut record is none: a record follows another one, or ends where the
    line or the next record does."""
    whole = parse(raw) if raw else None
    if whole is not None:
        yield len(raw), whole
        return
    text, done = raw.decode("utf-8", "surrogateescape"), 0
    for match in islice(_BEGINNING.finditer(text), _MOST_TRIED):
        start = match.start()
        if start < done:
            continue
        try:
            content, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        lost = text[done:start]
        if not isinstance(content.get("type"), str) or not (not lost.strip(_NOTHING) or _END.match(text, end)):
            continue
        if lost.strip(_NOTHING):
            yield _size(lost), None
            lost = ""
        yield _size(lost + text[start:end]), content
        done = end
    if done < len(text):
        yield _size(text[done:]), None if text[done:].strip(_NOTHING) else {}


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))
