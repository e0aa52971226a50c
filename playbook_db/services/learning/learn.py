"""Learning from one chunk of a transcript: reflector, votes, curator, one revision, and the cursor moved with it.

What the models say is planned again on the playbook as it is then; the revision, the proposals, the cursor and the end
of the job are one commit, so that a kill leaves all or nothing.

What concerns the user's own playbook is a commit before that one, since it may be in another database; a cursor there
makes it count once, however often the chunk is learned from until the other is kept.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from playbook_db import settings
from playbook_db.domain import operations
from playbook_db.domain.playbook import Change, KeyPoint
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.trust.judging import Review
from playbook_db.errors import RefusalError
from playbook_db.services.learning import diagnostics
from playbook_db.services.learning.asking import Answers, Chunk, Inquiry, LearningContext, Verdict, points_that_fit
from playbook_db.services.learning.budget import Budget
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import jobs
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin, RevisionResult
from playbook_db.store.quick_sql import Job
from playbook_db.store.team import memberships

if TYPE_CHECKING:
    from playbook_db.llm.model import Model


@dataclass(frozen=True, slots=True)
class LearnResult:
    """What a chunk taught: nothing if it was `already_learned`; else the revision, if any, the calls of the model, and
    about how many `proposals` a person is asked."""

    already_learned: bool = False
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
        return LearnResult(already_learned=not _pass_over(project, chunk, finishes))
    users = project.playbooks()[-1]
    known = _read_context(project, users, chunk)
    if known is None:
        return LearnResult(already_learned=True)
    inquiry = Inquiry(project, users, chunk, model, deadline, secrets, budget, review)
    try:
        answers = inquiry.curate(known, known.waiting or inquiry.reflect(known))
    except RefusalError as error:
        _pass_over(project, chunk, None)
        place = f"Bytes {chunk.start} to {chunk.end} of {chunk.path}"
        raise RefusalError(f"{place} were passed over: {error} Nothing is learned from them.") from error
    user_proposals = _keep_for_user(users, chunk, answers) if answers.own else 0
    result = _keep_for_project(project, chunk, answers, inquiry.calls, finishes)
    return result if result.already_learned else replace(result, proposals=result.proposals + user_proposals)


@retry_on_conflict
def _pass_over(project: Project, chunk: Chunk, finishes: Job | None) -> bool:
    """Keep that *chunk* is done, though nothing was learned from it; False where it was done already."""
    if any(map(is_users_name, chunk.cited)):
        users = project.playbooks()[-1]
        with users.store.write(users.key) as own:
            _note_for_user(own, chunk)
    with project.store.write(project.key) as book:
        is_new = not _is_known(book, chunk)
        if is_new:
            _note_done(book, chunk, finishes)
    return is_new


def _read_context(project: Project, users: Project, chunk: Chunk) -> LearningContext | None:
    """What is known before a model is asked; None if somebody else has learned from *chunk*."""
    session = chunk.session_id
    with project.store.read(project.key) as book:
        if _is_known(book, chunk):
            return None
        playbook = book.playbook()
        known = LearningContext(
            playbook,
            book.revision,
            shown_to(project, book, session),
            book.distinct_points(),
            book.point_signals([point.name for point in points_that_fit(playbook, chunk.cited)]),
            book.voted_on(session).keys(),
            book.waiting_reflection(chunk.key),
        )
    with users.store.read(users.key) as book:
        if not book.revision:
            return known
        shown, voted = {*known.shown, *book.shown_to(session)}, {*known.voted, *book.voted_on(session)}
        known = replace(known, own=book.playbook(), shown=shown, voted=voted)
        signals = book.point_signals([point.name for point in known.user_points(chunk.cited)])
        user_reflection = book.waiting_reflection(chunk.key)
    if (waiting := known.waiting) and user_reflection:
        tags = [*waiting.bullet_tags, *user_reflection.bullet_tags]
        waiting = replace(waiting, bullet_tags=tags, user_reflection_id=user_reflection.id)
    return replace(known, signals={**known.signals, **signals}, waiting=waiting)


@retry_on_conflict
def _keep_for_user(users: Project, chunk: Chunk, answers: Answers) -> int:
    """Keep what concerns the user's own playbook; about how many proposals that are."""
    with users.store.write(users.key) as book:
        if answers.own is None or not _note_for_user(book, chunk):
            return 0
        commit = _commit(book, chunk, answers, answers.own)
        book.rest_points()
    return commit.proposals


@retry_on_conflict
def _keep_for_project(
    project: Project, chunk: Chunk, answers: Answers, calls: Sequence[Call], finishes: Job | None
) -> LearnResult:
    """Keep everything that counts for the project's playbook."""
    with project.store.write(project.key) as book:
        if _is_known(book, chunk):
            return LearnResult(already_learned=True, calls=tuple(calls))
        curated = [call for call in calls if call.kind == "curate"]
        commit = _commit(book, chunk, answers, answers.project, answers.reasoning, curated)
        book.keep_apart(answers.apart, actor=chunk.session, judged_in=answers.judged_in)
        _note_done(book, chunk, finishes)
    diagnostics.operations(project.folder, answers.operations, commit.result.skipped, commit.changes)
    diagnostics.pruning(project.folder, commit.pruned)
    return LearnResult(revision=commit.result, calls=tuple(calls), proposals=commit.proposals)


@dataclass(frozen=True, slots=True)
class _CommitResult:
    """What a commit came to: its revision, the changes that operations made, the points that were pruned, and how many
    proposals a person is asked about."""

    result: RevisionResult
    changes: Sequence[Change]
    pruned: Sequence[KeyPoint]
    proposals: int


def _commit(
    book: PlaybookRepository,
    chunk: Chunk,
    answers: Answers,
    verdict: Verdict,
    reasoning: str | None = None,
    calls: Sequence[Call] = (),
) -> _CommitResult:
    """Keep all that counts for one playbook as one revision, beside it what a person is asked about, and of the
    reflection that it is done, with the curator's *reasoning* and *calls*."""
    tags, judged, session = verdict.tags, verdict.operations, chunk.session
    votes = operations.cast_votes(book.draft, tags.votes)
    count = len(book.draft.changes)
    refused = operations.apply_operations(book.draft, judged.counting, judged.evidence)
    changes = book.draft.changes[count:]
    pruned = edit.prune_or_propose(book, votes, session)
    # An operation's number is its place among those given; what the playbook as it is now refuses, and tags, follow.
    behind = enumerate([*refused, *tags.notes], len(answers.operations))
    skipped = [*judged.skipped, *(replace(each, index=index) for index, each in behind)]
    result = book.commit(
        "learn", "learned from a session", votes=votes, skipped=skipped, origin=RevisionOrigin(session, session)
    )
    waiting = _propose(book, verdict, result, session)
    if (number := verdict.reflection_id) is not None:
        book.finish_reflection(number, revision=result.revision, curator_reasoning=reasoning, calls=calls)
    return _CommitResult(result, changes, pruned, waiting)


def _propose(book: PlaybookRepository, verdict: Verdict, result: RevisionResult, session: str | None) -> int:
    """Keep what a person is asked about; how much that is. What waited since an earlier session, and was carried out in
    this *result*, waits no longer."""
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
    """The points that the session was shown, by name; also those of which the team's database doesn't know yet."""
    unsent: list[str] = []
    if project.is_team:
        own = project.own
        with own.store.read(own.key) as own_book:
            unsent = memberships.unsent_points(own_book.connection, own_book.playbook_id, session_id)
    return book.shown_to(session_id, unsent)


def _is_known(book: PlaybookRepository, chunk: Chunk) -> bool:
    """Whether the cursor isn't where the chunk begins: somebody else has learned from it."""
    return book.learned_to(chunk.path) != chunk.start


def _note_for_user(book: PlaybookRepository, chunk: Chunk) -> bool:
    """Keep in the user's own playbook that *chunk* is done, and what was cited of it; False where it was done already,
    by who didn't come to keep the rest."""
    learned_to, first_uuid = book.cursor(chunk.path)
    if learned_to > chunk.start and first_uuid == chunk.first_uuid:
        return False
    book.add_citations(chunk.cited, session_id=chunk.session_id)
    _move_cursor(book, chunk)
    return True


def _note_done(book: PlaybookRepository, chunk: Chunk, finishes: Job | None) -> None:
    """Move the cursor past the chunk, keep what was cited in it, of the points that were there before it, and how the
    session went, let points rest whose time has come, and end the job that it *finishes*."""
    book.add_citations(chunk.cited, session_id=chunk.session_id)
    book.add_counts(chunk.counts, session_id=chunk.session_id)
    book.rest_points()
    _move_cursor(book, chunk)
    if finishes is not None:
        jobs.finish(book.connection, finishes, now=book.now)


def _move_cursor(book: PlaybookRepository, chunk: Chunk) -> None:
    book.move_cursor(
        chunk.path, chunk.end, session_id=chunk.session_id, last_uuid=chunk.last_uuid, first_uuid=chunk.first_uuid
    )
