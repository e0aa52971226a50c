"""Learning from one chunk of a transcript: reflector, votes, curator, one revision, and the cursor moved with it.

The model is asked outside any transaction. What counts of its answers is judged by what the transcript shows, and
planned again on the playbook as it is then; the revision, the proposals, the cursor and the end of the job are one
commit, so that a kill leaves all or nothing. What the reflector said is kept at once: another try asks only for what is
missing.

What concerns the user's own playbook is a commit before that one, since it may be in another database; a cursor there
makes it count once, however often the chunk is learned from until the other is kept.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from playbook_db import project_env, settings
from playbook_db.domain import duplicates, judging, operations, prompt_text
from playbook_db.domain import playbook as playbook_rules
from playbook_db.domain.draft import Draft
from playbook_db.domain.evidence import Place
from playbook_db.domain.judging import JudgedOperations, JudgedTags, Review
from playbook_db.domain.outcomes import NOTHING, SessionCounts
from playbook_db.domain.playbook import KeyPoint, Playbook, Skipped
from playbook_db.domain.prompt_text import render_points
from playbook_db.domain.redaction.redact import redact, without_private
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.times import day_begin, local, timestamp
from playbook_db.errors import BudgetError, ModelError, RefusalError, Remedy
from playbook_db.services import diagnostics, edit, templates
from playbook_db.services.project import Project, Store
from playbook_db.store import jobs, learning, memberships
from playbook_db.store.engine import tried_again
from playbook_db.store.jobs import Job
from playbook_db.store.learning import Call, ChunkKey, PointSignals, StoredReflection
from playbook_db.store.repository import PlaybookRepository, RevisionOrigin, RevisionResult

if TYPE_CHECKING:
    from playbook_db.llm.marks import PointMarks
    from playbook_db.llm.model import Model, Prompt, Reply


_MAX_ITEMS = 2000  # of a list in a model's answer
_MAX_SAID_CHARS = 20_000  # of what a model says about a session
_MAX_REASON_CHARS = 1000  # of each text in a list's items, but a point's
_ROOM_CHARS = 120_000  # of the playbook in a prompt; the best points where not all fit, and the cited ones


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk of the transcript at `path`, from byte `start` to before `end`, as a model is to read it.

    `text` is empty where nobody said or did anything there. `cited` are the points that the assistant named,
    `last_uuid` is the chunk's last entry, `first_uuid` the transcript's first. `places` are the parts that can be
    evidence, in order, redacted. `counts` says how the session went in it.
    """

    path: str
    start: int
    end: int
    text: str
    cited: tuple[str, ...]
    session_id: str
    last_uuid: str | None
    first_uuid: str | None = None
    places: tuple[Place, ...] = ()
    counts: SessionCounts = NOTHING

    @property
    def key(self) -> ChunkKey:
        """Which chunk it is."""
        return ChunkKey(self.path, self.start, self.end)


@dataclass(frozen=True, slots=True)
class Budget:
    """What the user has agreed to for one command, in place of the daily budget: so many `tokens` for the project from
    the time `since` on."""

    tokens: int
    since: str


@dataclass(frozen=True, slots=True)
class LearnResult:
    """What a chunk taught: nothing where it `was_known`; else the revision, if any, the calls of the model, and about
    how many `proposals` a person is asked."""

    was_known: bool = False
    revision: RevisionResult | None = None
    calls: tuple[Call, ...] = ()
    proposals: int = 0


def learn(
    project: Project,
    chunk: Chunk,
    model: "Model",
    *,
    deadline: float,
    secrets: Collection[str] = (),
    finishes: Job | None = None,
    budget: Budget | None = None,
    review: Review = "fetched",
) -> LearnResult:
    """Learn from *chunk*, unless it was learned from already; the job that it *finishes* ends in the same commit.

    *secrets* are redacted wherever they stand; *deadline* is a time of `time.monotonic`; without a *budget* the daily
    one holds; *review* says what a person is asked about first. Raises ModelError, BudgetError and DatabaseError;
    nothing of the playbook has changed then. A chunk about which the model refuses to answer is passed over, with a
    RefusalError: it isn't asked about again.
    """
    if not chunk.text.strip():
        return LearnResult(was_known=not _pass_over(project, chunk, finishes))
    users = project.playbooks()[-1]
    with project.store.read(project.key) as book:
        if _is_known(book, chunk):
            return LearnResult(was_known=True)
        playbook = book.playbook()
        known = _Known(
            playbook,
            book.revision,
            shown_to(project, book, chunk.session_id),
            book.kept_apart(),
            book.point_signals([point.name for point in _points_with_room(playbook, chunk.cited)]),
            book.voted_on(chunk.session_id).keys(),
        )
        waiting = book.waiting_reflection(chunk.key)
    known, waiting = _with_own(known, waiting, users, chunk)
    lesson = _Lesson(project, users, chunk, model, deadline, secrets, budget, review)
    try:
        reflection = waiting or lesson.reflect(known)
        return lesson.curate_and_keep(known, reflection, finishes)
    except RefusalError as error:
        _pass_over(project, chunk, None)
        place = f"Bytes {chunk.start} to {chunk.end} of {chunk.path}"
        raise RefusalError(f"{place} were passed over: {error} Nothing is learned from them.") from error


@tried_again
def _pass_over(project: Project, chunk: Chunk, finishes: Job | None) -> bool:
    """Keep that *chunk* is done, though nothing was learned from it; False where it was done already."""
    if any(map(is_users_name, chunk.cited)):
        users = project.playbooks()[-1]
        with users.store.write(users.key) as own:
            _note_own(own, chunk)
    with project.store.write(project.key) as book:
        is_new = not _is_known(book, chunk)
        if is_new:
            _note_done(book, chunk, finishes)
    return is_new


@dataclass(frozen=True, slots=True)
class _Known:
    """What was known before the model was asked: the playbook at its last `revision`, and the user's `own`; which
    points of both the session was `shown` and which it `voted` on itself, which pairs of the project's stay `apart`,
    and what became of each."""

    playbook: Playbook
    revision: int
    shown: set[str]
    apart: Sequence[tuple[str, str]]
    signals: Mapping[str, PointSignals]
    voted: Collection[str] = ()
    own: Playbook = judging.NO_OWN

    def own_points(self, cited: Collection[str], of: Playbook | None = None) -> list[KeyPoint]:
        """The user's own points that the session was shown or *cited*: the model is told no others. They are as in the
        playbook *of*, where that is given."""
        had = {*self.shown, *cited}
        return [point for point in (of or self.own).points if point.name in had]

    def marks(self, points: Iterable[KeyPoint], cited: Collection[str]) -> "Iterator[PointMarks]":
        """What a prompt says of *points* beside their texts; their counters are those that they have now."""
        from playbook_db.llm.marks import PointMarks

        for point in points:
            marks = PointMarks(
                point.name,
                point.helpful,
                point.harmful,
                was_shown=point.name in self.shown,
                was_cited=point.name in cited,
            )
            if signals := self.signals.get(point.name):
                last_vote = f"{signals.last_vote} {_day(signals.last_vote_at)}" if signals.last_vote else None
                marks = replace(
                    marks,
                    since=_day(signals.created_at),
                    confirmed=_day(signals.confirmed_at),
                    last_vote=last_vote,
                    last_shown=_day(signals.last_shown_at),
                    last_cited=_day(signals.last_cited_at),
                    shown_in_vain=signals.shown_in_vain,
                    is_resting=bool(signals.resting),
                    is_pinned=bool(signals.pinned),
                )
            yield marks


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the models said of a chunk, and what of it counts: the reflection's tags; the operations as the curator gave
    them, and `judged`; which points stay `apart` that it had `seen_in` that revision; and its `reasoning`. `own_id` is
    the part of the reflection that is kept in the user's own playbook, None where there is none."""

    reflection_id: int
    own_id: int | None
    tags: JudgedTags
    operations: list[Any]
    judged: JudgedOperations
    apart: Sequence[tuple[str, str]]
    seen_in: int
    reasoning: str


@dataclass(slots=True)
class _Lesson:
    """Learning from one chunk, under way. It is the model that is asked: it begins no call over the budget, and keeps
    each one, as of `kind`, as soon as its answer is there."""

    project: Project
    users: Project
    chunk: Chunk
    model: "Model"
    deadline: float
    secrets: Collection[str]
    budget: Budget | None
    review: Review
    kind: str = "reflect"
    calls: list[Call] = field(default_factory=list)

    def ask(self, prompt: "Prompt", *, deadline: float) -> "Reply":
        """Ask the model. Raises BudgetError where the budget is spent, else what the model raises."""
        check_budget(self.project, self.budget)
        from playbook_db.llm.model import estimated

        try:
            reply = self.model.ask(prompt, deadline=deadline)
        except ModelError as error:
            if any(error.used):
                sent, received = error.used
                self._keep(Call(self.kind, None, sent, received, cached_tokens=0, cost_usd=None, duration_ms=0))
            raise
        usage = reply.usage
        if not (usage.input_tokens or usage.cached_tokens or usage.output_tokens):  # no budget would ever be spent
            sent, received = estimated(prompt, len(reply.text))
            usage = replace(usage, input_tokens=sent, output_tokens=received)
        self._keep(Call(self.kind, reply.model, **asdict(usage), duration_ms=reply.duration_ms))
        return reply

    def _keep(self, call: Call) -> None:
        self.calls.append(call)
        self._keep_cost(call)

    @tried_again
    def _keep_cost(self, call: Call) -> None:
        own = self.project.own
        with own.store.write(own.key) as book:
            book.add_call(call, session_id=self.chunk.session_id, agreed=self.budget is not None)

    def reflect(self, known: "_Known") -> StoredReflection:
        """Ask the reflector, and keep what it says before anything else happens."""
        from playbook_db.llm import marks, reflector

        template = templates.load_template("reflector.txt")
        points = _points_with_room(known.playbook, self.chunk.cited)
        own = known.own_points(self.chunk.cited)
        had = (each for each in known.marks([*points, *own], self.chunk.cited) if each.was_shown or each.was_cited)
        playbook_text, marks_text = marks.texts(template, points, had, own=own)  # it judges no others
        answer = reflector.reflect(
            self,
            template=template,
            transcript=self._redacted(without_private(self.chunk.text)),
            playbook_text=playbook_text,
            marks=marks_text,
            cited=[name for name in self.chunk.cited if name in known.playbook.by_name or name in known.own.by_name],
            deadline=self.deadline,
            must_answer=True,
        )
        diagnostics.exchanges(self.project.folder, "reflector", answer.exchanges, self._redacted)
        analysis = self._redacted(answer.analysis)[:_MAX_SAID_CHARS]
        tags, lessons = (_bounded(self._redacted(items)) for items in (answer.tags, answer.lessons))
        of_own = [tag for tag in tags if own and judging.is_users_tag(tag)]  # which a team doesn't read
        others = [tag for tag in tags if tag not in of_own]
        own_id = self._keep_reflection(self.users, "", of_own, []) if of_own else None
        number = self._keep_reflection(self.project, analysis, others, lessons)
        return StoredReflection(number, analysis, [*others, *of_own], lessons, own_id)

    @tried_again
    def _keep_reflection(self, project: Project, analysis: str, tags: list[Any], lessons: list[Any]) -> int:
        with project.store.write(project.key) as book:
            return book.add_reflection(
                self.chunk.key,
                session_id=self.chunk.session_id,
                analysis=analysis,
                bullet_tags=tags,
                lessons=lessons,
                calls=[] if project.is_users else self.calls,
            )

    def curate_and_keep(self, known: "_Known", reflection: StoredReflection, finishes: Job | None) -> LearnResult:
        """Ask the curator about the playbook with the votes in it, and keep everything as one revision."""
        from playbook_db.llm import curator, marks

        had, cited = {*known.shown, *self.chunk.cited}, self.chunk.cited
        both = replace(known.playbook, points=(*known.playbook.points, *known.own.points))
        tags = judging.judge_tags(both, reflection.bullet_tags, had, self.chunk.places, self.review, known.voted)
        voted, own_voted = (_voted(each, tags) for each in (known.playbook, known.own))
        template = templates.load_template("curator.txt")
        points, own = _points_with_room(voted, cited), known.own_points(cited, own_voted)
        playbook_text, marks_text = marks.texts(template, points, known.marks([*points, *own], cited), own=own)
        texts = [str(lesson.get("text")) for lesson in reflection.lessons]
        pairs, near = duplicates.candidates(points, texts, apart=known.apart)
        for place, names in duplicates.candidates(own, texts)[1].items():
            near[place] = [*near.get(place, []), *names]
        self.kind = "curate"
        answer = curator.curate(
            self,
            template=template,
            analysis=reflection.analysis,
            tags=reflection.bullet_tags,
            lessons=reflection.lessons,
            playbook_text=playbook_text,
            marks=marks_text,
            pairs=pairs,
            near=near,
            size=_size(voted),
            deadline=self.deadline,
            must_answer=True,
        )
        diagnostics.exchanges(self.project.folder, "curator", answer.exchanges, self._redacted)
        given = _bounded(self._redacted(answer.operations))
        judged = judging.judge_operations(voted, given, self.chunk.places, self.review, own_voted)
        said = self._redacted(answer.reasoning)[:_MAX_SAID_CHARS]
        number, own_id = reflection.id, reflection.own_id
        of_own = tags.of(users=True) if known.own.points else JudgedTags([], [], [])
        tags = tags.of(users=False) if known.own.points else tags
        answers = _Answers(number, own_id, tags, given, judged, answer.apart, known.revision, said)
        in_own = self._keep_own(answers, of_own, had_some=bool(own))
        kept = self._keep_lesson(answers, finishes)
        return kept if kept.was_known else replace(kept, proposals=kept.proposals + in_own)

    @tried_again
    def _keep_own(self, answers: "_Answers", tags: JudgedTags, *, had_some: bool) -> int:
        """Keep what concerns the user's own playbook, of which the session *had some* points or not: the *tags* on
        them, and what is proposed; about how many proposals that are."""
        judged = answers.judged.own or JudgedOperations([], [], [], [])
        if not (had_some or tags.votes or tags.proposed or tags.notes or judged.proposed or judged.skipped):
            return 0
        session = self.chunk.session_id if self.chunk.session_id.strip() else None
        with self.users.store.write(self.users.key) as book:
            if not _note_own(book, self.chunk):
                return 0
            votes = operations.cast_votes(book.draft, tags.votes)
            edit.prune_or_propose(book, votes, session)
            skipped = _numbered(judged.skipped, answers.operations, (), tags.notes)
            result = book.commit(
                "learn", "learnt from a session", votes=votes, skipped=skipped, origin=RevisionOrigin(session, session)
            )
            waiting = _propose(book, judged, tags, result, session)
            if answers.own_id is not None:
                book.finish_reflection(answers.own_id, revision=result.revision, curator_reasoning=None, calls=[])
            book.rest_points()
        return waiting

    @tried_again
    def _keep_lesson(self, answers: "_Answers", finishes: Job | None) -> LearnResult:
        """Keep everything that counts of the *answers* as one revision, and beside it what a person is asked about."""
        judged = answers.judged
        with self.project.store.write(self.project.key) as book:
            if _is_known(book, self.chunk):
                return LearnResult(was_known=True, calls=tuple(self.calls))
            votes = operations.cast_votes(book.draft, answers.tags.votes)
            count = len(book.draft.changes)
            refused = operations.apply_operations(book.draft, judged.counting, judged.evidence)
            made = book.draft.changes[count:]
            session = self.chunk.session_id if self.chunk.session_id.strip() else None
            pruned = edit.prune_or_propose(book, votes, session)
            skipped = _numbered(judged.skipped, answers.operations, refused, answers.tags.notes)
            result = book.commit(
                "learn", "learnt from a session", votes=votes, skipped=skipped, origin=RevisionOrigin(session, session)
            )
            waiting = _propose(book, judged, answers.tags, result, session)
            book.keep_apart(answers.apart, actor=session, judged_in=answers.seen_in)
            book.finish_reflection(
                answers.reflection_id,
                revision=result.revision,
                curator_reasoning=answers.reasoning,
                calls=[call for call in self.calls if call.kind == "curate"],
            )
            _note_done(book, self.chunk, finishes)
        diagnostics.operations(self.project.folder, answers.operations, skipped, made)
        diagnostics.pruning(self.project.folder, pruned)
        return LearnResult(revision=result, calls=tuple(self.calls), proposals=waiting)

    def _redacted(self, value: Any) -> Any:
        """*value*, a text or JSON, without secrets and as a database can keep it."""
        if isinstance(value, str):
            return playbook_rules.storable(redact(value, self.secrets))
        if isinstance(value, list):
            return [self._redacted(inner) for inner in value]
        if isinstance(value, dict):
            return {self._redacted(str(key)): self._redacted(inner) for key, inner in value.items()}
        return value


def _bounded(value: Any, key: str = "") -> Any:
    """*value*, JSON of a model under *key*, in a size to keep. A point's text that is too long stays so by one
    character: it will be skipped."""
    if isinstance(value, str):
        is_point = key in ("text", "merged_text")
        return value[: operations.MAX_TEXT_CHARS + 1 if is_point else _MAX_REASON_CHARS]
    if isinstance(value, list):
        return [_bounded(inner) for inner in value[:_MAX_ITEMS]]
    if isinstance(value, dict):
        return {name: _bounded(inner, name) for name, inner in value.items()}
    return value


def tokens_today(store: Store, key: str | None = None) -> int:
    """The tokens of today's budget (UTC) that are used, for the project *key*, or all together."""
    with store.snapshot() as connection:
        return learning.tokens_since(connection, timestamp(day_begin(datetime.now(UTC))), key)


def check_budget(project: Project, agreed: Budget | None = None) -> None:
    """Raise BudgetError where the tokens *agreed* on are spent; without them, where today's are."""
    project = project.own
    if agreed is not None:
        with project.store.snapshot() as connection:
            spent = learning.tokens_since(connection, agreed.since, project.key, agreed=True)
        if spent >= agreed.tokens:
            text = f"{spent:,} tokens were used, and {agreed.tokens:,} were agreed on. What was learned is kept."
            raise BudgetError(text, remedy=Remedy("Go on with: {}", ("bootstrap",)))
        return
    budgets: list[tuple[str, int, str | None]] = [("", settings.daily_tokens(), None)]
    brought = project_env.brought(project.folder or project.key)
    if project_env.BUDGET in brought:  # its own, on top of the user's
        budgets.append((f" for {project.key}", settings.daily_tokens(brought), project.key))
    for whose, budget, key in budgets:
        spent = tokens_today(project.store, key)
        if 0 < budget <= spent:
            until = timestamp(day_begin(datetime.now(UTC)) + timedelta(days=1))
            raise BudgetError(
                f"{spent:,} tokens were used today (UTC){whose}; PLAYBOOK_DAILY_TOKENS allows {budget:,} "
                f"(0: no limit). The work waits until {local(until)} at most.",
                until=until,
            )


def _with_own(
    known: _Known, waiting: StoredReflection | None, users: Project, chunk: Chunk
) -> tuple[_Known, StoredReflection | None]:
    """What was *known*, and the reflection that is *waiting*, with what the user's own playbook has of both."""
    with users.store.read(users.key) as book:
        if not book.revision:
            return known, waiting
        own, shown = book.playbook(), known.shown | book.shown_to(chunk.session_id)
        known = replace(known, own=own, shown=shown, voted={*known.voted, *book.voted_on(chunk.session_id)})
        signals = book.point_signals([point.name for point in known.own_points(chunk.cited)])
        kept = book.waiting_reflection(chunk.key) if waiting else None
    if waiting and kept:
        waiting = replace(waiting, bullet_tags=[*waiting.bullet_tags, *kept.bullet_tags], own_id=kept.id)
    return replace(known, signals={**known.signals, **signals}), waiting


def _voted(playbook: Playbook, tags: JudgedTags) -> Playbook:
    """*playbook* with the votes on its points among *tags*."""
    draft = Draft(playbook)
    operations.cast_votes(draft, tags.of(users=playbook.is_users).votes)
    return draft.playbook()


def _points_with_room(playbook: Playbook, cited: Collection[str]) -> Sequence[KeyPoint]:
    """The points that a prompt shows: all, or those cited and the best of the others where there are too many."""
    points = playbook.points
    if len(render_points(points)) <= _ROOM_CHARS:
        return points
    first = [playbook.by_name[name] for name in cited if name in playbook.by_name]
    ranked = sorted(points, key=lambda point: prompt_text.rank(point.helpful, point.harmful, 0), reverse=True)
    return prompt_text.choose(dict.fromkeys([*first, *ranked]), _ROOM_CHARS)


def _size(playbook: Playbook) -> str:
    """What the curator hears of the room in a session's prompt."""
    used = prompt_text.utf16_units(render_points(playbook.points))
    return (
        f"The playbook has {len(playbook.points)} key points, {used} characters. A session is shown at most about "
        f"{prompt_text.LIMIT_UNITS - 1000} characters of it, the best points first."
    )


def _propose(
    book: PlaybookRepository, judged: JudgedOperations, tags: JudgedTags, result: RevisionResult, session: str | None
) -> int:
    """Keep what a person is asked about; how much that is. What waited since an earlier session, and was carried out in
    this *result*, waits no longer."""
    counting = [*judged.counting, *({"type": "VOTE", **asdict(vote)} for vote in tags.votes)]
    for operation in counting:
        if waiting := book.matching_proposal(operation):
            book.decide([waiting.id], "accepted", session or settings.actor(), result.revision)
    kept = [
        book.add_proposal(dict(each.operation), each.operation["type"], each.evidence, each.trust, session)
        for each in (*tags.proposed, *judged.proposed)
    ]
    return sum(each is not None for each in kept)


def _numbered(
    skipped: Sequence[Skipped], given: Sequence[Any], refused: Sequence[Skipped], notes: Sequence[Skipped]
) -> list[Skipped]:
    """Everything that counts nothing, under numbers of their own: operations by their place among those *given*, then
    what the playbook as it is now *refused*, then the tags."""
    behind = len(given)
    return [*skipped, *(replace(each, index=behind + place) for place, each in enumerate([*refused, *notes]))]


def _day(time: str | None) -> str | None:
    return time[:10] if time else None


def shown_to(project: Project, book: PlaybookRepository, session_id: str) -> set[str]:
    """The points that the session was shown, by name; also those of which the team's database doesn't know yet."""
    unsent: list[str] = []
    if project.is_team:
        own = project.own
        with own.store.read(own.key) as of_own:
            unsent = memberships.unsent_points(of_own.connection, of_own.playbook_id, session_id)
    return book.shown_to(session_id, unsent)


def _is_known(book: PlaybookRepository, chunk: Chunk) -> bool:
    """Whether the cursor isn't where the chunk begins: somebody else has learned from it."""
    return book.learned_to(chunk.path) != chunk.start


def _note_own(book: PlaybookRepository, chunk: Chunk) -> bool:
    """Keep in the user's own playbook that *chunk* is done, and what was cited of it; False where it was done already,
    by who didn't come to keep the rest."""
    learned_to, first_uuid = book.cursor(chunk.path)
    if learned_to > chunk.start and first_uuid == chunk.first_uuid:
        return False
    book.add_citations(chunk.cited, session_id=chunk.session_id)
    _move_cursor(book, chunk)
    return True


def _move_cursor(book: PlaybookRepository, chunk: Chunk) -> None:
    book.move_cursor(
        chunk.path, chunk.end, session_id=chunk.session_id, last_uuid=chunk.last_uuid, first_uuid=chunk.first_uuid
    )


def _note_done(book: PlaybookRepository, chunk: Chunk, finishes: Job | None) -> None:
    """Move the cursor past the chunk, keep what was cited in it, of the points that were there before it, and how the
    session went, let points rest whose time has come, and end the job that it *finishes*."""
    book.add_citations(chunk.cited, session_id=chunk.session_id)
    book.add_counts(chunk.counts, session_id=chunk.session_id)
    book.rest_points()
    _move_cursor(book, chunk)
    if finishes is not None:
        jobs.finish(book.connection, finishes, now=book.now)
