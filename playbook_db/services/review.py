"""What of learning waits for a person: the proposals, and what becomes of them.

What is accepted is carried out on the playbook as it is now, all of it in one revision.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from playbook_db.domain import operations
from playbook_db.domain.draft import Draft
from playbook_db.domain.operations import TEXT_KEYS
from playbook_db.domain.playbook import KeyPoint, Vote
from playbook_db.errors import ProposalNotFoundError
from playbook_db.services.projects import Project
from playbook_db.store.engine import tried_again
from playbook_db.store.proposals import Proposal
from playbook_db.store.repository import PlaybookRepository, RevisionResult

_DECIDED = "it doesn't wait any more: somebody has decided it"


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A proposal that waits, and the live points that it is about, as they are now."""

    proposal: Proposal
    points: tuple[KeyPoint, ...]

    @property
    def name(self) -> str:
        """What a person calls it."""
        return name_of(self.proposal.id)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person says to the proposal *number*; an accepted one may get another *text*."""

    number: int
    accepts: bool
    text: str | None = None


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


def name_of(number: int) -> str:
    """What a person calls the proposal *number*: `p3`."""
    return f"p{number}"


def waiting(project: Project) -> list[ReviewItem]:
    """The proposals that wait for a person, in the order in which they came."""
    with project.store.read(project.key) as book:
        proposals = book.waiting_proposals()
        points = {name: book.live_point(name) for name in {name for each in proposals for name in each.names}}
    return [ReviewItem(each, tuple(filter(None, map(points.get, each.names)))) for each in proposals]


def numbers_of(items: Collection[ReviewItem], words: Iterable[str]) -> list[int]:
    """The numbers of the proposals among *items* that *words* mean: a number (`3`, `p3`), or the name of a point that
    one of them is about. Raises ProposalNotFoundError."""
    numbers = []
    for word in words:
        number = word.removeprefix("p")
        is_meant = {name_of(int(number))} if number.isascii() and number.isdigit() else set()
        matches = [each for each in items if each.name in is_meant or (not is_meant and word in each.proposal.names)]
        if len(matches) != 1:
            raise ProposalNotFoundError(word, tuple(each.name for each in matches))
        numbers.append(matches[0].proposal.id)
    return list(dict.fromkeys(numbers))


@tried_again
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
            elif reason := _why_needless(book.draft, proposal, decision.text):
                result.needless[number] = reason
            elif reason := _carry_out(book.draft, proposal, decision.text, votes):
                result.refused[number] = reason
            else:
                result.accepted.append(number)
        if result.accepted:
            result.pruned = operations.prune(book.draft)
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
        session_id=sessions.pop() if len(sessions) == 1 else None,
    )


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
