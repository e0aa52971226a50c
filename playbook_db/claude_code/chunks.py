"""A transcript of any size in chunks that fit before a model, cut along turns; and the key points that a text cites.

For the learner. Consecutive chunks touch: each begins at the byte where the one before ended, and the same file and
start always give the same ones. What is too long is condensed: it is cut in the middle and says how many characters
were left out (`condensing`).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from playbook_db.claude_code import places
from playbook_db.claude_code.condensing import condense, limit_of, share
from playbook_db.claude_code.project_files import ProjectFiles
from playbook_db.claude_code.transcript import INTERRUPTED, Entry, Line, Part, read_lines
from playbook_db.domain import influence
from playbook_db.domain.evidence import FETCHED, FILES, Place
from playbook_db.domain.outcomes import NOTHING, SessionCounts, is_correction
from playbook_db.domain.playbook import name_pattern
from playbook_db.services.learn import Chunk

MIN_CHUNK_CHARS = 1_000

_MAX_OUTSIDE = 20  # texts from outside that are carried on to later chunks
_NOTE_CHARS = 200  # kept free for what a chunk says of lines that were not read
_LEAST_CHARS = 100  # of a part, with its heading, in an entry that is larger than a chunk
_FORGED = re.compile(r"##(?=[ \t]*(?:User|Assistant|Thinking|Tool|Left out)\b)")
_NAME = name_pattern()
_BRACKETED = re.compile(rf"\[({_NAME}(?:\s*[,;]\s*{_NAME})*)\]")
_ONE_NAME = re.compile(_NAME)


def read_chunks(
    path: str,
    start: int,
    max_chars: int,
    *,
    redact: Callable[[str], str] = str,
    files: ProjectFiles | None = None,
) -> Iterator[Chunk]:
    """The chunks of the transcript at *path* from byte *start* on, each text at most *max_chars* long.

    Whole turns go together as long as they fit; a turn larger than a chunk is split between its entries, and an entry
    larger than one is condensed harder. *redact* is given whole what is to be condensed, before it is: half a secret
    is not known for one. What can be evidence is judged by the project's *files*; the latest texts from outside
    earlier in the transcript are among the places of each later chunk. Nothing comes where no whole line stands after
    *start*. Raises OSError where the file can't be read, ValueError where *max_chars* is below MIN_CHUNK_CHARS.
    """
    if max_chars < MIN_CHUNK_CHARS:
        raise ValueError(f"a chunk needs {MIN_CHUNK_CHARS} characters; {max_chars} are too few")
    writer = _Writer(redact, files or ProjectFiles(()))
    limit = max_chars - _NOTE_CHARS
    outside = list(writer.outside_before(path, start, limit))[-_MAX_OUTSIDE:]
    for chunk in _cut(path, start, limit, writer):
        yield replace(chunk, places=(*outside, *chunk.places)) if chunk.text else chunk
        outside = [*outside, *filter(_is_outside, chunk.places)][-_MAX_OUTSIDE:]


def _cut(path: str, start: int, limit: int, writer: "_Writer") -> Iterator[Chunk]:
    """The chunks, each at most *limit* characters long."""
    tally = _Tally(is_begun=start > 0)
    turns, turn = _Draft(start, start), _Draft(start, start)
    for line in read_lines(path, start):
        more = _draft_line(line, limit, writer)
        more.counts = tally.count(line)
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


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    body: str
    places: tuple[Place, ...] = ()

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
    counts: SessionCounts = NOTHING

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
        self.counts += later.counts

    def chunk(self, path: str) -> Chunk:
        notes = []
        if self.broken_lines:
            notes.append(f"{self.broken_lines} lines of the transcript could not be read.")
        if self.unread_bytes:
            notes.append(f"{self.unread_bytes} bytes of overlong lines were not read.")
        note = [_Section("Left out", " ".join(notes))] if notes else []
        text = _render([*self.sections, *note]) if self.is_worth_reading else ""
        evidence = tuple(place for section in self.sections for place in section.places) if text else ()
        last = self.last_uuid or None
        cited = tuple(self.cited)
        return Chunk(
            path, self.start, self.end, text, cited, self.session_id, last, places=evidence, counts=self.counts
        )


def _draft_line(line: Line, limit: int, writer: "_Writer") -> _Draft:
    unread_bytes = line.end - line.start if line.is_overlong else 0
    draft = _Draft(line.start, line.end, broken_lines=line.is_broken, unread_bytes=unread_bytes)
    if (entry := line.entry) is not None:
        draft.sections = writer.sections(entry, limit)
        draft.size = sum(section.size for section in draft.sections)
        if entry.role == "assistant":
            words = (part.text for part in entry.parts if part.kind in ("text", "thinking"))
            draft.cited = dict.fromkeys(cited_names(words))
        draft.session_id, draft.last_uuid = entry.session_id, entry.uuid
        draft.is_worth_reading = any(part.kind != "result" for part in entry.parts)
    return draft


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes entries as sections: what `redact` leaves of them, with what can be evidence by the project's `files`."""

    redact: Callable[[str], str]
    files: ProjectFiles

    def outside_before(self, path: str, start: int, limit: int) -> Iterator[Place]:
        """Yield the outside texts before byte *start*, condensed as in the chunks that hold them."""
        for line in read_lines(path) if start else ():
            if line.end > start:
                return
            if (entry := line.entry) is None:
                continue
            known = [place for part in entry.parts for place in places.places_of(part, "", self.files)]
            if any(place.trust in (FETCHED, FILES) for place in known):  # most entries need not be condensed for it
                for section in self.sections(entry, limit):
                    yield from filter(_is_outside, section.places)

    def sections(self, entry: Entry, limit: int) -> list[_Section]:
        """The parts of *entry*, condensed harder than usual where they would take more than *limit* characters."""
        parts = entry.parts
        sections = [self._section(part, entry.role) for part in parts]
        if sum(section.size for section in sections) <= limit:
            return sections
        ends = limit // _LEAST_CHARS // 2 - 1
        if len(parts) > 2 * ends:
            note = Part("text", f"[... {len(parts) - 2 * ends} parts of this message left out ...]")
            parts = (*parts[:ends], note, *parts[-ends:])
            sections = [self._section(part, entry.role) for part in parts]
        bodies = [len(section.body) for section in sections]
        shares = share(bodies, limit - sum(section.size for section in sections) + sum(bodies))
        return [self._section(part, entry.role, most) for part, most in zip(parts, shares, strict=True)]

    def _section(self, part: Part, role: str, limit: int | None = None) -> _Section:
        whole = part.kind == "call" or len(part.text) > limit_of(part, limit)  # a call's values are cut one by one
        if whole:
            part = replace(part, text=self.redact(part.text))
        # Nothing that was said may pose as someone else's section; the text keeps its length.
        body = _FORGED.sub(r"\\#", condense(part, limit))
        headings = {"result": "Tool (error)" if part.is_error else "Tool", "thinking": "Thinking"}
        heading = headings.get(part.kind, "User" if role == "user" else "Assistant")
        return _Section(heading, body, self._places(part, body, is_clean=whole))

    def _places(self, part: Part, body: str, *, is_clean: bool) -> tuple[Place, ...]:
        """*part* as evidence, if it can be any: what the model reads of it in *body*, or of the user's words in it."""
        if part.said and part.said != part.text:
            body, is_clean = condense(Part("text", self.redact(part.said))), True
        found = places.places_of(part, body, self.files)
        clean = str if is_clean else self.redact
        return tuple(Place(each.trust, self.redact(each.label), clean(each.text)) for each in found)


def _is_outside(place: Place) -> bool:
    return influence.has_outside([place])


def _render(sections: Iterable[_Section]) -> str:
    lines: list[str] = []
    for heading, group in groupby(sections, lambda section: section.heading):
        lines += [f"## {heading}", *(section.body for section in group)]
    return "\n\n".join(lines)


class _Tally:
    """Counts how a session went, line by line.

    What the user does between two answers is one correction at most: an interruption, the rejection that goes with it,
    and the words that say why.
    """

    def __init__(self, *, is_begun: bool) -> None:
        self._may_correct = is_begun  # there is an answer, and no correction since

    def count(self, line: Line) -> SessionCounts:
        """What *line* adds."""
        entry = line.entry
        if entry is None:
            return SessionCounts(tokens=line.tokens)
        results = [part for part in entry.parts if part.kind == "result"]
        failed = sum(part.is_error and not part.is_stopped for part in results)
        if entry.role == "assistant":
            said = [part.text for part in entry.parts if part.kind == "text"]
            # What answers a question corrects nothing.
            self._may_correct = not (said and said[-1].rstrip().endswith(("?", "？")))
            calls = sum(part.kind == "call" for part in entry.parts)
            return SessionCounts(calls, failed, tokens=line.tokens)
        turn = next((part.said for part in entry.parts if part.said and part.kind == "text"), "")
        is_turn = entry.begins_turn and bool(turn)
        has_stopped = any(part.is_stopped or part.text.startswith(INTERRUPTED) for part in entry.parts)
        is_corrected = self._may_correct and (has_stopped or (is_turn and is_correction(turn)))
        if entry.is_sidechain:
            return SessionCounts(0, failed)
        self._may_correct &= not is_corrected
        return SessionCounts(0, failed, int(is_corrected), int(is_turn))
