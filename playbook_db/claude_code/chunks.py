"""What was said and done in a session, shortened for a reader with little room.

Pure and deterministic. What is cut is cut in the middle, and says how many characters were left out. Of a tool's result
the evidence of what worked stays first: exit codes, errors, tracebacks, summaries of tests.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from playbook_db.claude_code.transcript import Entry, Part, Passage, walk
from playbook_db.domain.playbook import LEGACY_PREFIX
from playbook_db.domain.sections import SECTION_SLUGS

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


# Which key points a text cites: `[pat-001]`, or several at once, `[pat-001, kpt_002]`.


_NAME = rf"(?:(?:{'|'.join(SECTION_SLUGS.values())})-\d+|{LEGACY_PREFIX}_\d+)"
_BRACKETED = re.compile(rf"\[({_NAME}(?:\s*[,;]\s*{_NAME})*)\]")
_ONE = re.compile(_NAME)


def cited_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names that *texts* cite, each once, in the order of their first citation.

    Source: reflector specification, REQ-REFL-001; lists in one pair of brackets: contract, section 6.
    """
    found = (name for text in texts for group in _BRACKETED.findall(text) for name in _ONE.findall(group))
    return tuple(dict.fromkeys(found))


# A transcript of any size in chunks that fit before a model, cut along turns.
#
# Consecutive chunks touch: each begins at the byte where the one before ended, and the same file and start always
# give
# the same ones. Where something had to be left out of a chunk, its text says so.


MIN_ROOM_CHARS = 1_000

_NOTE = "Left out"
_NOTE_ROOM = 200
_LEAST = 100  # characters a part gets, with its heading, in an entry that is larger than the room
_FORGED = re.compile(r"##(?=[ \t]*(?:User|Assistant|Thinking|Tool|Left out)\b)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """What stands between the bytes *start* and *end* of a transcript, as a model is to read it.

    *text* is `""` where nobody said or did anything there. *cited* are the key points that the assistant named, *turns*
    the number of turns that begin here, *session_id* and *last_uuid* those of the last entry (`""` for none).
    """

    start: int
    end: int
    text: str
    cited: tuple[str, ...]
    session_id: str
    last_uuid: str
    turns: int
    broken_lines: int


def cut(path: str, start: int, room_chars: int, *, clean: Callable[[str], str] = str) -> Iterator[Chunk]:
    """The chunks of the transcript at *path* from byte *start* on, each text at most *room_chars* long.

    Whole turns go together as long as they fit; a turn larger than the room is split between its entries, and an entry
    larger than it is condensed harder. *clean* is given what is to be condensed as a whole before it is: half a secret
    is not known for one. Nothing comes where nothing whole stands after *start*. Raises OSError where
    the file can't be read, ValueError for a room below MIN_ROOM_CHARS.
    """
    if room_chars < MIN_ROOM_CHARS:
        raise ValueError(f"a chunk needs room for {MIN_ROOM_CHARS} characters; {room_chars} are too few")
    room = room_chars - _NOTE_ROOM
    turns, turn = _Draft(start), _Draft(start)
    for passage in walk(path, start):
        sections = _sections(passage.entry.parts, passage.entry.role, room, clean) if passage.entry else []
        if passage.entry and passage.entry.begins_turn:
            turns.append(turn)
            turn = _Draft(passage.start)
        size = turn.size + sum(section.size for section in sections)
        if turns.size and turns.size + size > room:
            yield turns.chunk()
            turns = _Draft(turn.start)
        if size > room:
            turns.append(turn)
            yield turns.chunk()
            turns, turn = _Draft(passage.start), _Draft(passage.start)
        turn.add(passage, sections)
    turns.append(turn)
    if turns.end > turns.start:
        yield turns.chunk()


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    body: str

    @property
    def size(self) -> int:
        """What it takes at most; less where the section before has the same heading."""
        return len(f"\n\n## {self.heading}\n\n") + len(self.body)


class _Draft:
    """A chunk that still grows, a passage or a whole turn at a time."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.size = 0
        self._sections: list[_Section] = []
        self._cited: dict[str, None] = {}
        self._session_id = self._last_uuid = ""
        self._turns = self._broken_lines = self._left_out_bytes = 0
        self._is_worth_reading = False

    def add(self, passage: Passage, sections: list[_Section]) -> None:
        self.end = passage.end
        self.size += sum(section.size for section in sections)
        self._sections += sections
        self._broken_lines += passage.is_broken
        self._left_out_bytes += passage.left_out_bytes
        entry = passage.entry
        if entry is not None:
            self._cited.update(dict.fromkeys(_cited(entry)))
            self._session_id = entry.session_id or self._session_id
            self._last_uuid = entry.uuid or self._last_uuid
            self._turns += entry.begins_turn
            self._is_worth_reading |= any(part.kind != "result" for part in entry.parts)

    def append(self, later: "_Draft") -> None:
        """Take in the draft that begins where this one ends."""
        self.end = later.end
        self.size += later.size
        self._sections += later._sections
        self._cited.update(later._cited)
        self._session_id = later._session_id or self._session_id
        self._last_uuid = later._last_uuid or self._last_uuid
        self._turns += later._turns
        self._broken_lines += later._broken_lines
        self._left_out_bytes += later._left_out_bytes
        self._is_worth_reading |= later._is_worth_reading

    def chunk(self) -> Chunk:
        return Chunk(
            start=self.start,
            end=self.end,
            text=_rendered([*self._sections, *self._note()]) if self._is_worth_reading else "",
            cited=tuple(self._cited),
            session_id=self._session_id,
            last_uuid=self._last_uuid,
            turns=self._turns,
            broken_lines=self._broken_lines,
        )

    def _note(self) -> Iterator[_Section]:
        told = []
        if self._broken_lines:
            told.append(f"{self._broken_lines} lines of the transcript could not be read.")
        if self._left_out_bytes:
            told.append(f"{self._left_out_bytes} bytes of overlong lines were not read.")
        if told:
            yield _Section(_NOTE, " ".join(told))


def _cited(entry: Entry) -> tuple[str, ...]:
    if entry.role != "assistant":
        return ()
    return cited_names(part.text for part in entry.parts if part.kind in ("text", "thinking"))


def _sections(parts: tuple[Part, ...], role: str, room: int, clean: Callable[[str], str]) -> list[_Section]:
    """The *parts* of one entry, condensed harder than usual where they would take more than *room*."""
    sections = [_section(part, role, clean) for part in parts]
    if sum(section.size for section in sections) <= room:
        return sections
    ends = room // _LEAST // 2 - 1
    if len(parts) > 2 * ends:
        note = Part("text", f"[... {len(parts) - 2 * ends} parts of this message left out ...]")
        parts = (*parts[:ends], note, *parts[-ends:])
        sections = [_section(part, role, clean) for part in parts]
    bodies = [len(section.body) for section in sections]
    limits = share(bodies, room - sum(section.size for section in sections) + sum(bodies))
    return [_section(part, role, clean, limit) for part, limit in zip(parts, limits, strict=True)]


def _section(part: Part, role: str, clean: Callable[[str], str], limit: int | None = None) -> _Section:
    if is_too_long(part, limit):
        part = replace(part, text=clean(part.text))
    # Nothing that was said may pose as someone else's section; the text keeps its length.
    body = _FORGED.sub(r"\\#", condense(part, limit))
    if part.kind == "result":
        return _Section("Tool (error)" if part.is_error else "Tool", body)
    if part.kind == "thinking":
        return _Section("Thinking", body)
    return _Section("User" if role == "user" else "Assistant", body)


def _rendered(sections: Iterable[_Section]) -> str:
    told: list[str] = []
    heading = ""
    for section in sections:
        if section.heading != heading:
            heading = section.heading
            told.append(f"## {heading}")
        told.append(section.body)
    return "\n\n".join(told)
