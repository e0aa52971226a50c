"""A text as its reader sees it: without colours, and with the signs that JSON wrote as `\\u0022`.

Every rule reads that; what it finds is given back as places in the text itself.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

Secret = tuple[int, int, str]  # where it begins and ends in the text, and its kind

_ESCAPED = re.compile(r"\\{1,8}u00(?P<sign>[2-7][0-9a-fA-F])|(?:\x1b|\\{1,8}(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,12}m")
_MARKS = ("\\u00", "\x1b[", "\\x1b[", "\\033[", "\\e[")


def as_read(rule: Callable[[str], Iterable[Secret]], text: str) -> Iterator[Secret]:
    """What *rule* finds in *text* as it is read."""
    if not any(mark in text for mark in _MARKS):
        yield from rule(text)
        return
    parts: list[str] = []
    shown: list[int] = []  # where each part begins in the text that is read,
    begins: list[int] = []  # where in the text itself,
    ends: list[int] = []  # and where it ends there
    size = at = 0
    for escape in [*_ESCAPED.finditer(text), None]:
        start, end = escape.span() if escape else (len(text), len(text))
        sign = chr(int(escape["sign"], 16)) if escape and escape["sign"] else ""
        for part, begin, stop in (text[at:start], at, start), ("\\" + sign if sign == '"' else sign, start, end):
            if part:
                parts.append(part)
                shown.append(size)
                begins.append(begin)
                ends.append(stop)
                size += len(part)
        at = end
    for start, end, kind in rule("".join(parts)):
        first, last = bisect_right(shown, start) - 1, bisect_left(shown, end) - 1
        is_whole = ends[last] - begins[last] != len(parts[last]) or end - shown[last] == len(parts[last])
        yield (
            begins[first] + (start - shown[first] if len(parts[first]) == ends[first] - begins[first] else 0),
            ends[last] if is_whole else begins[last] + end - shown[last],
            kind,
        )
