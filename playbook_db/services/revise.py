"""The one way to change a playbook: read it under the write lock, plan on a draft, keep the result as one revision.

A use case is a plan: a function that works on a draft and says what the revision is about. It runs inside the
transaction, so it must neither sleep nor touch a file nor ask a model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import Change, Header, Playbook, Skipped, Vote
from playbook_db.domain.times import timestamp
from playbook_db.domain.undo import RevisionRange
from playbook_db.services.projects import Project
from playbook_db.store import revisions
from playbook_db.store.past import Past


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a plan says of the revision it wants: `source` and `message`, the votes taken, what was skipped, notes
    for the user, and the header afterwards if more of it changes than the time. `is_dated` keeps that header's
    own `last_updated`; else it becomes the revision's time. `is_kept_anyway` asks for a revision even where
    nothing changes but the time. `took_back` are the revisions that it undoes."""

    source: str
    message: str
    votes: Sequence[Vote] = ()
    skipped: Sequence[Skipped] = ()
    notes: Sequence[str] = ()
    header: Header | None = None
    is_dated: bool = False
    is_kept_anyway: bool = False
    session_id: str | None = None
    took_back: RevisionRange | None = None
    then: Callable[[Past, int | None], None] | None = None  # in the same transaction, with the revision's number


Plan = Callable[[Draft, Past], Proposal]


@dataclass(frozen=True, slots=True)
class Revised:
    """What came of a plan: the revision's number (None where nothing changed, or in a rehearsal), the playbook
    afterwards, and what was done, skipped and is worth a word."""

    revision: int | None
    playbook: Playbook
    changes: Sequence[Change] = field(default=())
    votes: Sequence[Vote] = field(default=())
    skipped: Sequence[Skipped] = field(default=())
    notes: Sequence[str] = field(default=())


def revise(project: Project, plan: Plan, *, now: datetime | None = None) -> Revised:
    """Carry out *plan* on the project's playbook, all of it or nothing; the playbook is made where there is none.

    No revision is kept where the plan changes nothing and has nothing to record. *now* is the revision's time.
    """
    moment = now or datetime.now(UTC)
    with project.store.transaction() as connection:
        past = Past.open_to_write(connection, project.key, now=timestamp(moment))
        draft = Draft(past.playbook())
        proposal = plan(draft, past)
        revised = _keep(past, draft, proposal, moment)
        if proposal.then is not None:
            proposal.then(past, revised.revision)
        return revised


def rehearse(project: Project, plan: Plan) -> Revised:
    """What *plan* would do to the playbook as it is now; nothing is written."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        draft = Draft(past.playbook())
        proposal = plan(draft, past)
    before = past.standing.header
    return _revised(None, draft, proposal, _told_header(proposal, before) or before)


def read(project: Project) -> Playbook:
    """The project's playbook as it is now; the empty one where there is none."""
    return read_with_revision(project)[0]


def read_with_revision(project: Project) -> tuple[Playbook, int]:
    """The project's playbook as it is now, and the number of its last revision (0 for a new one)."""
    with project.store.snapshot() as connection:
        past = Past.open(connection, project.key)
        return past.playbook(), past.revision


def _keep(past: Past, draft: Draft, proposal: Proposal, moment: datetime) -> Revised:
    before = draft.playbook().header
    told = _told_header(proposal, before)
    if not (draft.changes or proposal.votes or proposal.skipped or told or proposal.is_kept_anyway):
        return _revised(None, draft, proposal, before)
    time = _time_after(past.last_time, moment)
    if proposal.header is not None and proposal.is_dated:
        told = header = proposal.header
    else:
        header = (told or before).stamped(time)
    new = revisions.NewRevision(
        time=time,
        source=proposal.source,
        header=header,
        tells_header=told is not None,
        message=proposal.message,
        session_id=proposal.session_id,
        changes=draft.changes,
        votes=proposal.votes,
        skipped=proposal.skipped,
        took_back=proposal.took_back,
    )
    return _revised(past.append(new), draft, proposal, header)


def _told_header(proposal: Proposal, before: Header) -> Header | None:
    """The header that the proposal asks for, None where it is the one that is there."""
    asked = proposal.header
    if asked is None or asked == before:
        return None
    same_but_time = asked.stamped(None) == before.stamped(None)
    return None if same_but_time and not proposal.is_dated else asked


def _revised(revision: int | None, draft: Draft, proposal: Proposal, header: Header) -> Revised:
    after = draft.playbook()
    playbook = replace(after, header=header)
    return Revised(revision, playbook, draft.changes, proposal.votes, proposal.skipped, proposal.notes)


def _time_after(last: str | None, moment: datetime) -> str:
    """*moment*, or just after *last* where the clock says otherwise: a time names one revision."""
    time = timestamp(moment)
    if last is None or time > last:
        return time
    return timestamp(datetime.fromisoformat(last) + timedelta(microseconds=1))
