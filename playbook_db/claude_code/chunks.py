"""A transcript of any size in chunks that fit before a model, cut along turns; and the key points that a text cites.

For the learner. Consecutive chunks touch: each begins at the byte where the one before ended, and the same file and
start always give the same ones. What is too long is condensed: it is cut in the middle and says how many characters
were left out; of a tool's result the evidence of what worked stays, as exit codes, errors and summaries of tests.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest

from playbook_db.claude_code.transcript import Entry, Line, Part, read_lines
from playbook_db.domain.playbook import LEGACY_PREFIX
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services.learn import Chunk

MIN_CHUNK_CHARS = 1_000

# Characters. Words are generous: what the user asked for and what the assistant concluded is what is learned from.
WORDS_LIMIT = 20_000
CALL_LIMIT = 800
RESULT_LIMIT = 2_000
ERROR_LIMIT = 4_000
NO_OUTPUT = "(no output)"

_LIMITS = {"text": WORDS_LIMIT, "thinking": 6_000, "call": CALL_LIMIT, "result": RESULT_LIMIT}
_NOTE_CHARS = 200  # kept free for what a chunk says of lines that were not read
_LEAST_CHARS = 100  # of a part, with its heading, in an entry that is larger than a chunk
_FORGED = re.compile(r"##(?=[ \t]*(?:User|Assistant|Thinking|Tool|Left out)\b)")
_NAME = rf"(?:(?:{'|'.join(SECTION_SLUGS.values())})-\d+|{LEGACY_PREFIX}_\d+)"
_BRACKETED = re.compile(rf"\[({_NAME}(?:\s*[,;]\s*{_NAME})*)\]")
_ONE_NAME = re.compile(_NAME)
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


def read_chunks(path: str, start: int, max_chars: int, *, redact: Callable[[str], str] = str) -> Iterator[Chunk]:
    """The chunks of the transcript at *path* from byte *start* on, each text at most *max_chars* long.

    Whole turns go together as long as they fit; a turn larger than a chunk is split between its entries, and an entry
    larger than one is condensed harder. *redact* is given whole what is to be condensed, before it is: half a secret
    is not known for one. Nothing comes where no whole line stands after *start*. Raises OSError where the file can't be
    read, ValueError where *max_chars* is below MIN_CHUNK_CHARS.
    """
    if max_chars < MIN_CHUNK_CHARS:
        raise ValueError(f"a chunk needs {MIN_CHUNK_CHARS} characters; {max_chars} are too few")
    limit = max_chars - _NOTE_CHARS
    turns, turn = _Draft(start, start), _Draft(start, start)
    for line in read_lines(path, start):
        more = _draft_line(line, limit, redact)
        if line.entry and line.entry.begins_turn:
            turns.append(turn)
            turn = _Draft(line.start, line.start)
        size = turn.size + more.size
        if turns.size and turns.size + size > limit:
            yield turns.chunk(path)
            turns = _Draft(turn.start, turn.start)
        if size > limit:
            turns.append(turn)
            yield turns.chunk(path)
            turns, turn = _Draft(line.start, line.start), _Draft(line.start, line.start)
        turn.append(more)
    turns.append(turn)
    if turns.end > turns.start:
        yield turns.chunk(path)


def cited_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The key points that *texts* cite, as `[pat-001]` or `[pat-001, kpt_002]`, each once, by their first citation.

    Source: reflector specification, REQ-REFL-001; lists in one pair of brackets: contract, section 6.
    """
    names = (name for text in texts for group in _BRACKETED.findall(text) for name in _ONE_NAME.findall(group))
    return tuple(dict.fromkeys(names))


def condense(part: Part, limit: int | None = None) -> str:
    """*part* as a reader sees it, within the limit of its kind and within *limit* (characters)."""
    limit = _limit(part, limit)
    if part.kind == "call":
        return _condense_call(part.text, limit)
    if part.kind == "result":
        return _condense_result(_COLOURS.sub("", part.text).replace("\r\n", "\n").strip() or NO_OUTPUT, limit)
    return cut_middle(part.text.strip(), limit)


def cut_middle(text: str, limit: int, *, around: str = "\n") -> str:
    """*text*, or its two ends with the number of characters left out between them; never longer than *limit*."""
    if len(text) <= limit:
        return text
    kept = limit - _MARK
    if kept < 2:
        return text[: max(limit, 0)]
    head, tail = kept - kept // 2, kept // 2
    return text[:head] + around + _mark(len(text) - kept) + around + text[-tail:]


def share(sizes: Sequence[int], total: int) -> tuple[int, ...]:
    """How much of *total* each of *sizes* gets: all of it where that is no more than an equal share of the rest."""
    shares = [0] * len(sizes)
    smallest_first = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for waiting, index in zip(range(len(sizes), 0, -1), smallest_first, strict=True):
        shares[index] = min(sizes[index], max(total, 0) // waiting)
        total -= shares[index]
    return tuple(shares)


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    body: str

    @property
    def size(self) -> int:
        """The characters that it takes at most; less where the section before has the same heading."""
        return len(f"\n\n## {self.heading}\n\n") + len(self.body)


@dataclass(slots=True)
class _Draft:
    """A chunk that still grows, a line or a whole turn at a time; `size` counts characters."""

    start: int
    end: int
    size: int = 0
    sections: list[_Section] = field(default_factory=list)
    cited: dict[str, None] = field(default_factory=dict)
    session_id: str = ""
    last_uuid: str = ""
    broken_lines: int = 0
    unread_bytes: int = 0
    is_worth_reading: bool = False

    def append(self, later: "_Draft") -> None:
        """Take in the draft that begins where this one ends."""
        self.end = later.end
        self.size += later.size
        self.sections += later.sections
        self.cited |= later.cited
        self.session_id = later.session_id or self.session_id
        self.last_uuid = later.last_uuid or self.last_uuid
        self.broken_lines += later.broken_lines
        self.unread_bytes += later.unread_bytes
        self.is_worth_reading |= later.is_worth_reading

    def chunk(self, path: str) -> Chunk:
        notes = []
        if self.broken_lines:
            notes.append(f"{self.broken_lines} lines of the transcript could not be read.")
        if self.unread_bytes:
            notes.append(f"{self.unread_bytes} bytes of overlong lines were not read.")
        note = [_Section("Left out", " ".join(notes))] if notes else []
        text = _render([*self.sections, *note]) if self.is_worth_reading else ""
        return Chunk(path, self.start, self.end, text, tuple(self.cited), self.session_id, self.last_uuid or None)


def _draft_line(line: Line, limit: int, redact: Callable[[str], str]) -> _Draft:
    unread_bytes = line.end - line.start if line.is_overlong else 0
    draft = _Draft(line.start, line.end, broken_lines=line.is_broken, unread_bytes=unread_bytes)
    if (entry := line.entry) is not None:
        draft.sections = _sections(entry, limit, redact)
        draft.size = sum(section.size for section in draft.sections)
        if entry.role == "assistant":
            words = (part.text for part in entry.parts if part.kind in ("text", "thinking"))
            draft.cited = dict.fromkeys(cited_names(words))
        draft.session_id, draft.last_uuid = entry.session_id, entry.uuid
        draft.is_worth_reading = any(part.kind != "result" for part in entry.parts)
    return draft


def _sections(entry: Entry, limit: int, redact: Callable[[str], str]) -> list[_Section]:
    """The parts of *entry*, condensed harder than usual where they would take more than *limit* characters."""
    parts = entry.parts
    sections = [_section(part, entry.role, redact) for part in parts]
    if sum(section.size for section in sections) <= limit:
        return sections
    ends = limit // _LEAST_CHARS // 2 - 1
    if len(parts) > 2 * ends:
        note = Part("text", f"[... {len(parts) - 2 * ends} parts of this message left out ...]")
        parts = (*parts[:ends], note, *parts[-ends:])
        sections = [_section(part, entry.role, redact) for part in parts]
    bodies = [len(section.body) for section in sections]
    shares = share(bodies, limit - sum(section.size for section in sections) + sum(bodies))
    return [_section(part, entry.role, redact, most) for part, most in zip(parts, shares, strict=True)]


def _section(part: Part, role: str, redact: Callable[[str], str], limit: int | None = None) -> _Section:
    if part.kind == "call" or len(part.text) > _limit(part, limit):  # a call's values are cut one by one
        part = replace(part, text=redact(part.text))
    # Nothing that was said may pose as someone else's section; the text keeps its length.
    body = _FORGED.sub(r"\\#", condense(part, limit))
    headings = {"result": "Tool (error)" if part.is_error else "Tool", "thinking": "Thinking"}
    return _Section(headings.get(part.kind, "User" if role == "user" else "Assistant"), body)


def _render(sections: Iterable[_Section]) -> str:
    lines: list[str] = []
    for heading, group in groupby(sections, lambda section: section.heading):
        lines += [f"## {heading}", *(section.body for section in group)]
    return "\n\n".join(lines)


def _limit(part: Part, limit: int | None) -> int:
    own = ERROR_LIMIT if part.is_error else _LIMITS[part.kind]
    return own if limit is None else min(own, limit)


def _mark(count: int) -> str:
    return f"[... {count} characters left out ...]"


def _condense_call(text: str, limit: int) -> str:
    """`tool(NAME): ` and the input in one line, long values cut."""
    name, _, arguments = text.partition(" ")
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = arguments
    if not isinstance(values, dict):
        values = {"": values}
    texts = [_one_line(value) for value in values.values()]
    keys = [f"{_one_line(key)}=" if len(values) > 1 else "" for key in values]
    before = f"tool({name}): "
    shares = share([len(value) for value in texts], limit - len(before) - sum(len(key) + 2 for key in keys))
    inputs = (key + cut_middle(value, most, around=" ") for key, value, most in zip(keys, texts, shares, strict=True))
    return cut_middle((before + "; ".join(inputs)).rstrip(), limit, around=" ")


def _one_line(value: object) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return "\\n".join(value.replace("\0", "\ufffd").splitlines())


def _condense_result(text: str, limit: int) -> str:
    edge = limit // 5
    if len(text) <= limit or edge <= 2 * _MARK:
        return cut_middle(text, limit)
    rest = limit - 2 * edge - 2 * _MARK
    kept: list[tuple[int, int]] = []
    for start, end in _evidence(text):
        if end <= edge or start >= len(text) - edge:
            continue
        if end - start + _MARK > rest:
            break
        kept.append((start, end))
        rest -= end - start + _MARK
    edge += max(rest, 0) // 2
    pieces, at = [], 0
    for start, end in sorted([(0, edge), *kept, (len(text) - edge, len(text))]):
        if start - at > _MARK:  # a shorter gap is kept
            pieces.append(f"\n{_mark(start - at)}\n")
            at = start
        pieces.append(text[at : max(at, end)])
        at = max(at, end)
    return "".join(pieces)


def _evidence(text: str) -> Iterator[tuple[int, int]]:
    """Where the lines worth keeping stand, most telling first; of each kind from both ends inwards, the last before the
    first."""
    ends = [(0, len(text))] if len(text) <= 2 * _SEARCHED else [(0, _SEARCHED), (len(text) - _SEARCHED, len(text))]
    for words, pattern in ((_VERDICT_WORDS, _VERDICTS), (_HINT_WORDS, _HINTS)):
        lines = [line for start, end in ends for line in _lines_with(words, pattern, text, start, end)]
        first, last = lines[: len(lines) // 2], lines[len(lines) // 2 :]
        for pair in zip_longest(reversed(last), first):
            yield from (line for line in pair if line is not None)


def _lines_with(
    words: Iterable[str], pattern: re.Pattern[str], text: str, start: int, end: int
) -> list[tuple[int, int]]:
    """Where the lines stand that hold one of *words* and match *pattern*."""
    lines: dict[int, int] = {}
    for word in words:
        at = text.find(word, start, end)
        while at >= 0:
            first = max(text.rfind("\n", 0, at) + 1, at - _EVIDENCE_WIDTH // 3)
            last = text.find("\n", at, first + _EVIDENCE_WIDTH)
            last = min(first + _EVIDENCE_WIDTH, len(text)) if last < 0 else last
            if pattern.search(text, first, last):
                lines[first] = last
            at = text.find(word, max(last, at + 1), end)
    return sorted(lines.items())
