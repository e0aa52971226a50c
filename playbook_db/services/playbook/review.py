"""What of learning waits for a person: the proposals, and what becomes of them.

What is accepted is carried out on the playbook as it is now, all of it in one revision. Beside a project's proposals
wait those for the user's own playbook, whatever project their sessions were in.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from playbook_db import projects
from playbook_db.domain import operations
from playbook_db.domain.draft import Draft
from playbook_db.domain.operations import TEXT_KEYS
from playbook_db.domain.playbook import KeyPoint, Vote
from playbook_db.domain.proposals import Proposal, ReviewItem, name_of
from playbook_db.domain.sections import USERS_MARK
from playbook_db.errors import ProposalNotFoundError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.store import quick_sql
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import PlaybookRepository, RevisionOrigin, RevisionResult

_NUMBER = re.compile(rf"({USERS_MARK}?p)?([0-9]+)")
_MOST_DIGITS = 9  # of a number that a database may have
_DECIDED = "it doesn't wait any more: somebody has decided it"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person says to the proposal *number*, of the user's own playbook where it *is_users*; an accepted one may
    get another *text*. *was* are the texts, by name, of the points that it is about as the person has seen them: where
    one has another now, it isn't carried out."""

    number: int
    accepts: bool
    text: str | None = None
    is_users: bool = False
    was: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ReviewResult:
    """What became of the proposals, by their numbers: `accepted`, `rejected`; `needless` are accepted ones for which
    nothing was to be done any more, `refused` those that still wait since they can't be carried out, both with the
    reason. `pruned` are points that had to leave by the votes that were accepted."""

    revision: RevisionResult
    accepted: list[int] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    needless: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    pruned: Sequence[KeyPoint] = ()

    def named(self, number: int) -> str:
        """What a person calls the proposal *number* of this playbook."""
        return name_of(number, is_users=projects.is_users(self.revision.key))


def all_waiting(project: Project) -> list[ReviewItem]:
    """The proposals that wait for a person who is in *project*: those for its playbook, then those for their own."""
    return [item for each in project.playbooks() for item in waiting(each)]


def waiting(project: Project) -> list[ReviewItem]:
    """The proposals for the playbook of *project* that wait for a person, in the order in which they came."""
    with project.store.read(project.key) as book:
        return quick_sql.waiting(book, is_users=project.is_users)


def decided(project: Project, name: str) -> Proposal | None:
    """The proposal *name* where somebody has decided it; None where it waits, or there never was one."""
    match = _NUMBER.fullmatch(name)
    if match is None or not match[1] or len(match[2]) > _MOST_DIGITS:
        return None
    playbook = project.playbooks()[-1] if match[1].startswith(USERS_MARK) else project
    with playbook.store.read(playbook.key) as book:
        proposal = book.proposal(int(match[2]))
    return proposal if proposal and proposal.state != "waiting" else None


def meant(items: Collection[ReviewItem], words: Iterable[str]) -> list[ReviewItem]:
    """Those of *items* that *words* mean: a number (`3`, `p3`, `up3`), or the name of a point that one of them is
    about. Raises ProposalNotFoundError."""
    by_name: dict[str, ReviewItem] = {}
    for word in words:
        name = named(word, items)
        matches = [each for each in items if each.name == name or (not name and word in each.proposal.names)]
        if len(matches) != 1:
            raise ProposalNotFoundError(word, tuple(each.name for each in matches))
        by_name[matches[0].name] = matches[0]
    return list(by_name.values())


def named(word: str, items: Collection[ReviewItem]) -> str:
    """The name of a proposal that *word* spells, `""` where it is no number of one: `3` is `p3`, or `up3` where all of
    *items* are for the user's own playbook."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return ""
    bare = f"{USERS_MARK}p" if items and all(each.is_users for each in items) else "p"
    return f"{match[1] or bare}{int(match[2])}"


def decide_all(project: Project, decisions: Collection[Decision]) -> list[ReviewResult]:
    """Carry out *decisions* on the proposals of `all_waiting`: a revision of each playbook that they are about."""
    results = []
    for playbook in project.playbooks():
        some = [each for each in decisions if each.is_users is playbook.is_users]
        if some:
            results.append(decide(playbook, some))
    return results


@retry_on_conflict
def decide(project: Project, decisions: Collection[Decision]) -> ReviewResult:
    """Carry out *decisions*: what is accepted is one revision, with its evidence, and counts as a person's edit."""
    with project.store.write(project.key) as book:
        known = {each.id: each for each in book.waiting_proposals()}
        result = ReviewResult(RevisionResult(None, book.header, key=book.key))
        votes: list[Vote] = []
        for decision in sorted(decisions, key=lambda decision: decision.number):
            number, proposal = decision.number, known.get(decision.number)
            if proposal is None:
                result.refused[number] = _DECIDED
            elif not decision.accepts:
                result.rejected.append(number)
            elif reason := edit.why_too_long(decision.text or "") or _why_stale(book.draft, decision.was):
                result.refused[number] = reason
            elif reason := _why_needless(book.draft, proposal, decision.text):
                result.needless[number] = reason
            elif reason := _carry_out(book.draft, proposal, decision.text, votes):
                result.refused[number] = reason
            else:
                result.accepted.append(number)
        if result.accepted:
            result.pruned = edit.prune_or_propose(book, votes, None)
            result.revision = _commit(book, [known[number] for number in result.accepted], votes)
        by = book.actor()
        book.decide(result.accepted, "accepted", by, result.revision.revision)
        book.decide(list(result.needless), "accepted", by, None)
        book.decide(result.rejected, "rejected", by, None)
    return result


def _commit(book: PlaybookRepository, accepted: Sequence[Proposal], votes: Sequence[Vote]) -> RevisionResult:
    sessions = {each.session_id for each in accepted}
    named = ", ".join(str(each.id) for each in accepted)
    return book.commit(
        "edit",
        f"accepted proposal{'s' * (len(accepted) > 1)} {named}",
        votes=votes,
        origin=RevisionOrigin(sessions.pop() if len(sessions) == 1 else None),
    )


def _why_stale(draft: Draft, was: Mapping[str, str]) -> str:
    """Which point has another text than it *was* when the person decided; `""` where none has."""
    changed = [name for name, text in was.items() if name in draft and draft[name].text != text]
    return f"{', '.join(changed)} changed meanwhile; nothing was overwritten" if changed else ""


def _why_needless(draft: Draft, proposal: Proposal, text: str | None) -> str:
    """Why nothing is left to be done for *proposal*, with the wording *text* if that is given; `""` where there is."""
    if proposal.kind == "DELETE":
        return next((f"{name} isn't in the playbook any more" for name in proposal.names if name not in draft), "")
    says = (text or proposal.text).strip()
    if proposal.kind == "ADD" and draft.has_text(says):
        return "the playbook says this already"
    same = [name for name in proposal.names if name in draft and draft[name].text == says]
    return f"{same[0]} says this already" if proposal.kind == "UPDATE" and same else ""


def _carry_out(draft: Draft, proposal: Proposal, text: str | None, votes: list[Vote]) -> str:
    """Do what *proposal* says, with the wording *text* if that is given; why that can't be done, `""` where it is."""
    operation = proposal.operation
    if proposal.kind == "VOTE":
        name, rationale = str(operation.get("name")), operation.get("rationale")
        if name not in draft:
            return f"there is no point {name} any more"
        tag = operation.get("tag")
        vote = Vote(
            name,
            tag if tag in operations.TAGS else "harmful",
            rationale if isinstance(rationale, str) else None,
            ignored=operation.get("ignored") is True,
            evidence=proposal.evidence,
        )
        votes += operations.cast_votes(draft, [vote])
        return ""
    if text is not None and proposal.kind in TEXT_KEYS:
        operation = operation | {TEXT_KEYS[proposal.kind]: text}
    skipped = operations.apply_operations(draft, [operation], [proposal.evidence])
    return skipped[0].reason if skipped else ""
