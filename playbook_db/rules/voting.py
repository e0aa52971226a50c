"""Votes: which tags count, and what they do to the counters."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import Skipped, Vote
from playbook_db.rules.texts import storable

TAGS = ("helpful", "harmful", "neutral")


@dataclass(frozen=True, slots=True)
class Ballot:
    """The votes as they were taken, and what could not be read as one."""

    votes: tuple[Vote, ...]
    skipped: tuple[Skipped, ...]


def read_votes(raw: object, *, tag_key: str = "tag") -> Ballot:
    """The votes in *raw*, a list of `{"name", <tag_key>, "rationale"?}` as a model gives it.

    Null counts as no votes. What is no dict, has no name or an unknown tag is skipped with a reason; the rest
    counts. Source: reflector specification, REQ-REFL-004 and -007; contract, section 5.
    """
    votes: list[Vote] = []
    skipped: list[Skipped] = []
    if raw is not None and not isinstance(raw, list):
        return Ballot((), (Skipped(0, raw, "the votes are no list"),))
    for index, item in enumerate(raw or []):
        problem = _problem(item, tag_key)
        if problem:
            skipped.append(Skipped(index, item, problem))
        else:
            rationale = item.get("rationale")
            told = storable(rationale) if isinstance(rationale, str) else None
            votes.append(Vote(storable(item["name"]), item[tag_key], told))
    return Ballot(tuple(votes), tuple(skipped))


def cast_votes(draft: Draft, votes: Iterable[Vote]) -> tuple[Vote, ...]:
    """Count *votes* in the draft: `helpful` and `harmful` +1 each, `neutral` nothing.

    Every vote comes back, marked with whether its name is that of a live point; others count nowhere.
    All votes for a point make one change. Source: scoring specification, REQ-SCORE-002.
    """
    tallies: dict[str, list[int]] = {}
    taken: list[Vote] = []
    for vote in votes:
        matched = vote.name in draft
        if matched and vote.tag != "neutral":
            tally = tallies.setdefault(vote.name, [0, 0])
            tally[vote.tag == "harmful"] += 1
        taken.append(replace(vote, matched=matched))
    for name, (helpful, harmful) in tallies.items():
        point = draft[name]
        draft.change(replace(point, helpful=point.helpful + helpful, harmful=point.harmful + harmful), kind="vote")
    return tuple(taken)


def _problem(item: object, tag_key: str) -> str | None:
    if not isinstance(item, dict):
        return "a vote must be an object"
    if not isinstance(item.get("name"), str) or not item["name"]:
        return "a vote must have a `name`"
    if item.get(tag_key) not in TAGS:
        return f"`{tag_key}` must be one of {', '.join(TAGS)}"
    return None
