"""Proposals: learned changes that wait for a person, and the points that they concern."""

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
WITHDRAWN = "the session that proposed it"  # who decided, if no person did


@dataclass(frozen=True, slots=True)
class Proposal:
    """A learned change that waits for a person, and its evidence.

    `operation` is the curator's, with its `type`; for a harmful vote it is `{"type": "VOTE", "name", "tag",
    "rationale", "ignored"}`. `doubt` says how a page may have caused it. `sessions` counts the sessions that proposed
    it; `session_id` is the last of them. `revision` is the revision that carried it out.
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
        """Build a proposal from a database's *row*: its fields in order, with operation and evidence as JSON."""
        number, kind, operation, evidence, *rest = row
        return cls(number, kind, read_operation(operation), evidence_rules.read_json(evidence), *rest)

    @property
    def is_withdrawn(self) -> bool:
        """Whether the session that made the proposal withdrew it. It may be proposed again."""
        return self.decided_by == WITHDRAWN

    @property
    def names(self) -> tuple[str, ...]:
        """The points that the proposal concerns; an ADD concerns none."""
        return named_points(self.operation, self.kind)

    @property
    def text(self) -> str:
        """The text that the proposal would give a point; `""` if it adds and rewords none."""
        return text_of(self.operation, self.kind)


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A waiting proposal and the live points that it concerns. `is_users`: it is for the personal playbook."""

    proposal: Proposal
    points: tuple[KeyPoint, ...]
    is_users: bool = False

    @property
    def name(self) -> str:
        """The proposal's name for people."""
        return name_of(self.proposal.id, is_users=self.is_users)


def name_of(number: int, *, is_users: bool = False) -> str:
    """Return the name of the proposal *number* for people: `p3`, or `up3` for the personal playbook."""
    return f"{USERS_MARK * is_users}p{number}"


def read_operation(text: str) -> dict[str, Any]:
    """Parse the operation that a database stores as *text*. Return `{}` if it is damaged."""
    try:
        operation = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return operation if isinstance(operation, dict) else {}
