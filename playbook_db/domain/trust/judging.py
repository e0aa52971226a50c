"""Deciding which votes and operations of the models count, which wait for a person, and which are dropped.

Votes count only for points that the session was shown or cited. Changes without good evidence, risky ones, and those to
the user's own points are proposed. Votes on the user's own points count like votes on the project's.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from playbook_db.domain import operations
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import NOTE, Playbook, Skipped, Vote
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.trust.evidence import USER, Evidence, Place, find_evidence
from playbook_db.domain.trust.influence import says_the_same, trust_of, why_vote_waits, why_waits

Review = Literal["fetched", "all", "none"]  # the changes that a person must review
_NOT_HAD = f"{NOTE}the session was neither shown {{0}} nor cited it, so it can't judge it"
_VOTED = f"{NOTE}the session has voted on {{0}} itself, while it ran"
_ACROSS = "the user's own points and the project's stay apart: a MERGE joins points of one playbook"
RISKY, UNMARKED = "marked as risky", "not checked for risk yet"  # why an operation waits
_REMOVING = ("DELETE", "MERGE")


@dataclass(frozen=True, slots=True)
class Proposed:
    """An operation that waits for a person's decision. A harmful vote is an operation of type `VOTE`. The key `doubt`
    of the operation says why it waits, unless only the settings or the playbook say so."""

    operation: Mapping[str, Any]
    evidence: tuple[Evidence, ...]
    trust: str


@dataclass(frozen=True, slots=True)
class JudgedTags:
    """The result for a list of tags: `votes` that count, `proposed` votes, and notes on tags that don't count."""

    votes: list[Vote] = field(default_factory=list)
    proposed: list[Proposed] = field(default_factory=list)
    notes: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JudgedOperations:
    """The result for operations on one playbook: `counting` ones with their `evidence`, `proposed` ones, and `skipped`
    ones with the reasons."""

    counting: list[Any] = field(default_factory=list)
    evidence: list[tuple[Evidence, ...]] = field(default_factory=list)
    proposed: list[Proposed] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def judge_tags(
    playbook: Playbook,
    tags: Sequence[Any],
    had: Collection[str],
    places: Sequence[Place],
    review: Review,
    voted: Collection[str] = (),
) -> JudgedTags:
    """Decide which of the reflector's *tags* on the points of *playbook* count.

    *had* names the points that the session was shown or cited. *voted* names the points on which the session voted
    itself. *places* are the parts of its transcript.
    """
    judged = JudgedTags()
    for index, tag in enumerate(tags):
        votes, unreadable = operations.read_votes([tag])
        if unreadable:
            judged.notes.append(Skipped(index, tag, NOTE + unreadable[0].reason))
            continue
        (vote,) = votes
        vote = replace(vote, ignored=tag.get("ignored") is True, evidence=_evidence(tag, places))
        text = playbook.by_name[vote.name].text if vote.name in playbook.by_name else ""
        why = "" if review == "none" else why_vote_waits(vote.name, vote.tag, text, vote.evidence, places)
        if vote.name in playbook.by_name and vote.name not in had:
            judged.notes.append(Skipped(index, tag, _NOT_HAD.format(vote.name)))
        elif vote.name in voted:
            judged.notes.append(Skipped(index, tag, _VOTED.format(vote.name)))
        elif vote.tag == "harmful" and (review == "all" or why):
            fields = {"type": "VOTE", "name": vote.name, "tag": vote.tag, "rationale": vote.rationale or ""}
            trust = trust_of(text, vote.evidence)
            judged.proposed.append(Proposed(fields | {"ignored": vote.ignored, "doubt": why}, vote.evidence, trust))
        elif why:
            judged.notes.append(Skipped(index, tag, NOTE + why))
        else:
            judged.votes.append(vote)
    return judged


def judge_operations(
    playbooks: Sequence[Playbook],
    raw: Sequence[Any],
    places: Sequence[Place],
    review: Review,
    marks: Mapping[str, bool] | None = None,
) -> list[JudgedOperations]:
    """Decide which of the curator's *raw* operations count. The *playbooks* are the project's and the personal one, and
    include the session's votes. Return a result for each playbook.

    *marks* says for each text whether it is risky; a text without a mark waits. Without *marks* no text is risky.

    An operation that breaks a rule is skipped, not proposed. An ADD is for the personal playbook only if the user's
    words alone support it. Otherwise it is for the project.
    """
    judged = [JudgedOperations() for _ in playbooks]
    drafts = [Draft(each) for each in playbooks]
    for index, operation in enumerate(raw):
        if index >= operations.MAX_OPERATIONS:
            judged[0].skipped.append(Skipped(index, operation, operations.TOO_MANY))
            continue
        fields = operation if isinstance(operation, dict) else {}
        kind, is_users = str(fields.get("type")), operations.is_for_user(operation)
        evidence, names = _evidence(operation, places), operations.named_points(fields, kind)
        known = playbooks[-1 if is_users else 0].by_name
        own_text, texts = operations.text_of(fields, kind), [known[name].text for name in names if name in known]
        text = own_text if kind not in _REMOVING else "\n".join(texts)
        trust = trust_of(own_text or text, evidence)
        target = -1 if is_users and (names or trust == USER) else 0
        playbook = playbooks[target]
        # A user without personal points can't have meant one of them.
        skipped = judged[target if playbook.points else 0].skipped
        if playbook.is_users and not all(map(is_users_name, names)):
            skipped.append(Skipped(index, operation, _ACROSS))
            continue
        why = ""
        if review != "none" and not (kind == "MERGE" and says_the_same(own_text, texts)):
            why = why_waits(text, names, evidence, places, removes=kind in _REMOVING)
        if review == "fetched" and not why and own_text and marks is not None:
            is_risky = marks.get(own_text)
            why = UNMARKED if is_risky is None else RISKY * is_risky
        waits = playbook.is_users or review == "all" or why != ""
        draft = Draft(drafts[target].playbook()) if waits else drafts[target]
        if refused := operations.apply_operations(draft, [operation]):
            skipped.append(replace(refused[0], index=index))
        elif waits:
            own_fields = {key: value for key, value in fields.items() if key not in ("evidence", "scope")}
            judged[target].proposed.append(Proposed(own_fields | {"doubt": why}, evidence, trust))
        else:
            judged[target].counting.append(operation)
            judged[target].evidence.append(evidence)
    return judged


def texts_to_mark(judged: Sequence[JudgedOperations]) -> list[str]:
    """Return the texts that the counting operations of *judged* give points, each once."""
    counting = [operation for each in judged for operation in each.counting]
    texts = (operations.text_of(operation, operation["type"]) for operation in counting)
    return list(dict.fromkeys(filter(None, texts)))


def _evidence(item: Any, places: Sequence[Place]) -> tuple[Evidence, ...]:
    quotes = item.get("evidence") if isinstance(item, dict) else None
    return tuple(find_evidence(quotes, places)) if isinstance(quotes, list) else ()
