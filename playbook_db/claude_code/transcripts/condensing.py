"""Shortening long parts of a transcript. Both ends of a part stay, and the most important lines between them.

For the learner. A note in each gap tells how many characters were left out. Exit codes, errors and test summaries stay.
Pure. A result is never longer than its limit.
"""

import json
import re
from collections.abc import Sequence

from playbook_db.claude_code.transcripts.error_lines import telling_lines
from playbook_db.claude_code.transcripts.parts import Part

# Characters. The limit for words is high, since most is learned from what the user asked and the assistant concluded.
WORDS_LIMIT = 20_000
CALL_LIMIT = 800
RESULT_LIMIT = 2_000
ERROR_LIMIT = 4_000
NO_OUTPUT = "(no output)"

_LIMITS = {"text": WORDS_LIMIT, "thinking": 6_000, "call": CALL_LIMIT, "result": RESULT_LIMIT}
_MARK = len("\n[... 1000000000 characters left out ...]\n")
_EQUAL_LINES = re.compile(r"^([^\n]{0,80}\n)(?:\1){5,}", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\))")


def condense(part: Part, limit: int | None = None) -> str:
    """Return the text of *part*, shortened to *limit* characters and to the limit of its kind."""
    limit = limit_of(part, limit)
    if part.kind == "call":
        return _condense_call(part.text, limit)
    if part.kind == "result":
        return _condense_result(_plain_output(part.text).strip() or NO_OUTPUT, limit)
    return cut_middle(part.text.strip(), limit)


def cut_middle(text: str, limit: int, *, around: str = "\n") -> str:
    """Return *text*, shortened to *limit* characters: its two ends, and how many characters are left out."""
    if len(text) <= limit:
        return text
    kept_chars = limit - _MARK
    if kept_chars < 2:
        return text[: max(limit, 0)]
    head, tail = kept_chars - kept_chars // 2, kept_chars // 2
    return text[:head] + around + _mark(len(text) - kept_chars) + around + text[-tail:]


def share(sizes: Sequence[int], total: int) -> tuple[int, ...]:
    """Divide *total* among *sizes*. Small sizes are granted in full; larger ones share the rest equally."""
    shares = [0] * len(sizes)
    smallest_first = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for waiting, index in zip(range(len(sizes), 0, -1), smallest_first, strict=True):
        shares[index] = min(sizes[index], max(total, 0) // waiting)
        total -= shares[index]
    return tuple(shares)


def limit_of(part: Part, limit: int | None = None) -> int:
    """Return how many characters *part* may take: the limit of its kind, but not more than *limit*."""
    own = ERROR_LIMIT if part.is_error else _LIMITS[part.kind]
    return own if limit is None else min(own, limit)


def _plain_output(text: str) -> str:
    """Remove colors from a tool's output, and equal lines in a row. Text that overwrites a line becomes a line of its
    own."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return _EQUAL_LINES.sub(lambda match: f"{match[1]}[... {match[0].count(match[1]) - 1} equal lines ...]\n", text)


def _mark(count: int) -> str:
    return f"[... {count} characters left out ...]"


def _condense_call(text: str, limit: int) -> str:
    """Return `tool(NAME): ` and the call's input in one line, with long values shortened."""
    name, _, arguments = text.partition(" ")
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = arguments
    if not isinstance(values, dict):
        values = {"": values}
    texts = [_argument(value) for value in values.values()]
    keys = [f"{_argument(key)}=" if len(values) > 1 else "" for key in values]
    before = f"tool({name}): "
    shares = share([len(value) for value in texts], limit - len(before) - sum(len(key) + 2 for key in keys))
    inputs = (key + cut_middle(value, most, around=" ") for key, value, most in zip(keys, texts, shares, strict=True))
    return cut_middle((before + "; ".join(inputs)).rstrip(), limit, around=" ")


def _argument(value: object) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return "\\n".join(value.replace("\0", "\ufffd").splitlines())


def _condense_result(text: str, limit: int) -> str:
    edge = limit // 6
    if len(text) <= limit or edge <= 2 * _MARK:
        return cut_middle(text, limit)
    rest = limit - 2 * edge - 2 * _MARK
    lines: dict[int, int] = {}
    ends = {edge, len(text) - edge}
    for start, end in telling_lines(text):
        if end <= edge or start >= len(text) - edge or start in lines:
            continue
        cost = end - start + (1 if start - 1 in ends or end + 1 in lines else _MARK)
        if cost > rest:
            continue
        lines[start] = end
        ends.add(end)
        rest -= cost
    edge += max(rest, 0) // 2
    pieces, at = [], 0
    for start, end in sorted([(0, edge), *lines.items(), (len(text) - edge, len(text))]):
        if start - at > _MARK:  # text shorter than the note stays
            pieces.append(f"\n{_mark(start - at)}\n")
            at = start
        pieces.append(text[at : max(at, end)])
        at = max(at, end)
    return "".join(pieces)
