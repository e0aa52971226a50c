"""Finding the most important lines of a tool's output: rare lines about errors, and the lines around these.

Words such as "error:" and "FAILED" aren't enough. Expected errors and warnings may occur a thousand times, while the
line that explains the failure mostly occurs once. But hundreds of tests may fail for one reason. Pure.
"""

import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import zip_longest

_WIDTH = 240  # characters that are kept of a very long line
_SEARCHED = 4_000_000  # characters at each end of a larger result
_EXPLAINED = 4  # lines whose neighbors are kept, too
_REPEATED = 2  # of the most frequent groups of lines, one line each is kept
_SHAPE_CHARS = 60  # characters at a line's beginning that make its shape
_HEADING_LINES = 50

# Regular expressions alone are too slow for megabytes. So plain words (in lower case) are searched, and the expression
# next to a word is only tried at its place. The number is the weight of such a line.
_TELLING = (
    ("error", 8, r"(?<=\w)Error\b(?=[:(]|$)|(?<!\w)[Ee]rror(?:\[\w+\]| [A-Z]+\d+)?!?:(?=\s|$)|\bERROR(?![\w-])"
                 r"|(?<=[ \t])error[ \t]{2}|(?<=npm )error|(?<=\[)error(?=\])|^error |\bError \("),
    ("exception", 8, r"(?<=\w)Exception\b(?=[:(]|$)"),
    ("err!", 8, ""),
    ("fail", 8, r"\bFAIL(?:ED|URES?)?\b(?!S?:? +0)|Failed\b|Failure(?=:|/|$| )"),
    ("fatal", 8, r"(?<![\w/.-])(?:fatal|Fatal|FATAL)(?![\w/.=-])"),
    ("panic", 8, r"\b[Pp]anic(?:ked)?(?=: | at )"),
    ("traceback (most", 8, ""),
    ("conflict", 8, r"\bCONFLICT\b"),
    ("caused by:", 8, ""),
    ("*** ", 8, ""),
    ("segmentation fault", 8, ""),
    ("core dumped", 8, ""),
    ("out of memory", 8, ""),
    ("uncaught", 8, ""),
    ("unhandled", 4, ""),
    ("\u25cf", 8, ""), ("\u2715", 8, ""), ("\u2717", 8, ""), ("\u2718", 8, ""), ("\u00d7 ", 8, ""),
    ("e: ", 8, r"(?<!\w)E: "),
    ("data race", 8, ""),
    ("not found", 4, ""),
    ("invalid", 4, r"(?<!\w)[Ii]nvalid(?= )"),
    ("abort", 4, r"\b(?:Aborted|ABORT)"),
    ("no such", 4, ""),
    ("not exist", 4, ""),
    ("cannot ", 4, ""),
    ("can't ", 4, ""),
    ("could not ", 4, ""),
    ("unable to ", 4, ""),
    ("undefined", 4, r"(?<!\w)[Uu]ndefined\b"),
    ("undeclared", 4, r"(?<!\w)undeclared\b"),
    ("unresolved", 4, r"(?<!\w)[Uu]nresolved\b"),
    ("unexpected", 4, r"(?<!\w)[Uu]nexpected\b"),
    ("no rule to", 4, ""),
    ("denied", 4, r"(?<= )denied(?![\w=])"),
    ("refused", 4, r"(?<= )refused(?![\w=])"),
    ("rejected", 4, r"(?<=[ \[])rejected\b"),
    ("timed out", 4, ""),
    ("killed", 4, r"\bKilled\b"),
    ("violat", 4, r"(?<= )violat"),
    ("mismatch", 4, r"(?<!\w)mismatch"),
    (" failed", 4, r" failed(?=[\s,.;)]|: |$)"),
    ("exit", 4, r"\b[Ee]xit(?:ed)?:? (?:with )?(?:code|status):? (?!0\b)"),
    ("\ne  ", 16, r"\nE +[\w.]*(?:Error|Exception|Failed)\b"),
    ("\ne  ", 4, ""),
    ("\n> ", 2, ""),
    ("assert", 2, r"\bassert\b"),
    (" passed", 2, r"(?<=\d) passed\b"),
    ("ran ", 2, r"^Ran \d"),
    ('file "', 2, r'(?:^|(?<=[ \t]))File "[^"\n]*", line \d'),
    ("  at ", 1, r"  at \S"),
)  # fmt: skip
_PROGRAM = re.compile(r'"|\braise |\bexcept |\bthrow ')  # before a word of _TELLING: the line is source code
_DETAIL = re.compile(
    r"^[ \t]*(?:[Ee]xpected|[Aa]ctual|[Rr]eceived|[Gg]ot|[Ww]ant|left|right|HINT|DETAIL|LINE \d+|symbol|location)\b"
    r"|[\w/]\.\w+[:(]\d+|line \d+"
)
_NOT_SHAPE = dict.fromkeys(map(ord, string.ascii_letters + string.digits + " \t_-./"))


def telling_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places (start, end) of the most important lines. Lines with a high weight that are rare come first."""
    groups: dict[tuple[int, str, str], list[tuple[int, int]]] = defaultdict(list)
    for start, (end, weight, stem) in sorted(_candidates(text).items()):
        groups[weight, stem, text[start : min(end, start + _SHAPE_CHARS)].translate(_NOT_SHAPE)].append((start, end))
    ranked = [
        line
        for key in sorted(groups, key=lambda key: len(groups[key]) / key[0])
        for line in _from_both_ends(groups[key])
    ]
    yield from ranked[:_EXPLAINED]
    heaviest = sorted(groups, key=lambda key: -len(groups[key]) * key[0])  # many may fail for one reason
    yield from (groups[key][0] for key in heaviest[:_REPEATED])
    shapes = Counter(
        shape for begin, stop in _searched(text) for shape in text[begin:stop].translate(_NOT_SHAPE).split("\n")
    )
    contexts = (_context(text, line, shapes) for line in ranked[:_EXPLAINED])
    for lines in zip_longest(*contexts):
        yield from filter(None, lines)
    yield from ranked[_EXPLAINED:]


def _from_both_ends(lines: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    half = (len(lines) + 1) // 2
    for pair in zip_longest(lines[:half], reversed(lines[half:])):
        yield from filter(None, pair)


def _context(text: str, line: tuple[int, int], shapes: Counter[str]) -> Iterator[tuple[int, int]]:
    """Yield the line after *line*, uncommon lines near it, and its heading."""
    common = max(3, shapes.total() // 50)
    for start, end in _around(text, *line):
        near = text[start:end]
        most = 5 * common if _DETAIL.search(near) else common
        if start == line[1] + 1 or (shapes[near.translate(_NOT_SHAPE)] <= most and "arning" not in near):
            yield start, end
    if heading := _heading(text, line[0]):
        yield heading


def _around(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the nonempty lines among the ten after the line and the four before it. Stop at a very long line."""
    for _ in range(10):
        after, end = end + 1, text.find("\n", end + 1)
        if end < 0 or end - after > _WIDTH:
            break
        if end > after:
            yield after, end
    for _ in range(4):
        before, start = start - 1, text.rfind("\n", 0, max(start - 1, 0)) + 1
        if not 0 <= before - start < _WIDTH:
            break
        if before > start:
            yield start, before


def _heading(text: str, start: int) -> tuple[int, int] | None:
    """Return the place of the heading of the indented line at *start*, if the heading is near."""
    if text[start : start + 1] not in (" ", "\t"):
        return None
    for _ in range(_HEADING_LINES):
        end, start = start - 1, text.rfind("\n", 0, max(start - 1, 0)) + 1
        if not 0 <= end - start < _WIDTH:
            break
        if text[start : start + 1].strip():
            return start, end
    return None


def _candidates(text: str) -> dict[int, tuple[int, int, str]]:
    """Map the start of each line with a word of _TELLING to the line's end, its weight and the word. In a very long
    line, the characters around the word count as the line."""
    lower = text.lower()
    if len(lower) != len(text):  # lower case can be longer
        lower = text
    lines: dict[int, tuple[int, int, str]] = {}
    for begin, stop in _searched(text):
        for stem, weight, expression in _TELLING:
            pattern = re.compile(expression, re.MULTILINE)  # `re` caches it
            at = lower.find(stem, begin, stop)
            while at >= 0:
                if not (match := pattern.match(text, at)):
                    at = lower.find(stem, at + 1, stop)
                    continue
                first, last = _line_at(text, at + (stem[0] == "\n"))
                weighs = min(weight, 2) if _PROGRAM.search(text, first, at) else weight
                if first not in lines or lines[first][1] < weighs:
                    lines[first] = last, weighs, _whole_word(text, first, at) + (match[0] or stem)
                at = lower.find(stem, max(last, at + 1), stop)
    return lines


def _whole_word(text: str, first: int, at: int) -> str:
    """Return the beginning of an error's name that ends at *at*, such as `FileNotFound` of `FileNotFoundError`."""
    before = text[first:at]
    if not before or not before[-1].isalnum():
        return ""
    word = before.split()[-1]
    return word if before[: -len(word)].rstrip()[-1:] in ("", ":", "E") else ""


def _searched(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places (start, end) of *text* to search: the whole text, or the two ends of a very large text."""
    if len(text) <= 2 * _SEARCHED:
        yield 0, len(text)
    else:
        yield 0, _SEARCHED
        yield len(text) - _SEARCHED, len(text)


def _line_at(text: str, at: int) -> tuple[int, int]:
    """Return the place of the line that contains *at*. Of a very long line, return the part around *at*."""
    nearest = max(at - _WIDTH // 3, 0)
    begin = text.rfind("\n", nearest, at) + 1 or nearest
    end = text.find("\n", at, begin + _WIDTH)
    return begin, min(begin + _WIDTH, len(text)) if end < 0 else end
