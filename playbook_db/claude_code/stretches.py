"""A transcript of any size in stretches that fit before a model, cut along turns.

Consecutive stretches touch: each begins at the byte where the one before ended, and the same file and start always give
the same ones. Where something had to be left out of a stretch, its text says so.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from playbook_db.claude_code.transcript import Entry, Passage, walk
from playbook_db.rules.citations import cited_names
from playbook_db.rules.condensing import Part, condense, is_too_long, share

MIN_ROOM_CHARS = 1_000

_NOTE = "Left out"
_NOTE_ROOM = 200
_LEAST = 100  # characters a part gets, with its heading, in an entry that is larger than the room
_FORGED = re.compile(r"##(?=[ \t]*(?:User|Assistant|Thinking|Tool|Left out)\b)")


@dataclass(frozen=True, slots=True)
class Stretch:
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


def cut(path: str, start: int, room_chars: int, *, clean: Callable[[str], str] = str) -> Iterator[Stretch]:
    """The stretches of the transcript at *path* from byte *start* on, each text at most *room_chars* long.

    Whole turns go together as long as they fit; a turn larger than the room is split between its entries, and an entry
    larger than it is condensed harder. *clean* is given what is to be condensed as a whole before it is: half a secret
    is not known for one. Nothing comes where nothing whole stands after *start*. Raises OSError where
    the file can't be read, ValueError for a room below MIN_ROOM_CHARS.
    """
    if room_chars < MIN_ROOM_CHARS:
        raise ValueError(f"a stretch needs room for {MIN_ROOM_CHARS} characters; {room_chars} are too few")
    room = room_chars - _NOTE_ROOM
    turns, turn = _Draft(start), _Draft(start)
    for passage in walk(path, start):
        sections = _sections(passage.entry.parts, passage.entry.role, room, clean) if passage.entry else []
        if passage.entry and passage.entry.begins_turn:
            turns.append(turn)
            turn = _Draft(passage.start)
        size = turn.size + sum(section.size for section in sections)
        if turns.size and turns.size + size > room:
            yield turns.stretch()
            turns = _Draft(turn.start)
        if size > room:
            turns.append(turn)
            yield turns.stretch()
            turns, turn = _Draft(passage.start), _Draft(passage.start)
        turn.add(passage, sections)
    turns.append(turn)
    if turns.end > turns.start:
        yield turns.stretch()


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    body: str

    @property
    def size(self) -> int:
        """What it takes at most; less where the section before has the same heading."""
        return len(f"\n\n## {self.heading}\n\n") + len(self.body)


class _Draft:
    """A stretch that still grows, a passage or a whole turn at a time."""

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

    def stretch(self) -> Stretch:
        return Stretch(
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
