"""What one chunk of a transcript teaches, by what the models say of it: the reflector, then the curator.

The models are asked outside any transaction. What the reflector said is kept at once, so that another try asks only for
what is missing; nothing else of a playbook changes here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from playbook_db.domain import duplicates, operations, prompt_text
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import KeyPoint, Playbook, storable
from playbook_db.domain.prompt_text import render_points
from playbook_db.domain.redaction.redact import redact, without_private
from playbook_db.domain.trust import judging
from playbook_db.domain.trust.evidence import Place
from playbook_db.domain.trust.judging import JudgedOperations, JudgedTags, Review
from playbook_db.domain.trust.outcomes import NOTHING, SessionCounts
from playbook_db.errors import ModelError
from playbook_db.services import templates
from playbook_db.services.learning import diagnostics
from playbook_db.services.learning.budget import Budget, check_budget
from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.learning import Call, ChunkKey, PointSignals, StoredReflection

if TYPE_CHECKING:
    from playbook_db.llm.curator import Curation
    from playbook_db.llm.marks import PointMarks
    from playbook_db.llm.model import Model, Prompt, Reply


_MAX_ITEMS = 2000  # of a list in a model's answer
_MAX_SAID_CHARS = 20_000  # of what a model says about a session
_MAX_REASON_CHARS = 1000  # of each text in a list's items, but a point's
_MAX_PLAYBOOK_CHARS = 120_000  # of the playbook in a prompt; the best points where not all fit, and the cited ones
_NO_TAGS, _NO_OPERATIONS = JudgedTags([], [], []), JudgedOperations([], [], [], [])


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

    @property
    def session(self) -> str | None:
        """The session that history names; None if nobody knows it."""
        return self.session_id if self.session_id.strip() else None


@dataclass(frozen=True, slots=True)
class LearningContext:
    """What was known before the model was asked: the playbook at its last `revision`, and the user's `own`; which
    points of both the session was `shown` and which it `voted` on itself, which pairs of the project's stay `apart`,
    what became of each; and the reflection that is `waiting` since an earlier try."""

    playbook: Playbook
    revision: int
    shown: Collection[str]
    apart: Sequence[tuple[str, str]]
    signals: Mapping[str, PointSignals]
    voted: Collection[str]
    waiting: StoredReflection | None
    own: Playbook = judging.NO_OWN

    def user_points(self, cited: Collection[str], of: Playbook | None = None) -> list[KeyPoint]:
        """The user's own points that the session was shown or *cited*: the model is told no others. They are as in the
        playbook *of*, where that is given."""
        had = {*self.shown, *cited}
        return [point for point in (of or self.own).points if point.name in had]

    def marks(self, points: Iterable[KeyPoint], cited: Collection[str]) -> "Iterator[PointMarks]":
        """What a prompt says of *points* beside their texts; their counters are those that they have now."""
        from playbook_db.llm.marks import PointMarks

        for point in points:
            had = point.name in self.shown, point.name in cited
            known = _dated(signals) if (signals := self.signals.get(point.name)) else {}
            yield PointMarks(point.name, point.helpful, point.harmful, *had, **known)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What counts for one playbook: of the reflector's `tags`, of the curator's `operations`; and the part of the
    reflection that is kept there, `reflection_id`, None where there is none."""

    tags: JudgedTags
    operations: JudgedOperations
    reflection_id: int | None


@dataclass(frozen=True, slots=True)
class Answers:
    """What the models said of a chunk: the verdict for the `project`, and for the user's `own` playbook, None where
    nothing concerns that; the `operations` as the curator gave them; which points stay `apart`, `judged_in` that
    revision; and its `reasoning`."""

    project: Verdict
    own: Verdict | None
    operations: list[Any]
    apart: Sequence[tuple[str, str]]
    judged_in: int
    reasoning: str


@dataclass(slots=True)
class Inquiry:
    """What the models are asked about one chunk. It is the model that is asked: it begins no call over the budget, and
    keeps each one, as of `kind`, as soon as its answer is there."""

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
                self._keep_call(Call(self.kind, None, sent, received, cached_tokens=0, cost_usd=None, duration_ms=0))
            raise
        usage = reply.usage
        if not (usage.input_tokens or usage.cached_tokens or usage.output_tokens):  # no budget would ever be spent
            sent, received = estimated(prompt, len(reply.text))
            usage = replace(usage, input_tokens=sent, output_tokens=received)
        self._keep_call(Call(self.kind, reply.model, **asdict(usage), duration_ms=reply.duration_ms))
        return reply

    @retry_on_conflict
    def _keep_call(self, call: Call) -> None:
        own = self.project.own
        with own.store.write(own.key) as book:
            book.add_call(call, session_id=self.chunk.session_id, agreed=self.budget is not None)
        self.calls.append(call)

    def reflect(self, known: LearningContext) -> StoredReflection:
        """Ask the reflector, and keep what it says before anything else happens."""
        from playbook_db.llm import marks, reflector

        cited = self.chunk.cited
        template = templates.load_template("reflector.txt")
        points, own = points_that_fit(known.playbook, cited), known.user_points(cited)
        had = (each for each in known.marks([*points, *own], cited) if each.was_shown or each.was_cited)
        answer = reflector.reflect(
            self,
            template=template,
            transcript=self._redacted(without_private(self.chunk.text)),
            playbook=marks.show(template, [points, own], had),  # it judges no others
            cited=[name for name in cited if name in known.playbook.by_name or name in known.own.by_name],
            deadline=self.deadline,
            must_answer=True,
        )
        diagnostics.exchanges(self.project.folder, "reflector", answer.exchanges, self._redacted)
        analysis = self._redacted(answer.analysis)[:_MAX_SAID_CHARS]
        tags, lessons = self._clean(answer.tags), self._clean(answer.lessons)
        user_tags = [tag for tag in tags if own and judging.is_users_tag(tag)]  # which a team doesn't read
        others = [tag for tag in tags if tag not in user_tags]
        user_reflection_id = self._keep_reflection(self.users, "", user_tags, []) if user_tags else None
        number = self._keep_reflection(self.project, analysis, others, lessons)
        return StoredReflection(
            number, analysis, [*others, *user_tags], lessons, user_reflection_id, is_empty=answer.is_empty
        )

    @retry_on_conflict
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

    def curate(self, known: LearningContext, reflection: StoredReflection) -> Answers:
        """Ask the curator about the playbook with the votes in it, and judge what counts of both answers. The curator
        isn't asked if the session taught nothing."""
        had, cited = {*known.shown, *self.chunk.cited}, self.chunk.cited
        both = replace(known.playbook, points=(*known.playbook.points, *known.own.points))
        tags = judging.judge_tags(both, reflection.bullet_tags, had, self.chunk.places, self.review, known.voted)
        voted, user_voted = (_voted(each, tags) for each in (known.playbook, known.own))
        points, own = points_that_fit(voted, cited), known.user_points(cited, user_voted)
        answer = None if reflection.is_empty else self._ask_curator(known, reflection, voted, points, own)
        curator_operations = self._clean(answer.operations) if answer else []
        judged = judging.judge_operations(voted, curator_operations, self.chunk.places, self.review, user_voted)
        user_tags = tags.of(users=True) if known.own.points else _NO_TAGS
        user_verdict = Verdict(user_tags, judged.own or _NO_OPERATIONS, reflection.user_reflection_id)
        concerns_user = own or user_tags != _NO_TAGS or user_verdict.operations != _NO_OPERATIONS
        return Answers(
            Verdict(tags.of(users=False) if known.own.points else tags, judged, reflection.id),
            user_verdict if concerns_user else None,
            curator_operations,
            answer.apart if answer else [],
            known.revision,
            self._redacted(answer.reasoning)[:_MAX_SAID_CHARS] if answer else "",
        )

    def _ask_curator(
        self,
        known: LearningContext,
        reflection: StoredReflection,
        voted: Playbook,
        points: Sequence[KeyPoint],
        own: Sequence[KeyPoint],
    ) -> "Curation":
        from playbook_db.llm import curator, marks
        from playbook_db.llm.reflector import Reflection

        template = templates.load_template("curator.txt")
        texts = [str(lesson.get("text")) for lesson in reflection.lessons]
        pairs, near = duplicates.candidates(points, texts, apart=known.apart)
        for place, names in duplicates.candidates(own, texts)[1].items():
            near[place] = [*near.get(place, []), *names]
        self.kind = "curate"
        answer = curator.curate(
            self,
            template=template,
            reflection=Reflection(reflection.analysis, reflection.bullet_tags, reflection.lessons),
            playbook=marks.show(template, [points, own], known.marks([*points, *own], self.chunk.cited)),
            candidates=curator.Candidates(pairs, near),
            size=_size(voted),
            deadline=self.deadline,
            must_answer=True,
        )
        diagnostics.exchanges(self.project.folder, "curator", answer.exchanges, self._redacted)
        return answer

    def _redacted(self, text: str) -> str:
        """*text* without secrets and as a database can keep it."""
        return storable(redact(text, self.secrets))

    def _clean(self, value: Any, key: str = "") -> Any:
        """*value*, JSON of a model under *key*, without secrets and in a size to keep. A point's text that is too long
        stays so by one character: it will be skipped."""
        if isinstance(value, str):
            is_point = key in ("text", "merged_text")
            return self._redacted(value)[: operations.MAX_TEXT_CHARS + 1 if is_point else _MAX_REASON_CHARS]
        if isinstance(value, list):
            return [self._clean(inner) for inner in value[:_MAX_ITEMS]]
        if isinstance(value, dict):
            return {self._redacted(str(name)): self._clean(inner, str(name)) for name, inner in value.items()}
        return value


def points_that_fit(playbook: Playbook, cited: Collection[str]) -> Sequence[KeyPoint]:
    """The points that a prompt shows: all, or those cited and the best of the others where there are too many."""
    points = playbook.points
    if len(render_points(points)) <= _MAX_PLAYBOOK_CHARS:
        return points
    first = [playbook.by_name[name] for name in cited if name in playbook.by_name]
    ranked = sorted(points, key=lambda point: prompt_text.rank(point.helpful, point.harmful, 0), reverse=True)
    return prompt_text.choose(dict.fromkeys([*first, *ranked]), _MAX_PLAYBOOK_CHARS)


def _size(playbook: Playbook) -> str:
    """What the curator hears of the room in a session's prompt."""
    used = prompt_text.utf16_units(render_points(playbook.points))
    return (
        f"The playbook has {len(playbook.points)} key points, {used} characters. A session is shown at most about "
        f"{prompt_text.LIMIT_UNITS - 1000} characters of it, the best points first."
    )


def _voted(playbook: Playbook, tags: JudgedTags) -> Playbook:
    """*playbook* with the votes on its points among *tags*."""
    draft = Draft(playbook)
    operations.cast_votes(draft, tags.of(users=playbook.is_users).votes)
    return draft.playbook()


def _dated(signals: PointSignals) -> dict[str, Any]:
    """What a mark says of a point that is known by *signals*."""
    return {
        "since": _day(signals.created_at),
        "confirmed": _day(signals.confirmed_at),
        "last_vote": f"{signals.last_vote} {_day(signals.last_vote_at)}" if signals.last_vote else None,
        "last_shown": _day(signals.last_shown_at),
        "last_cited": _day(signals.last_cited_at),
        "shown_in_vain": signals.shown_in_vain,
        "is_resting": bool(signals.resting),
        "is_pinned": bool(signals.pinned),
    }


def _day(time: str | None) -> str | None:
    return time[:10] if time else None
