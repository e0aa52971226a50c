"""Learning from one chunk of a transcript: reflector, votes, curator, one revision, and the cursor.

If there are more lessons than a batch may have operations, the others are stored like an answer of the reflector, and
the curator is asked again: each batch is a revision, and the cursor moves with the last one.

Valid answers are applied to the playbook as it is at that time. The revision, the proposals, the cursor and the end of
the job are one commit, so that a killed process leaves all of them or none.

The user's own playbook is committed first, as it may be in another database. It has its own cursor, so that the chunk
counts only once there even if the rest is tried again.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from playbook_db import settings
from playbook_db.domain import operations
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.trust import following
from playbook_db.domain.trust.judging import Review
from playbook_db.errors import RefusalError
from playbook_db.services.learning import diagnostics
from playbook_db.services.learning.asking import Chunk, Inquiry, LearningContext, Verdict
from playbook_db.services.learning.budget import Budget
from playbook_db.services.project import Project
from playbook_db.store import jobs
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.learning import Call, ShownPoint, StoredReflection
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin, RevisionResult
from playbook_db.store.queries.list_queries import Job
from playbook_db.store.team import memberships

if TYPE_CHECKING:
    from playbook_db.llm.model import Model


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The result of learning from a chunk: the revision, the model's calls, and the number of `proposals`. All are
    empty if the chunk was `already_learned`."""

    already_learned: bool = False
    revision: RevisionResult | None = None
    calls: tuple[Call, ...] = ()
    proposals: int = 0

    def followed_by(self, later: "LearnResult") -> "LearnResult":
        """Return this result together with the *later* batch's."""
        revision = later.revision if later.revision and later.revision.revision else self.revision
        return LearnResult(False, revision, self.calls + later.calls, self.proposals + later.proposals)


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
    """Learn from *chunk*, unless that is done already. The job passed as *finishes* ends in the same commit.

    *secrets* are redacted everywhere. *deadline* is a time of `time.monotonic`. Without a *budget* the daily one
    applies. *review* says which changes are only proposed. Raises ModelError, BudgetError and DatabaseError; the
    playbook is then unchanged. If the model refuses to answer, the chunk is skipped for good, and RefusalError is
    raised.
    """
    if not chunk.text.strip():
        return LearnResult(already_learned=not _pass_over(project, chunk, finishes))
    contexts: list[LearningContext] = []
    for each in project.playbooks():
        with each.store.read(each.key) as book:
            if each is project and _is_learned(book, chunk):
                return LearnResult(already_learned=True)
            contexts.append(_read_context(each, book, chunk))
    inquiry = Inquiry(project, chunk, model, deadline, secrets, budget, review)
    try:
        if not contexts[0].reflection.id:
            contexts = inquiry.reflect(contexts)
        verdict, *others = inquiry.curate(contexts)
    except RefusalError as error:
        _pass_over(project, chunk, None)
        place = f"Bytes {chunk.start} to {chunk.end} of {chunk.path}"
        raise RefusalError(f"{place} were skipped: {error} Nothing is learned from them.") from error
    proposals = sum(_keep(chunk, each, inquiry.calls, None).proposals for each in others)
    result = _keep(chunk, verdict, inquiry.calls, finishes)
    if result.already_learned:
        return result
    result = replace(result, proposals=result.proposals + proposals)
    if not verdict.rest.lessons:
        return result
    return result.followed_by(
        learn(
            project, chunk, model, deadline=deadline, secrets=secrets, finishes=finishes, budget=budget, review=review
        )
    )


@retry_on_conflict
def _pass_over(project: Project, chunk: Chunk, finishes: Job | None) -> bool:
    is_new = False
    for each in reversed(project.playbooks()):
        if each is project or any(map(is_users_name, chunk.cited)):
            with each.store.write(each.key) as book:
                if is_new := not _is_learned(book, chunk):
                    _note_done(each, book, chunk, finishes)
    return is_new


def _read_context(project: Project, book: PlaybookRepository, chunk: Chunk) -> LearningContext:
    session = chunk.session_id
    context = LearningContext(
        project,
        book.playbook(),
        book.revision,
        shown_to(project, book, session),
        book.voted_on(session).keys(),
        book.distinct_points(),
        {},
        book.waiting_reflection(chunk) or StoredReflection(),
        book.waiting_proposals(),
        book.taught_by(session),
    )
    return replace(context, signals=book.point_signals([point.name for point in context.points(chunk.cited)]))


@retry_on_conflict
def _keep(chunk: Chunk, verdict: Verdict, calls: Sequence[Call], finishes: Job | None) -> LearnResult:
    """Commit all results for one playbook: the revision, the proposals, the finished reflection and the cursor."""
    project, tags, judged, session = verdict.project, verdict.tags, verdict.operations, chunk.session
    with project.store.write(project.key) as book:
        if _is_learned(book, chunk):
            return LearnResult(already_learned=True, calls=tuple(calls))
        votes = operations.cast_votes(book.draft, tags.votes)
        count = len(book.draft.changes)
        refused = operations.apply_operations(book.draft, judged.counting, judged.evidence)
        changes = book.draft.changes[count:]
        pruned = operations.prune(book.draft)
        # The numbers of operations are their places in the curator's answer. Then come the operations that the playbook
        # refuses by now, and the tags that don't count.
        behind = enumerate([*refused, *tags.notes], len(verdict.raw))
        skipped = [*judged.skipped, *(replace(each, index=index) for index, each in behind)]
        result = book.commit(
            "learn", "learned from a session", votes=votes, skipped=skipped, origin=RevisionOrigin(session, session)
        )
        proposals = _propose(book, verdict, result, session)
        if verdict.reflection_id:
            curated = [call for call in calls if call.kind == "curate" and not project.is_users]
            book.finish_reflection(
                verdict.reflection_id, revision=result.revision, curator_reasoning=verdict.reasoning, calls=curated
            )
        book.keep_apart(verdict.apart, actor=session, judged_in=verdict.judged_in)
        added = {change.point.text: change.point.name for change in changes if change.kind == "add"}
        pairs = [(added[text], name) for text, name in verdict.new_apart if text in added]
        book.keep_apart(pairs, actor=session, judged_in=result.revision)
        if not verdict.rest.lessons:
            _note_done(project, book, chunk, finishes)
        elif not project.is_users:
            rest = verdict.rest
            book.add_reflection(
                chunk,
                session_id=chunk.session_id,
                analysis=rest.analysis,
                bullet_tags=[],
                lessons=rest.lessons,
                calls=[],
            )
    diagnostics.operations(project.folder, verdict.raw, result.skipped, changes)
    diagnostics.pruning(project.folder, pruned)
    return LearnResult(revision=result, calls=tuple(calls), proposals=proposals)


def _propose(book: PlaybookRepository, verdict: Verdict, result: RevisionResult, session: str | None) -> int:
    """Save the proposals, and return their number. Also accept proposals of earlier sessions if this *result* has
    applied them."""
    votes = ({"type": "VOTE", **asdict(vote)} for vote in verdict.tags.votes)
    for operation in (*verdict.operations.counting, *votes):
        if waiting := book.matching_proposal(operation):
            book.decide([waiting.id], "accepted", session or settings.actor(), result.revision)
    added = [
        book.add_proposal(dict(each.operation), each.operation["type"], each.evidence, each.trust, session)
        for each in (*verdict.tags.proposed, *verdict.operations.proposed)
    ]
    return sum(each is not None for each in added)


def shown_to(project: Project, book: PlaybookRepository, session_id: str) -> set[str]:
    """Return the names of the points that the session was shown."""
    return set(_shown_to(project, book, session_id))


def _shown_to(project: Project, book: PlaybookRepository, session_id: str) -> dict[str, ShownPoint]:
    """Return the points that the session was shown, by name. Some may not be in the team's database yet."""
    unsent: list[tuple[str, str]] = []
    if project.is_team:
        own = project.own
        with own.store.read(own.key) as own_book:
            unsent = memberships.unsent_points(own_book.connection, own_book.playbook_id, session_id)
    return book.shown_to(session_id, unsent)


def _is_learned(book: PlaybookRepository, chunk: Chunk) -> bool:
    """Return whether the cursor isn't at the start of *chunk*, because this or another worker has learned from it. The
    user's own playbook knows only the chunks that concern it, so its cursor may be behind."""
    learned_to, first_uuid = book.cursor(chunk.path)
    if book.is_users:
        return learned_to > chunk.start and first_uuid == chunk.first_uuid
    return learned_to != chunk.start


def _note_done(project: Project, book: PlaybookRepository, chunk: Chunk, finishes: Job | None) -> None:
    """Move the cursor past *chunk*. Store which points it cited, and whether it followed the points that it was
    shown. Let harmful points rest, and end the job passed as *finishes*."""
    book.add_citations(chunk.cited, session_id=chunk.session_id)
    for name, point in _shown_to(project, book, chunk.session_id).items():
        trial = following.judge(point.text, (act for act in chunk.acts if act.time > point.time))
        trial = replace(trial, followed=trial.followed or name in chunk.cited)
        if trial != following.Trial():
            book.add_trial(point.id, trial, session_id=chunk.session_id)
    book.rest_points()
    uuids = {"last_uuid": chunk.last_uuid, "first_uuid": chunk.first_uuid}
    book.move_cursor(chunk.path, chunk.end, session_id=chunk.session_id, **uuids)
    if finishes is not None and not book.is_users:
        jobs.finish(book.connection, finishes, now=book.now)
