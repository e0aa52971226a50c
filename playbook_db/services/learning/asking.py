"""Asking the models about one chunk of a transcript: the reflector, the curator, and for the mark of risk.

The models are asked outside any transaction. The reflection is stored at once, so that another try doesn't ask for it
again. Nothing else in a playbook changes here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from playbook_db.domain import duplicates, operations, prompt_text
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import KeyPoint, Playbook, storable
from playbook_db.domain.prompt_text import render_points
from playbook_db.domain.proposals import Proposal
from playbook_db.domain.redaction.redact import redact, without_private
from playbook_db.domain.sections import OTHERS, SLUG_SECTIONS
from playbook_db.domain.trust import judging
from playbook_db.domain.trust.evidence import Place
from playbook_db.domain.trust.following import Act
from playbook_db.domain.trust.judging import JudgedOperations, JudgedTags, Review
from playbook_db.domain.trust.recurrence import Recurrence, judge_again
from playbook_db.errors import BudgetError, ModelError
from playbook_db.services import templates
from playbook_db.services.learning import diagnostics
from playbook_db.services.learning.budget import Budget, check_budget
from playbook_db.services.learning.instructions import read_instructions
from playbook_db.services.project import Project
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.learning import Call, ChunkKey, StoredReflection

if TYPE_CHECKING:
    from playbook_db.llm.curator import Curation
    from playbook_db.llm.marks import PointMarks
    from playbook_db.llm.model import Model, Prompt, Reply


_MAX_ITEMS = 2000  # of a list in a model's answer
_MAX_SAID_CHARS = 20_000  # of what a model says about a session
_MAX_REASON_CHARS = 1000  # of each text in a list's items, but a point's
_MAX_PLAYBOOK_CHARS = 120_000  # of the playbook in a prompt
# The section of a first point, by the kind of its lesson.
_SECTION_OF = {
    "rule": SLUG_SECTIONS["ctx"],
    "worked": SLUG_SECTIONS["pat"],
    "failed_and_recovered": SLUG_SECTIONS["mis"],
    "wasteful": SLUG_SECTIONS["mis"],
    "wish_of_the_user": SLUG_SECTIONS["pref"],
}


@dataclass(frozen=True, slots=True)
class Chunk(ChunkKey):
    """A chunk of a transcript as a model reads it.

    `text` is empty if nobody said or did anything in the chunk. `cited` are the points that the assistant named.
    `last_uuid` is the chunk's last entry, and `first_uuid` the transcript's first. `places` are the redacted parts that
    can be evidence, in order. `prompts` and `calls` count the user's prompts and the tool calls. `acts` list the
    session's actions. `branch` is the session's last branch in git, and `day` its last day, such as "2026-11-28".
    """

    text: str
    cited: tuple[str, ...]
    session_id: str
    last_uuid: str | None
    first_uuid: str | None = None
    places: tuple[Place, ...] = ()
    prompts: int = 0
    calls: int = 0
    acts: tuple[Act, ...] = ()
    branch: str = ""
    day: str = ""

    @property
    def session(self) -> str | None:
        """The session's id for the history, or None if the id is unknown."""
        return self.session_id if self.session_id.strip() else None


@dataclass(frozen=True, slots=True)
class LearningContext:
    """The data about the playbook of `project` that the models are asked with.

    `playbook` is the state at the last `revision`. The session was shown the points in `shown`, and itself voted on the
    points in `voted`. The pairs in `apart` are not duplicates. `signals` maps the names of points to their signals.
    `reflection` is the part of the reflector's answer for this playbook. `waiting` proposals wait for a person. The
    session has already added the points in `taught`, or learned them again.
    """

    project: Project
    playbook: Playbook
    revision: int
    shown: Collection[str]
    voted: Collection[str]
    apart: Sequence[tuple[str, str]]
    signals: Mapping[str, Mapping[str, Any]]
    reflection: StoredReflection
    waiting: Sequence[Proposal] = ()
    taught: Collection[str] = ()

    def points(self, cited: Collection[str]) -> Sequence[KeyPoint]:
        """Return the points for a prompt. If all points are too many, return the *cited* ones and the best others. From
        the user's personal playbook, return only points that the session was shown or *cited*."""
        points, by_name = self.playbook.points, self.playbook.by_name
        if self.playbook.is_users:
            return [point for point in points if point.name in self.shown or point.name in cited]
        if len(render_points(points)) <= _MAX_PLAYBOOK_CHARS:
            return points
        ranked = sorted(points, key=lambda point: prompt_text.rank(point.helpful, point.harmful, 0), reverse=True)
        first = [by_name[name] for name in cited if name in by_name]
        chosen = prompt_text.choose(dict.fromkeys([*first, *ranked]), _MAX_PLAYBOOK_CHARS)
        return [point for point, _ in chosen]

    def marks(self, cited: Collection[str]) -> "Iterator[PointMarks]":
        """Yield the votes and signals of each point in a prompt. The prompt shows them beside the point's text."""
        from playbook_db.llm.marks import PointMarks

        for point in self.points(cited):
            had = point.name in self.shown, point.name in cited
            yield PointMarks(point.name, point.helpful, point.harmful, *had, **self.signals.get(point.name, {}))

    def with_votes(self, tags: JudgedTags) -> Self:
        """Return a copy of this context whose playbook counts the votes in *tags*."""
        draft = Draft(self.playbook)
        operations.cast_votes(draft, tags.votes)
        return replace(self, playbook=draft.playbook())


@dataclass(frozen=True, slots=True)
class Verdict:
    """The valid parts of the models' answers for one playbook: the reflector's `tags` and the curator's `operations`.

    `raw` has all operations that the curator returned. `reflection_id` is the number of the stored reflection (0:
    none). The curator judged at the revision `judged_in` that the pairs in `apart` are no duplicates. `reasoning` is
    the curator's explanation. `rest` has the lessons for the next batch.
    `new_apart` pairs the text of an added point with the name of a point that is no duplicate of it.
    """

    project: Project
    tags: JudgedTags
    operations: JudgedOperations
    raw: Sequence[Any]
    reflection_id: int
    apart: Sequence[tuple[str, str]] = ()
    judged_in: int = 0
    reasoning: str | None = None
    rest: StoredReflection = field(default_factory=StoredReflection)
    new_apart: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class Inquiry:
    """Asks the models about one chunk until the budget is spent. The cost of each call is stored, with its `kind`, as
    soon as the answer arrives."""

    project: Project
    chunk: Chunk
    model: "Model"
    deadline: float
    secrets: Collection[str]
    budget: Budget | None
    review: Review
    kind: str = "reflect"
    calls: list[Call] = field(default_factory=list)

    def ask(self, prompt: "Prompt", *, deadline: float) -> "Reply":
        """Ask the model. Raises BudgetError if the budget is spent, and any error of the model."""
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
            usage = usage._replace(input_tokens=sent, output_tokens=received)
        self._keep_call(Call(self.kind, reply.model, **usage._asdict(), duration_ms=reply.duration_ms))
        return reply

    @retry_on_conflict
    def _keep_call(self, call: Call) -> None:
        own = self.project.own
        with own.store.write(own.key) as book:
            book.add_call(call, session_id=self.chunk.session_id, agreed=self.budget is not None)
        self.calls.append(call)

    def reflect(self, contexts: Sequence[LearningContext]) -> list[LearningContext]:
        """Ask the reflector, and store its answer at once. Return *contexts*, each with its part of the answer."""
        from playbook_db.llm import marks, reflector

        cited = self.chunk.cited
        template = templates.load_template("reflector.txt")
        had = (mark for each in contexts for mark in each.marks(cited) if mark.was_shown or mark.was_cited)
        answer = reflector.reflect(
            self,
            template=template,
            transcript=self._redacted(without_private(self.chunk.text)),
            playbook=marks.show(  # it judges no others
                template, [each.points(cited) for each in contexts], had, [each.waiting for each in contexts]
            ),
            cited=[name for name in cited if any(name in each.playbook.by_name for each in contexts)],
            deadline=self.deadline,
            setting={
                "branch": self._redacted(self.chunk.branch),
                "day": self._redacted(self.chunk.day),
                "instructions": read_instructions(
                    self.project.folder, lambda text: self._redacted(without_private(text))
                ),
            },
            must_answer=True,
        )
        diagnostics.exchanges(self.project.folder, "reflector", answer.exchanges, self._redacted)
        analysis = self._redacted(answer.analysis)[:_MAX_SAID_CHARS]
        tags, *other_tags = operations.split_tags([each.playbook for each in contexts], self._clean(answer.tags))
        # The others' parts come first, as the project's says that the reflector was asked. A team doesn't read them.
        parts = [StoredReflection(bullet_tags=each) for each in other_tags]
        others = [self._keep_reflection(each, part) for each, part in zip(contexts[1:], parts, strict=True)]
        part = StoredReflection(0, analysis, tags, self._clean(answer.lessons), is_empty=answer.is_empty)
        return [self._keep_reflection(contexts[0], part), *others]

    @retry_on_conflict
    def _keep_reflection(self, context: LearningContext, part: StoredReflection) -> LearningContext:
        """Store *part*, this playbook's part of the reflector's answer. The personal one stores it only with tags."""
        project = context.project
        if part.bullet_tags or not project.is_users:
            with project.store.write(project.key) as book:
                number = book.add_reflection(
                    self.chunk,
                    session_id=self.chunk.session_id,
                    analysis=part.analysis,
                    bullet_tags=part.bullet_tags,
                    lessons=part.lessons,
                    calls=[] if project.is_users else self.calls,
                )
            part = replace(part, id=number)
        return replace(context, reflection=part)

    def curate(self, contexts: Sequence[LearningContext]) -> list[Verdict]:
        """Ask the curator, and judge the answers of both models. The curator sees the playbooks after the votes. It
        isn't asked if there is no lesson, or no point yet: then the lessons become points. It is asked about as many
        lessons as a batch may have operations. Return the project's verdict, then other playbooks' verdicts."""
        cited, places = self.chunk.cited, self.chunk.places
        lessons, others = contexts[0].reflection.first_lessons(operations.MAX_OPERATIONS)
        rest = replace(contexts[0].reflection, bullet_tags=[], lessons=others)
        own = replace(contexts[0], reflection=replace(contexts[0].reflection, lessons=lessons))
        contexts = [own, *contexts[1:]]
        tags = [
            judging.judge_tags(
                each.playbook, each.reflection.bullet_tags, {*each.shown, *cited}, places, self.review, each.voted
            )
            for each in contexts
        ]
        voted = [each.with_votes(votes) for each, votes in zip(contexts, tags, strict=True)]
        is_first = lessons and not any(each.points(cited) for each in voted)
        answer = None if not lessons or is_first else self._ask_curator(voted)
        raw = self._clean(answer.operations) if answer else _additions(lessons) if is_first else []
        again = [
            judge_again(each.playbook, each.waiting, lessons, places, self.chunk.session, self.review) for each in voted
        ]
        judged = self._judged([each.playbook for each in voted], raw, again)
        for each, votes, decided, more_often in zip(voted, tags, judged, again, strict=True):
            more_often.add_to(votes, decided, taught=each.taught)
        first, *more = [
            Verdict(each.project, votes, decided, raw, each.reflection.id, rest=rest)
            for each, votes, decided in zip(voted, tags, judged, strict=True)
        ]
        first = replace(first, judged_in=voted[0].revision, reasoning="")
        if answer:
            reasoning = self._redacted(answer.reasoning)[:_MAX_SAID_CHARS]
            first = replace(first, apart=answer.apart, new_apart=answer.new_apart, reasoning=reasoning)
        concerned = [
            verdict
            for each, verdict in zip(voted[1:], more, strict=True)
            if each.points(cited) or verdict.tags != JudgedTags() or verdict.operations != JudgedOperations()
        ]
        return [first, *concerned]

    def _judged(
        self, playbooks: Sequence[Playbook], raw: Sequence[Any], again: Sequence[Recurrence]
    ) -> list[JudgedOperations]:
        """Judge the curator's *raw* operations, and what lessons say *again*. Ask which of their texts are risky."""
        places = self.chunk.places
        judged = judging.judge_operations(playbooks, raw, places, self.review)
        texts = [*judging.texts_to_mark(judged), *(text for each in again for text in each.texts_to_mark())]
        if self.review == "fetched" and texts:
            marks = self._mark(list(dict.fromkeys(texts)))
            judged = judging.judge_operations(playbooks, raw, places, self.review, marks)
            for each in again:
                each.hold_back(marks)
        return judged

    def _ask_curator(self, contexts: Sequence[LearningContext]) -> "Curation":
        from playbook_db.llm import curator, marks
        from playbook_db.llm.reflector import Reflection

        cited, reflection = self.chunk.cited, contexts[0].reflection
        tags = [tag for each in contexts for tag in each.reflection.bullet_tags]
        template = templates.load_template("curator.txt")
        texts = [str(lesson.get("text")) for lesson in reflection.lessons]
        points, *other_points = [each.points(cited) for each in contexts]
        pairs, near = duplicates.candidates(points, texts, apart=contexts[0].apart)
        for each in other_points:
            for place, names in duplicates.candidates(each, texts)[1].items():
                near[place] = [*near.get(place, []), *names]
        all_names = [point.name for each in (points, *other_points) for point in each]
        for place, lesson in enumerate(reflection.lessons):
            if names := [*duplicates.names_in(lesson, all_names), *near.get(place, [])]:
                near[place] = [*dict.fromkeys(names)]
        tagged = dict.fromkeys(name for tag in tags for name in duplicates.names_in(tag, all_names))
        self.kind = "curate"
        answer = curator.curate(
            self,
            template=template,
            reflection=Reflection(reflection.analysis, tags, reflection.lessons),
            playbook=marks.show(
                template,
                [points, *other_points],
                [mark for each in contexts for mark in each.marks(cited)],
                [each.waiting for each in contexts],
            ),
            candidates=curator.Candidates(pairs, near, tagged),
            deadline=self.deadline,
            must_answer=True,
        )
        diagnostics.exchanges(self.project.folder, "curator", answer.exchanges, self._redacted)
        return answer

    def _mark(self, texts: Sequence[str]) -> Mapping[str, bool]:
        """Ask which of the *texts* are risky. Return no marks if there is no answer: then the texts wait."""
        from playbook_db.llm import risk
        from playbook_db.llm.model import RecordingModel

        self.kind = "curate"
        recording = RecordingModel(self)
        try:
            return risk.mark(
                recording, template=templates.load_template("risk.txt"), texts=texts, deadline=self.deadline
            )
        except (ModelError, BudgetError):
            return {}
        finally:
            diagnostics.exchanges(self.project.folder, "risk", recording.exchanges, self._redacted)

    def _redacted(self, text: str) -> str:
        """Return *text* without secrets and without characters that a database can't store."""
        return storable(redact(text, self.secrets))

    def _clean(self, value: Any, key: str = "") -> Any:
        """Return *value*, a model's JSON value for *key*, without secrets and cut to the stored length. A point's text
        that is too long keeps one character too many, so that it is skipped later."""
        if isinstance(value, str):
            is_point = key in ("text", "merged_text")
            return self._redacted(value)[: operations.MAX_TEXT_CHARS + 1 if is_point else _MAX_REASON_CHARS]
        if isinstance(value, list):
            return [self._clean(inner) for inner in value[:_MAX_ITEMS]]
        if isinstance(value, dict):
            return {self._redacted(str(name)): self._clean(inner, str(name)) for name, inner in value.items()}
        return value


def _additions(lessons: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "type": "ADD",
            "text": lesson.get("text", ""),
            "section": _SECTION_OF.get(str(lesson.get("kind")), OTHERS),
            "evidence": lesson.get("evidence", []),
        }
        for lesson in lessons
    ]
