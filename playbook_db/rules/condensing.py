"""What was said and done in a session, shortened for a reader with little room.

Pure and deterministic. What is cut is cut in the middle, and says how many characters were left out. Of a tool's result
the evidence of what worked stays first: exit codes, errors, tracebacks, summaries of tests.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

# Characters. Words are generous: what the user asked for and what the assistant concluded is what is learnt from.
WORDS_LIMIT = 20_000
THINKING_LIMIT = 6_000
CALL_LIMIT = 800
RESULT_LIMIT = 2_000
ERROR_LIMIT = 4_000
NO_OUTPUT = "(no output)"

_LIMITS = {"text": WORDS_LIMIT, "thinking": THINKING_LIMIT, "call": CALL_LIMIT, "result": RESULT_LIMIT}
_MARK = len("\n[... 1000000000 characters left out ...]\n")
_SEARCHED = 500_000  # characters at each end of a result that are searched for evidence
_EVIDENCE_WIDTH = 240
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")

# A regular expression alone is too slow for megabytes; plain words find the lines, the expression then judges them.
_VERDICT_WORDS = (
    "Error", "Exception", "ERROR", "FATAL", "FAIL", "error:", "error[", "error TS", "fatal", "panic", "Traceback",
    "npm ERR!", "xit code", "xit status", "xited with", " passed", " failed", " error", " failure",
    "Test", "test result", "Ran ", "OK", "PASS", "BUILD",
    "Segmentation fault", "ommand not found", "No such file", "ermission denied", "timed out", "Killed",
)  # fmt: skip
_VERDICTS = re.compile(
    r"(?:Error|Exception|ERROR|FATAL|FAIL|FAILED|FAILURE|FAILURES)\b|\berror(?:\[|:| TS)|\b(?:fatal|panic(?:ked)?)\b"
    r"|Traceback \(most|npm ERR!|[Ee]xit(?:ed)? (?:with )?(?:code|status)|\b\d+ (?:passed|failed|errors?|failures?)\b"
    r"|^(?:Tests?|Test Suites|test result|Ran \d+ tests?|OK|PASS|BUILD)\b"
    r"|Segmentation fault|[Cc]ommand not found|No such file|[Pp]ermission denied|timed out|Killed$",
    re.MULTILINE,
)
_HINT_WORDS = ('File "', " at ", "arning", "assert", "E  ", "> ")
_HINTS = re.compile(
    r'^[ \t]*File "[^"\n]*", line \d+|^[ \t]+at [^\n]+:\d+|\b[Ww]arning\b|^E[ \t]|^>[ \t]|\bassert(?:ion)?\b',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message; *kind* is `text`, `thinking`, `call` or `result`.

    A call's text is the tool's name, a blank, and its input as JSON.
    """

    kind: str
    text: str
    is_error: bool = False


def is_too_long(part: Part, room: int | None = None) -> bool:
    """Whether `condense` would leave something of *part* out. Each value of a call is shortened by itself."""
    return part.kind == "call" or len(part.text) > _limit(part, room)


def condense(part: Part, room: int | None = None) -> str:
    """*part* as a reader sees it, within the limit of its kind and within *room* (characters)."""
    limit = _limit(part, room)
    if part.kind == "call":
        return _call(part.text, limit)
    if part.kind == "result":
        return _result(_COLOURS.sub("", part.text).replace("\r\n", "\n").strip() or NO_OUTPUT, limit)
    return cut_middle(part.text.strip(), limit)


def _limit(part: Part, room: int | None) -> int:
    limit = ERROR_LIMIT if part.is_error else _LIMITS[part.kind]
    return limit if room is None else min(limit, room)


def cut_middle(text: str, limit: int, *, around: str = "\n") -> str:
    """*text*, or its two ends with the number of characters left out between them; never longer than *limit*."""
    if len(text) <= limit:
        return text
    kept = limit - _MARK
    if kept < 2:
        return text[: max(limit, 0)]
    head, tail = kept - kept // 2, kept // 2
    return text[:head] + around + _mark(len(text) - kept) + around + text[-tail:]


def share(wanted: Sequence[int], room: int) -> tuple[int, ...]:
    """How much of *room* each gets: what it wants, as long as that is no more than an equal share of what is left."""
    given = [0] * len(wanted)
    waiting = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for left, index in zip(range(len(waiting), 0, -1), waiting, strict=True):
        given[index] = min(wanted[index], max(room, 0) // left)
        room -= given[index]
    return tuple(given)


def _mark(count: int) -> str:
    return f"[... {count} characters left out ...]"


def _call(text: str, limit: int) -> str:
    """`tool(NAME): ` and the input in one line, long values cut."""
    name, _, given = text.partition(" ")
    try:
        values = json.loads(given)
    except (ValueError, RecursionError):
        values = given
    if not isinstance(values, dict):
        values = {"": values}
    told = [_one_line(value) for value in values.values()]
    keys = [f"{_one_line(key)}=" if len(values) > 1 else "" for key in values]
    before = f"tool({name}): "
    shares = share([len(value) for value in told], limit - len(before) - sum(len(key) + 2 for key in keys))
    inputs = (key + cut_middle(value, most, around=" ") for key, value, most in zip(keys, told, shares, strict=True))
    return cut_middle((before + "; ".join(inputs)).rstrip(), limit, around=" ")


def _one_line(value: object) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return "\\n".join(value.splitlines())


def _result(text: str, limit: int) -> str:
    edge = limit // 5
    if len(text) <= limit or edge <= 2 * _MARK:
        return cut_middle(text, limit)
    room = limit - 2 * edge - 2 * _MARK
    kept: list[tuple[int, int]] = []
    for start, end in _evidence(text):
        if end <= edge or start >= len(text) - edge:
            continue
        if end - start + _MARK > room:
            break
        kept.append((start, end))
        room -= end - start + _MARK
    edge += max(room, 0) // 2
    return _joined(text, [(0, edge), *kept, (len(text) - edge, len(text))])


def _evidence(text: str) -> Iterator[tuple[int, int]]:
    """The lines worth keeping, most telling first; of each kind from both ends inwards, the last before the first."""
    for words, pattern in ((_VERDICT_WORDS, _VERDICTS), (_HINT_WORDS, _HINTS)):
        if len(text) <= 2 * _SEARCHED:
            found = _lines_with(words, pattern, text, 0, len(text))
        else:
            found = _lines_with(words, pattern, text, 0, _SEARCHED)
            found += _lines_with(words, pattern, text, len(text) - _SEARCHED, len(text))
        first, last = found[: len(found) // 2], found[len(found) // 2 :]
        for pair in zip_longest(reversed(last), first):
            yield from (span for span in pair if span is not None)


def _lines_with(
    words: Iterable[str], pattern: re.Pattern[str], text: str, start: int, end: int
) -> list[tuple[int, int]]:
    """Where the lines stand that hold one of *words* and in which *pattern* is found."""
    found: dict[int, int] = {}
    for word in words:
        at = text.find(word, start, end)
        while at >= 0:
            first = max(text.rfind("\n", 0, at) + 1, at - _EVIDENCE_WIDTH // 3)
            last = text.find("\n", at, first + _EVIDENCE_WIDTH)
            last = min(first + _EVIDENCE_WIDTH, len(text)) if last < 0 else last
            if pattern.search(text, first, last):
                found[first] = last
            at = text.find(word, max(last, at + 1), end)
    return sorted(found.items())


def _joined(text: str, spans: list[tuple[int, int]]) -> str:
    """The *spans* of *text* in their order, with a word in each gap; a gap shorter than the word is kept."""
    told: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if start - at > _MARK:
            told.append(f"\n{_mark(start - at)}\n")
            at = start
        told.append(text[at : max(at, end)])
        at = max(at, end)
    return "".join(told)
