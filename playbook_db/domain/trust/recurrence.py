"""Lessons that a live or waiting point says already (`again`): which of them are recorded, and what they change.

Such a lesson needs evidence like a helpful vote. A waiting point that isn't risky counts when another session, without
text from outside, says it again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playbook_db.domain.operations import AGAIN, MAX_OPERATIONS
from playbook_db.domain.playbook import Playbook, Vote
from playbook_db.domain.proposals import Proposal, name_of
from playbook_db.domain.trust.evidence import OUTSIDE, Evidence, Place, find_evidence
from playbook_db.domain.trust.influence import first_outside, why_vote_waits
from playbook_db.domain.trust.judging import RISKY, JudgedOperations, JudgedTags, Proposed, Review


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What a session said again: `votes` for live points, `counting` operations that waited until now, each with its
    `evidence`, and those that still wait (`proposed`)."""

    votes: list[Vote] = field(default_factory=list)
    counting: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[tuple[Evidence, ...]] = field(default_factory=list)
    proposed: list[Proposed] = field(default_factory=list)

    def texts_to_mark(self) -> list[str]:
        """Return the texts of the operations that waited until now."""
        return [str(each["text"]) for each in self.counting]

    def hold_back(self, marks: Mapping[str, bool]) -> None:
        """Let each operation wait on unless *marks* says that its text isn't risky."""
        for place in reversed(range(len(self.counting))):
            if marks.get(str(self.counting[place]["text"])) is not False:
                self.proposed.append(Proposed(self.counting.pop(place), self.evidence.pop(place), OUTSIDE))

    def add_to(self, tags: JudgedTags, operations: JudgedOperations, *, taught: Collection[str]) -> None:
        """Add these to what else counts, without votes on points that the session itself has *taught*. If a batch is
        full, what waited waits on."""
        tags.votes.extend(vote for vote in self.votes if vote.name not in taught)
        space = max(0, MAX_OPERATIONS - len(operations.counting))
        operations.counting.extend(self.counting[:space])
        operations.evidence.extend(self.evidence[:space])
        operations.proposed.extend(self.proposed)


def judge_again(
    playbook: Playbook,
    waiting: Sequence[Proposal],
    lessons: Sequence[Mapping[str, Any]],
    places: Sequence[Place],
    session: str | None,
    review: Review,
) -> Recurrence:
    """Decide what the *lessons* of *session* say again, of *playbook* and of its *waiting* proposals. Each point counts
    once. Lessons that name anything else are left to the curator. *places* are the parts of the transcript."""
    again = Recurrence()
    proposals = {name_of(each.id, is_users=playbook.is_users): each for each in waiting}
    for name, lesson in {str(lesson.get("again")).strip("[] "): lesson for lesson in lessons}.items():
        point, proposal = playbook.by_name.get(name), proposals.get(name)
        text = point.text if point else proposal.text if proposal else ""
        evidence = tuple(find_evidence(lesson.get("evidence") or [], places))
        if not text or not evidence or why_vote_waits(name, "helpful", text, evidence, places):
            continue
        if point:
            again.votes.append(Vote(name, AGAIN, str(lesson.get("text") or ""), evidence=evidence))
        elif proposal and session != proposal.session_id:
            waits = playbook.is_users or review == "all" or first_outside(places) or _is_risky(proposal)
            if waits:
                again.proposed.append(Proposed(proposal.operation, evidence, OUTSIDE))
            else:
                again.counting.append(proposal.operation)
                again.evidence.append((*proposal.evidence, *evidence))
    return again


def _is_risky(proposal: Proposal) -> bool:
    return proposal.kind != "ADD" or proposal.operation.get("doubt") == RISKY
