"""A text as its reader sees it: without colours, and with the signs that JSON wrote as `\\u0022`.

Every rule reads that; what it finds is given back as places in the text itself.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

Secret = tuple[int, int, str]  # where it begins and ends in the text, and its kind
MARKER = re.compile(r"\[masked: [A-Za-z ]{1,30}\]")  # what stands in a secret's place

_ESCAPED = re.compile(
    r"\\{1,8}(?:u00(?P<sign>[2-7][0-9a-fA-F])|(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,12}m)|\x1b\[[0-9;]{0,12}m"
)
_SIGNS = bytes(sign if chr(sign).isalnum() or chr(sign) in "-_.:=" or sign > 127 else 32 for sign in range(256))
_MARKS = ("\\u00", "\x1b[", "\\x1b[", "\\033[", "\\e[")


def word_of(literal: str) -> str:
    """The longest part of *literal* that is in `Unescaped.words` as it is here, with the space behind a whole word."""
    return max(re.findall(r"[^ ]+ ?", literal.encode().translate(_SIGNS).decode()), key=len, default="")


def places_of(literal: str, text: str) -> Iterator[int]:
    """Where *literal* is in *text*."""
    at = text.find(literal)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1)


class Unescaped:
    """*raw* as it is read: `text`; and `words`, each of its words once, to ask what is in it at all."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._parts: list[str] = []
        self._shown: list[int] = []  # where each part begins in the text that is read,
        self._begins: list[int] = []  # where in the text itself,
        self._ends: list[int] = []  # and where it ends there
        if any(mark in raw for mark in _MARKS):
            self._read()
        self.text = "".join(self._parts) if self._parts else raw

    @cached_property
    def words(self) -> str:
        """Each word once: what `word_of` makes of a literal is in it if the literal is in the text."""
        text = self.text.encode("utf-8", "surrogatepass").replace(b"\\n", b" ")
        return " ".join(["", *set(text.translate(_SIGNS).decode("utf-8", "surrogatepass").split(" ")), ""])

    def _read(self) -> None:
        size = at = 0
        for escape in [*_ESCAPED.finditer(self.raw), None]:
            start, end = escape.span() if escape else (len(self.raw), len(self.raw))
            sign = chr(int(escape["sign"], 16)) if escape and escape["sign"] else ""
            for part, begin, stop in (
                (self.raw[at:start], at, start),
                ("\\" + sign if sign == '"' else sign, start, end),
            ):
                if part:
                    self._parts.append(part)
                    self._shown.append(size)
                    self._begins.append(begin)
                    self._ends.append(stop)
                    size += len(part)
            at = end

    def in_raw(self, secrets: Iterable[Secret]) -> Iterator[Secret]:
        """*secrets* of the text as places in the raw one."""
        if not self._parts:
            yield from secrets
            return
        parts, shown, begins, ends = self._parts, self._shown, self._begins, self._ends
        for start, end, kind in secrets:
            first, last = bisect_right(shown, start) - 1, bisect_left(shown, end) - 1
            is_whole = ends[last] - begins[last] != len(parts[last]) or end - shown[last] == len(parts[last])
            yield (
                begins[first] + (start - shown[first] if len(parts[first]) == ends[first] - begins[first] else 0),
                ends[last] if is_whole else begins[last] + end - shown[last],
                kind,
            )
