"""Proposals: learned changes that wait for a person's decision, and the points that they would change."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from playbook_db.domain.operations import named_points, text_of
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import USERS_MARK
from playbook_db.domain.trust import evidence as evidence_rules
from playbook_db.domain.trust.evidence import Evidence

Kind = Literal["ADD", "UPDATE", "MERGE", "DELETE", "VOTE"]
State = Literal["waiting", "accepted", "rejected"]
KINDS = get_args(Kind)
WITHDRAWN = "the session that proposed it"  # who decided, if no person did; the change may be proposed again


@dataclass(frozen=True, slots=True)
class Proposal:
    """A learned change that waits for a person's decision, with its evidence.

    `operation` is the curator's operation. For a harmful vote it is `{"type": "VOTE", "name", "tag", "rationale",
    "ignored"}`. Its key `doubt` says how a web page may have caused the change. `sessions` counts the sessions that
    proposed the change, and `session_id` is the last one. `revision` is the revision that made the change.
    """

    id: int
    kind: Kind
    operation: dict[str, Any]
    evidence: tuple[Evidence, ...]
    trust: str
    session_id: str | None
    sessions: int
    created_at: str
    state: State = "waiting"
    decided_at: str | None = None
    decided_by: str | None = None
    revision: int | None = None

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> Self:
        """Create a proposal from a database *row*. The operation and the evidence are JSON there."""
        number, kind, operation, evidence, *rest = row
        return cls(number, kind, read_operation(operation), evidence_rules.read_json(evidence), *rest)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the points that the proposal would change. An ADD has none."""
        return named_points(self.operation, self.kind)

    @property
    def trust_in_words(self) -> str:
        """The origin of the best evidence in words, such as "the user's words", or "no evidence"."""
        if not any(piece.is_found for piece in self.evidence):
            return "no evidence"
        return evidence_rules.IN_WORDS.get(self.trust, evidence_rules.IN_WORDS[evidence_rules.OUTSIDE])

    @property
    def text(self) -> str:
        """The text that the proposal would give a point, or `""` if it has no text."""
        return text_of(self.operation, self.kind)


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A waiting proposal and the live points that it would change. `is_users`: it is for the personal playbook."""

    proposal: Proposal
    points: tuple[KeyPoint, ...]
    is_users: bool = False

    @property
    def name(self) -> str:
        """The proposal's name as people see it, such as `p3`."""
        return name_of(self.proposal.id, is_users=self.is_users)


def name_of(number: int, *, is_users: bool = False) -> str:
    """Return the name of a proposal as people see it: `p3`, or `up3` for the personal playbook."""
    return f"{USERS_MARK * is_users}p{number}"


def read_operation(text: str) -> dict[str, Any]:
    """Parse an operation that a database stores as the JSON *text*. Return `{}` if it is damaged."""
    try:
        operation = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return operation if isinstance(operation, dict) else {}
