"""Cutting a transcript into chunks that fit into a prompt, and finding the key points that a text cites.

For the learner. Each chunk begins at the byte where the previous one ended. The same file and start always give the
same chunks. If the file grows, a reader continues from the end. Parts that are too long are shortened (`condensing`).
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from playbook_db.claude_code.transcripts import places
from playbook_db.claude_code.transcripts.condensing import condense, limit_of, share
from playbook_db.claude_code.transcripts.parts import MESSAGE, Part
from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.claude_code.transcripts.speech import INTERRUPTED
from playbook_db.claude_code.transcripts.transcript import Entry, Line, Transcript
from playbook_db.domain.playbook import name_pattern
from playbook_db.domain.trust.corrections import is_correction
from playbook_db.domain.trust.evidence import OUTSIDE, Place
from playbook_db.domain.trust.following import CORRECTED, FAILED, REFUSED, Act
from playbook_db.services.learning.asking import Chunk

_MAX_OUTSIDE = 20  # texts from outside that later chunks get, too
_NAMING = ("command", "file_path", "notebook_path", "path")  # what of a call's input says what it does
_ERROR_CHARS = 4_000  # of an error's beginning and end
_NAME_CHARS = 60  # of a call in a heading
_NOTE_CHARS = 200  # reserved for a note on lines that were not read
_LEAST_CHARS = 100  # for each part, with its heading, of an entry that is larger than a chunk
_FORGED = re.compile(r"##(?=[ \t]*(?:User|Message|Assistant|Thinking|Tool|Left out)\b)")
_NAME = name_pattern()
_BRACKETED = re.compile(rf"\[({_NAME}(?:\s*[,;]\s*{_NAME})*)\]")
_ONE_NAME = re.compile(_NAME)


class ChunkReader:
    """Cuts a `transcript` into chunks with texts of at most *max_chars* characters.

    Whole turns stay together if they fit; a larger turn is split between its entries, and a larger entry is shortened.
    *redact* is applied to texts before they are shortened, because half a secret isn't recognized. The project's
    *files* decide what can be evidence. The places of a chunk include the latest texts from outside the project before
    it. All reading raises OSError if the file can't be read.
    """

    def __init__(
        self,
        transcript: Transcript,
        max_chars: int,
        *,
        redact: Callable[[str], str] = str,
        files: ProjectFiles | None = None,
    ) -> None:
        self.transcript = transcript
        self.end = 0  # the byte up to which chunks were cut, or lines skipped
        self._limit = max_chars - _NOTE_CHARS
        self._writer = _Writer(redact, files or ProjectFiles(()))
        self._corrections = _Corrections()
        self._outside: deque[Place] = deque(maxlen=_MAX_OUTSIDE)

    def skip(self, end: int) -> None:
        """Skip the bytes before *end*, which were learned from already."""
        for line in self.transcript.lines(end):
            self._skip(line)
        self.end = end

    def skip_entries(self, uuids: Collection[str]) -> None:
        """Skip the leading entries with these *uuids*, which a fork copies from the original session."""
        for line in self.transcript.lines():
            if line.entry and line.entry.uuid not in uuids:
                self.transcript.put_back(line)
                return
            self._skip(line)
            self.end = line.end

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks up to the end."""
        for draft in self._cut():
            chunk = draft.chunk(self.transcript, self._outside)
            self._outside.extend(filter(_is_outside, draft.places()))  # also of chunks that aren't worth reading
            self.end = chunk.end
            yield chunk

    def _skip(self, line: Line) -> None:
        if line.entry:
            self._corrections.corrected_by(line.entry)
            self._outside.extend(self._writer.outside(line.entry, self._limit))

    def _cut(self) -> Iterator["_Draft"]:
        turns, turn = _Draft(self.end, self.end), _Draft(self.end, self.end)
        for line in self.transcript.lines():
            more = _draft_line(line, self._limit, self._writer)
            if line.entry:
                more.acts = [*_acts(line.entry, self._corrections.corrected_by(line.entry))]
            if line.entry and line.entry.begins_turn:
                turns.append(turn)
                turn = _Draft(line.start, line.start)
            size = turn.size + more.size
            if turns.size and turns.size + size > self._limit:
                yield turns
                turns = _Draft(turn.start, turn.start)
            if size > self._limit:
                turns.append(turn)
                yield turns
                turns, turn = _Draft(line.start, line.start), _Draft(line.start, line.start)
            turn.append(more)
        turns.append(turn)
        if turns.end > turns.start:
            yield turns


def cited_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the key points that *texts* cite, as `[pat-001]` or `[pat-001, kpt_002]`, in order and without duplicates.

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
        """Return how many characters this section takes at most. Without its heading, it takes fewer."""
        return len(f"\n\n## {self.heading}\n\n") + len(self.body)


@dataclass(slots=True)
class _Draft:
    """A chunk under construction, which grows by lines or whole turns. `size` is in characters."""

    start: int
    end: int
    size: int = 0
    sections: list[_Section] = field(default_factory=list)
    cited: dict[str, None] = field(default_factory=dict)
    session_id: str = ""
    last_uuid: str = ""
    branch: str = ""
    day: str = ""
    broken_lines: int = 0
    is_worth_reading: bool = False
    prompts: int = 0
    calls: int = 0
    acts: list[Act] = field(default_factory=list)

    def append(self, later: "_Draft") -> None:
        self.end = later.end
        self.size += later.size
        self.sections += later.sections
        self.cited |= later.cited
        self.session_id = later.session_id or self.session_id
        self.last_uuid = later.last_uuid or self.last_uuid
        self.branch = later.branch or self.branch
        self.day = later.day or self.day
        self.broken_lines += later.broken_lines
        self.is_worth_reading |= later.is_worth_reading
        self.prompts += later.prompts
        self.calls += later.calls
        self.acts += later.acts

    def places(self) -> list[Place]:
        return [place for section in self.sections for place in section.places]

    def chunk(self, transcript: Transcript, outside: Iterable[Place]) -> Chunk:
        """Return the finished chunk. *outside* are places from earlier chunks that it gets, too."""
        note = _Section("Left out", f"{self.broken_lines} lines of the transcript could not be read.")
        sections = [*self.sections, note] if self.broken_lines else self.sections
        lines: list[str] = []
        for heading, group in groupby(sections, lambda section: section.heading):
            lines += [f"## {heading}", *(section.body for section in group)]
        return Chunk(
            transcript.path,
            self.start,
            self.end,
            "\n\n".join(lines) if self.is_worth_reading else "",
            tuple(self.cited),
            self.session_id or transcript.session_id,
            self.last_uuid or None,
            transcript.first_uuid,
            (*outside, *self.places()) if self.is_worth_reading else (),
            self.prompts,
            self.calls,
            tuple(self.acts),
            self.branch,
            self.day,
        )


def _draft_line(line: Line, limit: int, writer: "_Writer") -> _Draft:
    draft = _Draft(line.start, line.end, broken_lines=line.is_broken)
    if (entry := line.entry) is not None:
        draft.sections = writer.sections(entry, limit)
        draft.size = sum(section.size for section in draft.sections)
        if entry.role == "assistant":
            words = (part.text for part in entry.parts if part.kind in ("text", "thinking"))
            draft.cited = dict.fromkeys(cited_names(words))
            draft.calls = sum(part.kind == "call" for part in entry.parts)
        elif entry.begins_turn and not entry.is_sidechain:
            draft.prompts = int(bool(_prompt(entry)))
        draft.session_id, draft.last_uuid, draft.branch = entry.session_id, entry.uuid, entry.branch
        draft.day = entry.time[:10]
        draft.is_worth_reading = any(part.kind != "result" for part in entry.parts)
    return draft


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes redacted entries as sections. The project's `files` decide what can be evidence."""

    redact: Callable[[str], str]
    files: ProjectFiles

    def outside(self, entry: Entry, limit: int) -> Iterator[Place]:
        """Yield the texts of *entry* that come from outside the project, shortened as in a chunk."""
        known = [place for part in entry.parts for place in places.places_of(part, "", self.files)]
        if any(map(_is_outside, known)):  # most entries have none
            for section in self.sections(entry, limit):
                yield from filter(_is_outside, section.places)

    def sections(self, entry: Entry, limit: int) -> list[_Section]:
        """Return the parts of *entry* as sections. Together they take at most *limit* characters."""
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
        # No text may look like the heading of a section; it keeps its length.
        body = _FORGED.sub(r"\\#", condense(part, limit))
        return _Section(self._heading(part, role), body, self._places(part, body, is_clean=whole))

    def _heading(self, part: Part, role: str) -> str:
        """Say whose text *part* is. A result that doesn't follow its call names the call, and so does a refusal."""
        if part.kind == "thinking":
            return "Thinking"
        if part.call and part.call.tool == MESSAGE:
            return "Message"
        name = ""
        if part.call and (part.is_apart or part.kind == "text"):
            value = next(filter(None, map(part.call.inputs.get, _NAMING)), "")
            name = " ".join(self.redact(f"{part.call.tool} {value}").split())[:_NAME_CHARS]
        if part.kind == "result":
            return f"Tool{' (error)' * part.is_error}{f': {name}' * part.is_apart}"
        return f"User, refusing {name}" if name else "User" if role == "user" else "Assistant"

    def _places(self, part: Part, body: str, *, is_clean: bool) -> tuple[Place, ...]:
        """Return the evidence in *part*: the user's words, or else its *body*, as the model reads it."""
        if part.is_stopped or part.is_unasked:  # the client's words
            return ()
        if part.user_text and part.user_text != part.text:
            body, is_clean = condense(Part("text", self.redact(part.user_text))), True
        evidence = places.places_of(part, body, self.files)
        clean = str if is_clean else self.redact
        return tuple(Place(each.trust, self.redact(each.label), clean(each.text)) for each in evidence)


def _acts(entry: Entry, corrects: str) -> Iterator[Act]:
    """Yield the calls whose results are in *entry*, and the user's words if they correct the answer of the time
    *corrects*."""
    for part in entry.parts:
        if part.kind == "result" and part.call:
            text = next(filter(None, map(part.call.inputs.get, _NAMING)), "")
            outcome = REFUSED if part.is_stopped else FAILED if part.is_error else ""
            error = part.text[:_ERROR_CHARS] + part.text[_ERROR_CHARS:][-_ERROR_CHARS:] if outcome == FAILED else ""
            yield Act(part.call.time, part.call.tool, text, outcome, error)
        if corrects and part.user_text:
            yield Act(corrects, "", part.user_text, CORRECTED)


def _is_outside(place: Place) -> bool:
    return place.trust == OUTSIDE


def _prompt(entry: Entry) -> str:
    return next((part.user_text for part in entry.parts if part.user_text and part.kind == "text"), "")


class _Corrections:
    """Recognizes the user's corrections of answers. It reads the entries in order.

    An interruption, a rejection and the words about it are one correction, unless an answer comes between them.
    """

    def __init__(self) -> None:
        self._may_correct = False  # there is an answer, and no correction since
        self._answered_at = ""

    def corrected_by(self, entry: Entry) -> str:
        """Return the time of the answer that the next *entry* corrects, or "" if it corrects none."""
        if entry.role == "assistant":
            texts = [part.text for part in entry.parts if part.kind == "text"]
            # An answer to a question is no correction.
            self._may_correct = not (texts and texts[-1].rstrip().endswith(("?", "？")))
            self._answered_at = entry.time
            return ""
        has_stopped = any(part.is_stopped or part.text.startswith(INTERRUPTED) for part in entry.parts)
        corrects = has_stopped or (entry.begins_turn and is_correction(_prompt(entry)))
        if entry.is_sidechain or not (corrects and self._may_correct):
            return ""
        self._may_correct = False
        return self._answered_at
