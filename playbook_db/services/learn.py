"""What a lesson's prompts say of the playbook: its points, those that may say the same, and the room there is. Pure."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from playbook_db.domain import duplicates, operations, prompt_text
from playbook_db.domain import playbook as playbook_rules
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import KeyPoint, Playbook
from playbook_db.domain.prompt_text import render_points
from playbook_db.domain.redaction.redact import redact, without_private
from playbook_db.domain.times import timestamp
from playbook_db.errors import BudgetError, SettingError
from playbook_db.services import diagnostics, templates
from playbook_db.services.projects import Project
from playbook_db.services.revise import Proposal, Revised, revise
from playbook_db.store import learning
from playbook_db.store.learning import Call, StoredReflection, StretchKey
from playbook_db.store.past import Past

if TYPE_CHECKING:
    from playbook_db.llm.model import Exchange, Model, Prompt, Reply


_ROOM_CHARS = 120_000  # of the playbook in a prompt; the best points where not all fit, and the cited ones


def playbook_text(playbook: Playbook, cited: Collection[str]) -> str:
    """The points as a prompt shows them: all, or those cited and the best of the others where there are too many."""
    points = playbook.points
    text = render_points(points)
    if len(text) <= _ROOM_CHARS:
        return text
    first = [playbook.by_name[name] for name in cited if name in playbook.by_name]
    ranked = sorted(points, key=_standing, reverse=True)
    return render_points(prompt_text.choose(dict.fromkeys([*first, *ranked]), [], _ROOM_CHARS))


def candidates(playbook: Playbook) -> str:
    """The points that may say the same in other words, a line for each pair."""
    pairs = duplicates.near_pairs(playbook.points)
    return "\n".join(
        f"- {pair.one.name} and {pair.other.name} (words in common: {pair.likeness:.0%})" for pair in pairs
    )


def _standing(point: KeyPoint) -> float:
    return prompt_text.rank(point.helpful, point.harmful, 0)


def room(playbook: Playbook) -> str:
    """What the curator hears of the room in a session's prompt."""
    used = prompt_text.utf16_units(render_points(playbook.points))
    return (
        f"The playbook has {len(playbook.points)} key points, {used} characters. A session is shown at most about "
        f"{prompt_text.LIMIT_UNITS - 1000} characters of it, the best points first."
    )


# What asking a model takes: each call is kept as soon as its answer is there, and none is begun over the budget.


class Metered:
    """A model whose calls are kept, `kind` being what they are for. `calls` are those that were made through it."""

    def __init__(self, model: "Model", project: Project, *, kind: str, session_id: str | None) -> None:
        self._model, self._project, self._kind, self._session_id = model, project, kind, session_id
        self.calls: list[Call] = []

    def ask(self, prompt: "Prompt", *, deadline: float) -> "Reply":
        """Ask the model. Raises BudgetError where today's budget is spent, else what the model raises."""
        check_budget(self._project)
        reply = self._model.ask(prompt, deadline=deadline)
        usage = reply.usage
        call = Call(
            self._kind,
            reply.model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.cost_usd,
            reply.duration_ms,
        )
        self.calls.append(call)
        now = timestamp(datetime.now(UTC))
        with self._project.store.transaction() as connection:
            past = Past.open_to_write(connection, self._project.key, now=now)
            learning.add_call(connection, past.playbook_id or 0, call, session_id=self._session_id, now=now)
        return reply


def check_budget(project: Project) -> None:
    """Raise BudgetError where the tokens of today (UTC) have reached `PLAYBOOK_DAILY_TOKENS`; unset is no limit."""
    budget = daily_tokens()
    if budget is None:
        return
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with project.store.snapshot() as connection:
        spent = learning.tokens_since(connection, timestamp(midnight))
    if spent >= budget:
        raise BudgetError(spent, budget, timestamp(midnight + timedelta(days=1)))


def daily_tokens() -> int | None:
    """`PLAYBOOK_DAILY_TOKENS`, None where there is no budget. Raises SettingError."""
    given = os.environ.get("PLAYBOOK_DAILY_TOKENS", "").strip()
    if not given:
        return None
    if not given.isdecimal():
        raise SettingError(f"PLAYBOOK_DAILY_TOKENS is {given!r}; it must be a whole number of tokens.")
    return int(given)


# Learning from one stretch of a transcript: reflector, votes, curator, one revision, and the cursor moved with it.
#
# The model is asked outside any transaction. What it proposes is planned again on the playbook as it is then; the
# revision, the cursor and whatever ends with them are one commit, so that a kill leaves all or nothing. What the
# reflector said is kept at once: another try asks only for what is missing.


@dataclass(frozen=True, slots=True)
class Lesson:
    """A stretch of the transcript at `path`, from byte `start` to before `end`: what was said, as text (empty where
    there is nothing to learn from), the points that the assistant cited, the session, the stretch's last entry, and
    the transcript's first."""

    path: str
    start: int
    end: int
    text: str
    cited: tuple[str, ...]
    session_id: str
    last_uuid: str | None
    first_uuid: str | None = None

    @property
    def key(self) -> StretchKey:
        """Which stretch it is."""
        return StretchKey(self.path, self.start, self.end)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What came of a lesson: nothing where it `was_known`; else what was revised, if anything, and the calls."""

    was_known: bool = False
    revised: Revised | None = None
    calls: tuple[Call, ...] = field(default=())


class _KnownError(Exception):
    """Somebody else has learnt from this stretch meanwhile."""


def learn(
    project: Project,
    lesson: Lesson,
    model: "Model",
    *,
    deadline: float,
    secrets: Collection[str] = (),
    also: Callable[[Past], None] | None = None,
) -> Learnt:
    """Learn from *lesson*, unless it was learnt from already; *also* is done in the same commit.

    *secrets* are masked wherever they stand; *deadline* is a time of `time.monotonic`. Raises ModelError, BudgetError
    and DatabaseError; nothing of the playbook has changed then.
    """
    if not lesson.text.strip():
        return _pass_over(project, lesson, also)
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        if _is_known(past, lesson):
            return Learnt(was_known=True)
        playbook = past.playbook()
        waiting = learning.waiting_reflection(connection, past.playbook_id, lesson.key) if past.playbook_id else None
    asking = _Asking(project, lesson, model, deadline, secrets)
    reflection = waiting or asking.reflect(playbook)
    return asking.curate_and_keep(playbook, reflection, also)


@dataclass(slots=True)
class _Asking:
    """One lesson under way."""

    project: Project
    lesson: Lesson
    model: "Model"
    deadline: float
    secrets: Collection[str]
    calls: list[Call] = field(default_factory=list)

    def reflect(self, playbook: Playbook) -> StoredReflection:
        """Ask the reflector, and keep what it says before anything else happens."""
        from playbook_db.llm import reflector

        metered = self._metered("reflect")
        told = self._masked(without_private(self.lesson.text))
        reflection = reflector.reflect(
            metered,
            template=templates.load_template("reflector.txt"),
            transcript=told,
            playbook_text=playbook_text(playbook, self.lesson.cited),
            cited=[name for name in self.lesson.cited if name in playbook.by_name],
            deadline=self.deadline,
        )
        self._report("reflector", reflection.exchanges)
        self.calls += metered.calls
        analysis, tags = self._masked(reflection.analysis), self._masked_all(reflection.bullet_tags)
        now = timestamp(datetime.now(UTC))
        with self.project.store.transaction() as connection:
            past = Past.open_to_write(connection, self.project.key, now=now)
            number = learning.add_reflection(
                connection,
                past.playbook_id or 0,
                self.lesson.key,
                session_id=self.lesson.session_id,
                analysis=analysis,
                bullet_tags=tags,
                calls=metered.calls,
                now=now,
            )
        return StoredReflection(number, analysis, tags)

    def curate_and_keep(
        self, playbook: Playbook, reflection: StoredReflection, also: Callable[[Past], None] | None
    ) -> Learnt:
        """Ask the curator about the playbook with the votes in it, and keep everything as one revision."""
        from playbook_db.llm import curator

        ballot = operations.read_votes(reflection.bullet_tags)
        shown = Draft(playbook)
        operations.cast_votes(shown, ballot.votes)
        metered = self._metered("curate")
        curation = curator.curate(
            metered,
            template=templates.load_template("curator.txt"),
            analysis=reflection.analysis,
            playbook_text=playbook_text(shown.playbook(), self.lesson.cited),
            candidates=candidates(shown.playbook()),
            size=room(shown.playbook()),
            deadline=self.deadline,
        )
        self._report("curator", curation.exchanges)
        self.calls += metered.calls
        asked = self._masked_all(curation.operations)
        pruned: list[KeyPoint] = []

        def plan(draft: Draft, past: Past) -> Proposal:
            if _is_known(past, self.lesson):
                raise _KnownError
            taken = operations.cast_votes(draft, ballot.votes)
            skipped = operations.apply_operations(draft, asked)
            pruned[:] = operations.prune(draft)
            return Proposal(
                "learn",
                "learnt from a session",
                votes=taken,
                skipped=skipped,
                session_id=self.lesson.session_id,
                then=finish,
            )

        def finish(past: Past, revision: int | None) -> None:
            now = timestamp(datetime.now(UTC))
            learning.finish_reflection(
                past.connection,
                past.playbook_id or 0,
                reflection.id,
                revision=revision,
                curator_reasoning=self._masked(curation.reasoning),
                calls=metered.calls,
                now=now,
            )
            _note_done(past, self.lesson, now)
            if also is not None:
                also(past)

        try:
            revised = revise(self.project, plan)
        except _KnownError:
            return Learnt(was_known=True, calls=tuple(self.calls))
        unknown = operations.unknown_sections(asked)
        diagnostics.operations(self.project.folder, len(asked), revised.skipped, unknown)
        diagnostics.pruning(self.project.folder, pruned)
        return Learnt(revised=revised, calls=tuple(self.calls))

    def _metered(self, kind: str) -> Metered:
        return Metered(self.model, self.project, kind=kind, session_id=self.lesson.session_id)

    def _masked(self, text: str) -> str:
        return playbook_rules.storable(redact(text, self.secrets))

    def _masked_all(self, values: list[object]) -> list[object]:
        return [self._masked_value(value) for value in values]

    def _masked_value(self, value: object) -> object:
        if isinstance(value, str):
            return self._masked(value)
        if isinstance(value, list):
            return self._masked_all(value)
        if isinstance(value, dict):
            return {self._masked(str(key)): self._masked_value(inner) for key, inner in value.items()}
        return value

    def _report(self, who: str, exchanges: "Sequence[Exchange]") -> None:
        diagnostics.exchanges(self.project.folder, who, exchanges, self._masked)


def _pass_over(project: Project, lesson: Lesson, also: Callable[[Past], None] | None) -> Learnt:
    """Move the cursor past a stretch in which there is nothing to learn from."""
    now = timestamp(datetime.now(UTC))
    with project.store.transaction() as connection:
        past = Past.open_to_write(connection, project.key, now=now)
        if _is_known(past, lesson):
            return Learnt(was_known=True)
        _note_done(past, lesson, now)
        if also is not None:
            also(past)
    return Learnt()


def _is_known(past: Past, lesson: Lesson) -> bool:
    """Whether the cursor isn't where the lesson begins."""
    reached = learning.learnt_to(past.connection, past.playbook_id, lesson.path) if past.playbook_id else 0
    return reached != lesson.start


def _note_done(past: Past, lesson: Lesson, now: str) -> None:
    """Move the cursor past the lesson, and keep what was cited in it, of the points that were there before it."""
    learning.add_citations(
        past.connection,
        past.playbook_id or 0,
        lesson.cited,
        session_id=lesson.session_id,
        revision=past.revision,
        now=now,
    )
    learning.move_cursor(
        past.connection,
        past.playbook_id or 0,
        lesson.path,
        lesson.end,
        session_id=lesson.session_id,
        last_uuid=lesson.last_uuid,
        now=now,
        first_uuid=lesson.first_uuid,
    )
