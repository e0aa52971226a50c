"""Proposals: changes by learning that wait for a person, and the points that they are about."""

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
WITHDRAWN = "the session that proposed it"  # who decided, if nobody did


@dataclass(frozen=True, slots=True)
class Proposal:
    """What learning would change, and what that rests on.

    `operation` is the curator's, with its `type`; for a harmful vote it is `{"type": "VOTE", "name", "tag",
    "rationale", "ignored"}`. Its `doubt` says what a page may have to do with it. `sessions` sessions proposed it,
    `session_id` the last of them; `revision` is the one that carried it out.
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
        """The proposal in a database's *row*, with these fields in their order, the operation and evidence as JSON."""
        number, kind, operation, evidence, *rest = row
        return cls(number, kind, read_operation(operation), evidence_rules.read_json(evidence), *rest)

    @property
    def is_withdrawn(self) -> bool:
        """Whether the session that proposed it withdrew it; it may be proposed again."""
        return self.decided_by == WITHDRAWN

    @property
    def names(self) -> tuple[str, ...]:
        """The points that it is about; of one to be added there is none."""
        return named_points(self.operation, self.kind)

    @property
    def text(self) -> str:
        """The text that a point would have; `""` where none would be added or reworded."""
        return text_of(self.operation, self.kind)


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A proposal that waits, and the live points that it is about, as they are now; `is_users` says that it is for the
    user's own playbook."""

    proposal: Proposal
    points: tuple[KeyPoint, ...]
    is_users: bool = False

    @property
    def name(self) -> str:
        """What a person calls it."""
        return name_of(self.proposal.id, is_users=self.is_users)


def name_of(number: int, *, is_users: bool = False) -> str:
    """What a person calls the proposal *number*: `p3`; of the user's own playbook `up3`."""
    return f"{USERS_MARK * is_users}p{number}"


def read_operation(text: str) -> dict[str, Any]:
    """The operation that a database keeps as *text*; of a damaged one nothing."""
    try:
        operation = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return operation if isinstance(operation, dict) else {}
