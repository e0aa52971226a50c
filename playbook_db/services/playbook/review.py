"""Proposed changes that wait for a person's decision.

Accepted proposals are applied to the present playbook, all in one revision. A project's list includes the proposals for
the personal playbook, from sessions in any project.
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
from playbook_db.errors import ArgumentError, Remedy
from playbook_db.services.playbook import edit
from playbook_db.services.project import LastKnownProject, Project
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import RevisionOrigin, RevisionResult
from playbook_db.store.queries import hook_queries, list_queries

_NUMBER = re.compile(rf"({USERS_MARK}?p)?([0-9]+)")
_DECIDED = "it no longer waits: somebody has decided it"


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision on the proposal *number*, perhaps with a new *text*. If *is_users*, the proposal is for the
    personal playbook.

    *was* maps the names of its points to the texts that the person saw. If one has changed, the proposal isn't applied.
    """

    number: int
    accepts: bool
    text: str | None = None
    is_users: bool = False
    was: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ReviewResult:
    """The results of decisions: the numbers of the proposals by outcome, and the new revision.

    `needless` are accepted proposals that would change nothing. `refused` are proposals that can't be applied and still
    wait. Both map numbers to reasons. `pruned` are points that were retired because of accepted votes.
    """

    revision: RevisionResult
    accepted: list[int] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    needless: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    pruned: Sequence[KeyPoint] = ()

    def named(self, number: int) -> str:
        """Return the name of the proposal *number* of this playbook."""
        return name_of(number, is_users=projects.is_users(self.revision.key))


def all_waiting(project: Project) -> list[ReviewItem]:
    """Return the proposals that wait in *project*: first those for its playbook, then those for the personal one."""
    with project.reading() as books:
        return [item for book in books for item in list_queries.waiting(book)]


def count_waiting(project: Project) -> int:
    """Count the proposals of `all_waiting`. A team's count only if its database can be reached."""
    with project.reading() as books:
        counts = [hook_queries.proposals_waiting(book)[0] for book in books]
    return sum(counts[isinstance(project, LastKnownProject) :])


def waiting(project: Project) -> list[ReviewItem]:
    """Return the proposals that wait for the playbook of *project*, oldest first."""
    with project.store.read(project.key) as book:
        return list_queries.waiting(book)


def meant(items: Collection[ReviewItem], words: Iterable[str]) -> list[ReviewItem]:
    """Return the *items* that *words* name. A word is a number (`3`, `p3`, `up3`), or the name of a point that only one
    item concerns. Raises ArgumentError."""
    by_name: dict[str, ReviewItem] = {}
    for word in words:
        name = named(word, items)
        matches = [each for each in items if each.name == name or (not name and word in each.proposal.names)]
        if len(matches) > 1:
            names = " or ".join(each.name for each in matches)
            raise ArgumentError(f"{word} may mean {names}. Give the full name. Nothing was decided.")
        if not matches:
            remedy = Remedy("List the proposals with: {}", ("list", "--proposed"))
            raise ArgumentError(f"No proposal {word!r} waits. Nothing was decided.", remedy)
        by_name[matches[0].name] = matches[0]
    return list(by_name.values())


def named(word: str, items: Collection[ReviewItem]) -> str:
    """Return the name of the proposal with the number *word*, or `""` if *word* is not a number. `3` means `p3`, or
    `up3` if all *items* are personal."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return ""
    bare = f"{USERS_MARK}p" if items and all(each.is_users for each in items) else "p"
    return f"{match[1] or bare}{int(match[2])}"


def decide_all(project: Project, decisions: Collection[Decision]) -> list[ReviewResult]:
    """Apply *decisions* on proposals for the project's and the personal playbook. Each playbook gets one revision."""
    parts = [(each, [one for one in decisions if one.is_users is each.is_users]) for each in project.playbooks()]
    return [decide(playbook, some) for playbook, some in parts if some]


@retry_on_conflict
def decide(project: Project, decisions: Collection[Decision]) -> ReviewResult:
    """Apply *decisions*. All accepted proposals become one revision, which counts as a person's edit."""
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
            result.pruned = operations.prune(book.draft)
            sessions = {known[number].session_id for number in result.accepted}
            numbers = f"proposal{'s' * (len(result.accepted) > 1)} {', '.join(map(str, result.accepted))}"
            origin = RevisionOrigin(sessions.pop() if len(sessions) == 1 else None)
            result.revision = book.commit("edit", f"accepted {numbers}", votes=votes, origin=origin)
        by = book.actor()
        book.decide(result.accepted, "accepted", by, result.revision.revision)
        book.decide(list(result.needless), "accepted", by, None)
        book.decide(result.rejected, "rejected", by, None)
    return result


def _why_stale(draft: Draft, was: Mapping[str, str]) -> str:
    changed = [name for name, text in was.items() if name in draft and draft[name].text != text]
    return f"{', '.join(changed)} changed meanwhile; nothing was overwritten" if changed else ""


def _why_needless(draft: Draft, proposal: Proposal, text: str | None) -> str:
    if proposal.kind == "DELETE":
        return next((f"{name} is no longer in the playbook" for name in proposal.names if name not in draft), "")
    says = (text or proposal.text).strip()
    if proposal.kind == "ADD" and draft.find_text(says):
        return "the playbook says this already"
    same = [name for name in proposal.names if name in draft and draft[name].text == says]
    return f"{same[0]} says this already" if proposal.kind == "UPDATE" and same else ""


def _carry_out(draft: Draft, proposal: Proposal, text: str | None, votes: list[Vote]) -> str:
    """Apply *proposal* (with another *text*, if given). Return the reason if that isn't possible, else `""`."""
    operation = proposal.operation
    if proposal.kind == "VOTE":
        name, rationale = str(operation.get("name")), operation.get("rationale")
        if name not in draft:
            return f"there is no longer a point {name}"
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
