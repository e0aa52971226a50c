"""Deciding which votes and operations of the models count, which wait for a person, and which are dropped.

Votes count only for points that the session was shown or cited. A change whose evidence is only a page's words is
proposed. Votes on the user's own points count like votes on the project's. All other changes to them are proposed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from playbook_db.domain import operations
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import NOTE, Playbook, Skipped, Vote
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.trust.evidence import FETCHED, FILES, USER, Evidence, Place, find_evidence, lowest
from playbook_db.domain.trust.influence import doubt, is_against, operation_trust, vote_counts

Review = Literal["fetched", "all", "none"]  # the changes that a person must review
_NOT_HAD = f"{NOTE}the session was neither shown {{0}} nor cited it, so it can't judge it"
_VOTED = f"{NOTE}the session has voted on {{0}} itself, while it ran"
_ACROSS = "the user's own points and the project's stay apart: a MERGE joins points of one playbook"
_NO_EVIDENCE = f"{NOTE}the session read what others wrote, and the vote rests on nothing better"


@dataclass(frozen=True, slots=True)
class Proposed:
    """An operation that waits for a person's decision. A harmful vote is an operation of type `VOTE`. The key `doubt`
    of the operation says how a page may have caused it, even if the evidence is better."""

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


def split_tags(playbooks: Sequence[Playbook], tags: Sequence[Any]) -> list[list[Any]]:
    """Return the reflector's *tags* as one list for each of the *playbooks*: the project's and the user's own."""
    split: list[list[Any]] = [[] for _ in playbooks]
    for tag in tags:
        is_users = isinstance(tag, dict) and is_users_name(str(tag.get("name")))
        split[-1 if is_users and playbooks[-1].points else 0].append(tag)
    return split


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
        evidence = _evidence(tag, places)
        is_weak = review != "none" and vote.tag == "harmful" and lowest(evidence) == FILES
        vote = replace(vote, ignored=tag.get("ignored") is True, evidence=evidence, is_weak=is_weak)
        text = playbook.by_name[vote.name].text if vote.name in playbook.by_name else ""
        counts = review == "none" or vote_counts(vote.name, vote.tag, evidence, places, text=text)
        if vote.name in playbook.by_name and vote.name not in had:
            judged.notes.append(Skipped(index, tag, _NOT_HAD.format(vote.name)))
        elif vote.name in voted:
            judged.notes.append(Skipped(index, tag, _VOTED.format(vote.name)))
        elif vote.tag == "harmful" and (review == "all" or not counts):
            fields = {"type": "VOTE", "name": vote.name, "tag": vote.tag, "rationale": vote.rationale or ""}
            trust = operation_trust(text, (vote.name,), evidence, places)
            why = {"ignored": vote.ignored, "doubt": doubt("", (vote.name,), places)}
            judged.proposed.append(Proposed(fields | why, evidence, trust))
        elif not counts:
            judged.notes.append(Skipped(index, tag, _NO_EVIDENCE))
        else:
            judged.votes.append(vote)
    return judged


def judge_operations(
    playbooks: Sequence[Playbook], raw: Sequence[Any], places: Sequence[Place], review: Review
) -> list[JudgedOperations]:
    """Decide which of the curator's *raw* operations count. The *playbooks* are the project's and the personal one, and
    include the session's votes. Return a result for each playbook.

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
        # An operation without a text removes those of its points.
        text = operations.text_of(fields, kind) or "\n".join(known[name].text for name in names if name in known)
        trust = operation_trust(text, names, evidence, places)
        if kind in ("DELETE", "MERGE") and not is_against(evidence, places):
            trust = FETCHED
        target = -1 if is_users and (names or trust == USER) else 0
        playbook = playbooks[target]
        # A user without personal points can't have meant one of them.
        skipped = judged[target if playbook.points else 0].skipped
        if playbook.is_users and not all(map(is_users_name, names)):
            skipped.append(Skipped(index, operation, _ACROSS))
            continue
        waits = playbook.is_users or _waits(trust, review)
        draft = Draft(drafts[target].playbook()) if waits else drafts[target]
        if refused := operations.apply_operations(draft, [operation]):
            skipped.append(replace(refused[0], index=index))
        elif waits:
            own_fields = {key: value for key, value in fields.items() if key not in ("evidence", "scope")}
            proposed = Proposed(own_fields | {"doubt": doubt(text, names, places)}, evidence, trust)
            judged[target].proposed.append(proposed)
        else:
            judged[target].counting.append(operation)
            judged[target].evidence.append(evidence)
    return judged


def _waits(trust: str, review: Review) -> bool:
    return review == "all" or (review == "fetched" and trust == FETCHED)


def _evidence(item: Any, places: Sequence[Place]) -> tuple[Evidence, ...]:
    quotes = item.get("evidence") if isinstance(item, dict) else None
    return tuple(find_evidence(quotes, places)) if isinstance(quotes, list) else ()
