"""Suggestions that a running session makes with the MCP tools.

Changes wait for a person. Votes count by the same rules as votes learned from transcripts. A session can undo its own
changes. If the user's settings allow it, its changes *count* at once, and name the session as their author.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from playbook_db.domain import operations
from playbook_db.domain.merging.undo_rules import RevisionRange
from playbook_db.domain.playbook import NOTE, Vote, storable
from playbook_db.domain.proposals import WITHDRAWN, name_of
from playbook_db.domain.redaction.redact import redact, without_private
from playbook_db.domain.trust import judging
from playbook_db.domain.trust.evidence import OUTSIDE, Place, find_evidence
from playbook_db.domain.trust.judging import Review
from playbook_db.errors import NotFoundError, PointRuleError
from playbook_db.services.learning import learn
from playbook_db.services.playbook import edit, undo
from playbook_db.services.playbook.undo import UndoResult
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import history
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin, RevisionResult

_ACCEPTED = "accepted proposal"  # begins the message of a revision that a person made
MAX_WAITING = 50  # proposals of one session; nobody decides about more
_LOOKED_BACK = 200  # revisions of a session, among which its own are searched


@dataclass(frozen=True, slots=True)
class McpSession:
    """A session that uses the MCP tools.

    `had` are the points that it saw besides those that hooks showed it. `places` are parts of its transcript. `secrets`
    must not be stored. `review` says which of its votes are only proposed. If `counts`, its changes count at once.
    """

    id: str
    had: frozenset[str] = frozenset()
    places: tuple[Place, ...] = ()
    secrets: frozenset[str] = frozenset()
    review: Review = "fetched"
    counts: bool = False


@dataclass(frozen=True, slots=True)
class SuggestionResult:
    """The result of a suggestion: a `revision` if it counts at once, else the `name` of a proposal (`p3`). `trust` is
    that of its evidence. `sessions` is the number of sessions that have proposed it."""

    revision: RevisionResult | None = None
    name: str = ""
    trust: str = OUTSIDE
    sessions: int = 1


@retry_on_conflict
def suggest(project: Project, session: McpSession, operation: Mapping[str, Any]) -> SuggestionResult:
    """Propose *operation*, or apply it at once if the session's changes count at once. Raises PointRuleError if it
    breaks a rule, and NotFoundError."""
    operation = _clean(dict(operation), session)
    for name in operations.named_points(operation, str(operation.get("type"))):
        edit.find_live(project.with_point(name), name)
    if isinstance(operation.get("text"), str):
        edit.usable(operation["text"])
    if session.counts:
        return SuggestionResult(_carry_out(project, session, operation))
    playbooks = project.playbooks()
    all_judged = judging.judge_operations(list(map(read_playbook, playbooks)), [operation], session.places, "all")
    pairs = zip(playbooks, all_judged, strict=True)
    target, judged = next((each, judged) for each, judged in pairs if judged.skipped or judged.proposed)
    for skipped in judged.skipped:
        raise PointRuleError(f"This can't be proposed: {skipped.reason}.")
    return _propose(target, session, judged.proposed[0])


@retry_on_conflict
def vote(
    project: Project, session: McpSession, name: str, tag: str, *, reason: str = "", quotes: Collection[str] = ()
) -> SuggestionResult:
    """Count a vote on the point *name*, or propose the vote if its evidence is weak. *quotes* from the transcript are
    the evidence. Raises NotFoundError, and PointRuleError if the vote can't count."""
    target = project.with_point(name)
    entry = _clean({"name": name, "tag": tag, "rationale": reason, "evidence": list(quotes)}, session)
    with target.store.read(target.key) as book:
        point = edit.live_point(book, name)
        playbook = book.playbook()
        had = {*session.had, *learn.shown_to(target, book, session.id)}
        voted = book.voted_on(session.id)
    if name in voted:
        raise PointRuleError(f"This session has voted {voted[name]} on {name} already; only one vote a session counts.")
    evidence = tuple(find_evidence(entry["evidence"], session.places))
    if session.counts:
        return SuggestionResult(_cast(target, session, Vote(name, tag, entry["rationale"] or None, evidence=evidence)))
    if name not in had:
        raise PointRuleError(
            f"{name} was neither shown to this session nor cited in it, so this session can't vote on the point. "
            "Search for the point first. If you then follow it, and it helps or harms, vote."
        )
    judged = judging.judge_tags(playbook, [entry], had, session.places, session.review)
    for counting in judged.votes:
        return SuggestionResult(_cast(target, session, counting))
    for proposed in judged.proposed:
        return _propose(target, session, proposed)
    (note,) = judged.notes
    raise PointRuleError(
        f"This vote on {point.name} doesn't count: {note.reason.removeprefix(NOTE)}. As evidence, quote from this "
        "session, word for word, the user's words or the output of a test or a build."
    )


@retry_on_conflict
def withdraw(project: Project, session: McpSession, what: str = "") -> str | UndoResult:
    """Undo a proposal (`p3`) or a revision (`12`, `r12`) that the session made with these tools. The default is its
    last. Return the proposal's name, or the result of the undo. Raises UndoCollisionError, and PointRuleError if the
    session didn't make it."""
    actions = _session_actions(project, session)
    if not actions:
        raise PointRuleError("This session has done nothing that could be undone with these tools.")
    chosen = [each for each in actions if not what or what.strip().casefold() in (each.name, f"r{each.name}")]
    if not chosen:
        mine = ", ".join(each.name for each in sorted(actions, key=lambda each: each.at))
        raise PointRuleError(
            f"This session didn't make {what.strip()} with these tools, so it can't undo that. It can undo: {mine}."
        )
    last = max(chosen, key=lambda each: each.at)
    if not last.proposal:
        return undo.undo(last.project, RevisionRange(int(last.name), int(last.name)))
    with last.project.store.write(last.project.key) as book:
        book.decide([last.proposal], "rejected", WITHDRAWN, None)
    return last.name


class _SessionAction(NamedTuple):
    """An action of a session with these tools: a `proposal` with that number, or a revision if the number is 0."""

    project: Project
    at: str
    name: str
    proposal: int = 0


def _session_actions(project: Project, session: McpSession) -> list[_SessionAction]:
    """Return the waiting proposals that only this session made, and its revisions that weren't undone."""
    actions = []
    for place in project.playbooks():
        with place.store.read(place.key) as book:
            waiting = book.waiting_proposals()
        actions += [
            _SessionAction(place, each.created_at, name_of(each.id, is_users=place.is_users), each.id)
            for each in waiting
            if each.session_id == session.id and each.sessions == 1
        ]
        query = history.LogQuery(session=session.id, source="edit", limit=_LOOKED_BACK)
        with suppress(NotFoundError):
            actions += [
                _SessionAction(place, each.time, f"{each.number}")
                for each in history.log(place, query, most_changes=1)
                if each.session_id == session.id
                and not each.undone_in
                and not (each.message or "").startswith(_ACCEPTED)
            ]
    return actions


def _propose(target: Project, session: McpSession, proposed: judging.Proposed) -> SuggestionResult:
    fields = dict(proposed.operation)
    with target.store.write(target.key) as book:
        if sum(each.session_id == session.id for each in book.waiting_proposals()) >= MAX_WAITING:
            raise PointRuleError(
                f"{MAX_WAITING} proposals of this session wait already. The user has to decide on some of them first."
            )
        proposal = book.add_proposal(fields, fields["type"], proposed.evidence, proposed.trust, session.id)
    if proposal is None:
        raise PointRuleError("The user has rejected this before, so it isn't proposed again.")
    name = name_of(proposal.id, is_users=target.is_users)
    return SuggestionResult(name=name, trust=proposal.trust, sessions=proposal.sessions)


def _carry_out(project: Project, session: McpSession, operation: Mapping[str, Any]) -> RevisionResult:
    words = {"add": "added", "edit": "edited", "retire": "retired"}
    target = project.playbooks()[-1] if operations.is_for_user(operation) else project
    quotes = operation.get("evidence")
    evidence = tuple(find_evidence(quotes, session.places)) if isinstance(quotes, list) else ()
    with target.store.write(target.key) as book:
        for skipped in operations.apply_operations(book.draft, [operation], [evidence]):
            raise PointRuleError(f"This can't be done: {skipped.reason}. Nothing was changed.")
        changes = ((words.get(change.kind, change.kind), change.point.name) for change in book.draft.changes)
        return _commit(book, session, ", ".join(f"{verb} {name}" for verb, name in changes))


def _cast(target: Project, session: McpSession, vote: Vote) -> RevisionResult:
    with target.store.write(target.key) as book:
        votes = operations.cast_votes(book.draft, [vote])
        return _commit(book, session, f"voted {vote.name} {vote.tag}", votes)


def _commit(
    book: PlaybookRepository, session: McpSession, message: str, votes: Collection[Vote] = ()
) -> RevisionResult:
    return book.commit("edit", message, votes=tuple(votes), origin=RevisionOrigin(session.id, session.id))


def _clean(value: Any, session: McpSession) -> Any:
    """Remove secrets, private texts and characters that a database can't store from *value*, JSON from a model."""
    if isinstance(value, str):
        return storable(redact(without_private(value), session.secrets))
    if isinstance(value, list):
        return [_clean(each, session) for each in value]
    if isinstance(value, dict):
        return {key: _clean(each, session) for key, each in value.items()}
    return value
