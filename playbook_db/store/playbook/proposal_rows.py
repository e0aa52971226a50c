"""Store proposals, people's decisions on them, and decisions that similar points stay separate."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, insert
from sqlalchemy import text as sql

from playbook_db.domain.operations import gist
from playbook_db.domain.playbook import storable
from playbook_db.domain.proposals import KINDS, WITHDRAWN, Kind, Proposal, State, read_operation
from playbook_db.domain.trust import evidence as evidence_rules
from playbook_db.domain.trust.evidence import TRUST, Evidence
from playbook_db.store.playbook.playbook_rows import PlaybookRows
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.list_queries import PROPOSAL_COLUMNS
from playbook_db.store.tables import proposals

_FIELDS = (
    "type", "section", "text", "merged_text", "target_id", "source_ids", "reason", "name", "tag", "rationale",
    "ignored", "doubt",
)  # fmt: skip
_MOST_PIECES = 10  # pieces of evidence for a proposal
_ONE = sql(f"SELECT {PROPOSAL_COLUMNS} FROM proposals WHERE playbook_id = :playbook_id AND id = :id")
_OF_KIND = sql(f"""
SELECT {PROPOSAL_COLUMNS} FROM proposals
WHERE playbook_id = :playbook_id AND kind = :kind AND state IN ('waiting', 'rejected') ORDER BY id
""")
_ADDED = sql("SELECT operation FROM proposals WHERE playbook_id = :playbook_id AND kind = 'ADD'")
_COUNT_AGAIN = sql("""
UPDATE proposals SET sessions = :sessions, session_id = :session_id, evidence = :evidence, trust = :trust
WHERE playbook_id = :playbook_id AND id = :id
""")
_DECIDE = sql("""
UPDATE proposals SET state = :state, decided_at = :now, decided_by = :by, revision = :revision
WHERE playbook_id = :playbook_id AND id IN :ids AND state = 'waiting'
""").bindparams(bindparam("ids", expanding=True))
_KEEP_APART = sql("""
INSERT INTO distinct_points (playbook_id, first_id, second_id, revision, time, actor)
SELECT one.playbook_id, one.id, other.id, :revision, :now, :actor
FROM key_points AS one JOIN key_points AS other ON other.playbook_id = one.playbook_id AND other.id > one.id
WHERE one.playbook_id = :playbook_id AND one.name IN :names AND other.name IN :names
ON CONFLICT (playbook_id, first_id, second_id)
DO UPDATE SET revision = excluded.revision, time = excluded.time, actor = excluded.actor
""").bindparams(bindparam("names", expanding=True))
# A decision holds until the text of one of the two points changes.
_KEPT_APART = sql("""
SELECT one.name, other.name
FROM distinct_points AS a
JOIN key_points AS one ON one.playbook_id = a.playbook_id AND one.id = a.first_id
JOIN key_points AS other ON other.playbook_id = a.playbook_id AND other.id = a.second_id
WHERE a.playbook_id = :playbook_id AND one.retired_in IS NULL AND other.retired_in IS NULL AND NOT EXISTS (
    SELECT 1 FROM changes AS c WHERE c.playbook_id = :playbook_id AND c.point_id IN (a.first_id, a.second_id)
        AND c.revision > a.revision AND c.text IS NOT NULL)
ORDER BY a.first_id, a.second_id
""")


class ProposalRows(PlaybookRows):
    """A playbook's proposals, and the decisions that pairs of its points stay separate."""

    now: str  # the transaction's time

    def add_proposal(
        self, operation: dict[str, Any], kind: Kind, evidence: Sequence[Evidence], trust: str, session_id: str | None
    ) -> Proposal | None:
        """Store the *operation* that a session proposed. Return None if the same operation was rejected before. If the
        same operation is already waiting, add the new evidence and one session to that proposal."""
        known = [each for each in self._like(operation, kind) if each.decided_by != WITHDRAWN]
        if any(each.state == "rejected" for each in known):
            return None
        if known:
            return self._count_again(known[0], evidence, trust, session_id)
        return self.proposal(self._add(operation, kind, evidence, trust, session_id))

    def add_new_points(self, additions: Iterable[tuple[dict[str, Any], Evidence]], trust: str) -> list[int]:
        """Propose each ADD operation of *additions* that was never proposed before. Return the proposals' ids."""
        known = {gist(read_operation(row.operation), "ADD") for row in self._execute(_ADDED)}
        numbers = []
        for operation, evidence in additions:
            if gist(operation, "ADD") not in known:
                numbers.append(self._add(operation, "ADD", [evidence], trust, None))
                known.add(gist(operation, "ADD"))
        return numbers

    def _add(
        self, operation: dict[str, Any], kind: Kind, evidence: Sequence[Evidence], trust: str, session_id: str | None
    ) -> int:
        number = self.next_id(proposals)
        fields = {name: operation[name] for name in _FIELDS if operation.get(name) is not None} | {"type": kind}
        self._execute(
            insert(proposals),
            id=number,
            kind=kind,
            operation=_storable(json.dumps(fields, ensure_ascii=False, default=str)),
            evidence=_written(evidence[:_MOST_PIECES]),
            trust=trust,
            session_id=session_id,
            created_at=self.now,
        )
        return number

    def _count_again(
        self, known: Proposal, evidence: Iterable[Evidence], trust: str, session_id: str | None
    ) -> Proposal:
        pieces = tuple(dict.fromkeys((*known.evidence, *evidence)))[:_MOST_PIECES]
        is_other = session_id is None or session_id != known.session_id
        counted = replace(
            known,
            evidence=pieces,
            trust=min(known.trust, trust, key=TRUST.index),
            sessions=known.sessions + is_other,
            session_id=session_id or known.session_id,
        )
        values = {name: getattr(counted, name) for name in ("id", "sessions", "session_id", "trust")}
        self._execute(_COUNT_AGAIN, evidence=_written(pieces), **values)
        return counted

    def waiting_proposals(self) -> list[Proposal]:
        """Return the waiting proposals, oldest first."""
        return [Proposal.of_row(row) for row in self._execute(list_queries.WAITING)]

    def proposal(self, number: int) -> Proposal | None:
        """Return the proposal *number*, waiting or decided, or None if it doesn't exist."""
        row = self._execute(_ONE, id=number).first()
        return Proposal.of_row(row) if row else None

    def matching_proposal(self, operation: dict[str, Any]) -> Proposal | None:
        """Return the waiting proposal of *operation*, or None. If the operation is applied, the proposal is decided."""
        kind = next((each for each in KINDS if each == operation.get("type")), None)
        known = self._like(operation, kind) if kind else []
        return next((each for each in known if each.state == "waiting"), None)

    def decide(self, ids: Sequence[int], state: State, by: str, revision: int | None) -> None:
        """Record who (*by*) accepted or rejected the waiting proposals among *ids*, and the *revision* that did so, if
        any."""
        if ids:
            self._execute(_DECIDE, ids=list(ids), state=state, now=self.now, by=by, revision=revision)

    def _like(self, operation: dict[str, Any], kind: Kind) -> list[Proposal]:
        sought = gist(operation, kind)
        of_kind = map(Proposal.of_row, self._execute(_OF_KIND, kind=kind))
        return [each for each in of_kind if gist(each.operation, kind) == sought]

    def keep_apart(
        self, pairs: Collection[tuple[str, str]], *, actor: str | None = None, judged_in: int | None = None
    ) -> None:
        """Record that the two points of each pair stay separate. Skip unknown names. *actor* (default: the user)
        decided this for the points' texts in the revision *judged_in* (default: the last revision)."""
        revision = self.revision if judged_in is None else judged_in
        decided = {"revision": revision, "now": self.now, "actor": self.actor(actor)}
        for pair in pairs:
            self._execute(_KEEP_APART, names=list(pair), **decided)

    def distinct_points(self) -> list[tuple[str, str]]:
        """Return the pairs of live points that stay separate, by name. A pair is left out if a text has changed since
        the decision."""
        return [(one, other) for one, other in self._execute(_KEPT_APART)]


def _written(evidence: Sequence[Evidence]) -> str:
    return _storable(evidence_rules.as_json(evidence) or "[]")


def _storable(text: str) -> str:
    """Return the JSON *text* in a form that every database accepts. PostgreSQL's JSON can't contain NUL."""
    return storable(text).replace("\\u0000", "\\ufffd")
