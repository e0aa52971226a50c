"""Decoding escapes in a text, so that rules can find secrets: `\\u0022` becomes a quote, color codes are dropped.

The places of the secrets are then mapped back to the raw text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Generic, TypeVar

from playbook_db.domain.redaction.regexes import regex

Secret = tuple[int, int, str]  # the start, the end and the kind of a secret
_Payload = TypeVar("_Payload")
MARKER = regex(r"\[masked: [A-Za-z ]{1,30}\]")  # replaces a secret

_ESCAPED = regex(
    r"\\(?:\\{0,7})(?:u(?P<sign>00[2-7][0-9a-fA-F]|0[1-9a-fA-F][0-9a-fA-F]{2}|[1-9abAB][0-9a-fA-F]{3})"
    r"|(?:u001[bB]|x1[bB]|033|e)\[[0-9;]{0,12}m)|\x1b\[[0-9;]{0,12}m|\[[0-9;]{1,12}m|&(?P<entity>lt|gt|quot|amp|apos|#39|#34);"
    # The separators of a URL or form that is encoded in a parameter of another URL.
    r"|%(?P<part>3[dD]|22|26(?=[\w.-]{1,40}%3[dD])|3[aA](?=%2[fF]%2[fF]|%22|[^\s%&/]{1,64}%40)"
    r"|2[fF](?:(?<=%3[aA]%2[fF])|(?<=%3[aA]%2[fF]%2[fF]))|40(?=\w)|3[fF](?=[\w.-]{1,40}%3[dD]))"
)
# Quotes, commas and colons of other languages, and ASCII text of the same length for each.
_FOREIGN_SIGNS = (
    *((quote, '"') for quote in "„“”«»「」『』"),
    *zip("，、。；：（）＝", ",,;;:()=", strict=True),
    *((" — ", " : "), (" – ", " : ")),
)
_SIGNS = bytes(sign if chr(sign).isalnum() or chr(sign) in "-_.:=" or sign > 127 else 32 for sign in range(256))
_ENTITIES = {"lt": "<", "gt": ">", "quot": '"', "amp": "&", "apos": "'", "#39": "'", "#34": '"'}


class Anchored(Generic[_Payload]):
    """An index that quickly finds which literals a text contains. A row is a literal and a payload."""

    def __init__(self, rows: Iterable[tuple[str, _Payload]]) -> None:
        self.rows = list(rows)

    @cached_property
    def _keys(self) -> list[str]:
        """The longest word of each literal. Most texts lack it."""
        literals = (literal.encode().translate(_SIGNS).decode() for literal, _ in self.rows)
        return [max(literal.split(), key=len, default="") for literal in literals]

    def in_text(self, unescaped: "Unescaped") -> Iterator[tuple[str, list[int], _Payload]]:
        """Yield each literal in *unescaped*, with its places and its payload. An empty literal has no places."""
        for key, (literal, payload) in zip(self._keys, self.rows, strict=True):
            if key in unescaped.words:
                places = list(places_of(literal, unescaped.text)) if literal else []
                if places or not literal:
                    yield literal, places, payload


def places_of(literal: str, text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the index of each *literal* in *text* between *start* and *end*."""
    at = text.find(literal, start, end)
    while at >= 0:
        yield at
        at = text.find(literal, at + 1, end)


class Unescaped:
    """A *raw* text, and the same `text` without escapes. `words` tells quickly which literals it can't contain."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self._parts: list[str] = []
        self._shown: list[int] = []  # the start of each part in `text`
        self._begins: list[int] = []  # the start of each part in the raw text
        self._ends: list[int] = []  # the end of each part in the raw text
        escapes = list(_ESCAPED.finditer(raw))
        if escapes:
            self._read(escapes)
        self.text = "".join(self._parts) if self._parts else raw
        if not self.text.isascii():
            for foreign, sign in _FOREIGN_SIGNS:
                self.text = self.text.replace(foreign, sign)

    @cached_property
    def words(self) -> str:
        """The words of the text, each once."""
        text = self.text.encode("utf-8", "surrogatepass").replace(b"\\n", b" ")
        return b" ".join([b"", *set(text.translate(_SIGNS).split()), b""]).decode("utf-8", "surrogatepass")

    def _read(self, escapes: list[re.Match[str]]) -> None:
        size = at = 0
        for escape in [*escapes, None]:
            start, end = escape.span() if escape else (len(self.raw), len(self.raw))
            groups = escape.groupdict() if escape else {}
            code, entity = groups.get("sign") or groups.get("part"), groups.get("entity")
            sign = chr(int(code, 16)) if code else _ENTITIES[entity] if entity else ""
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
        """Yield *secrets*, whose places are in `text`, with their places in the raw text."""
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
