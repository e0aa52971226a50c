"""What counts of what the models say about a session: which votes and which operations, and which of them a person is
asked about first.

A point is judged only where the session had it: was shown it, or cited it. What rests on nothing better than the words
of a page, or on nothing that is in the transcript, is proposed. Votes on points of the user's own playbook count like
those on the project's; what would change it is always proposed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from playbook_db.domain import operations
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import NOTE, Playbook, Skipped, Vote
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.trust.evidence import FETCHED, FILES, USER, Evidence, Place, find_evidence, lowest
from playbook_db.domain.trust.influence import doubt, is_against, operation_trust, vote_counts

Review = Literal["fetched", "all", "none"]  # what a person is asked about before it counts
NO_OWN = Playbook(is_users=True)
_NOT_HAD = f"{NOTE}the session was neither shown {{0}} nor cited it, so it can't judge it"
_VOTED = f"{NOTE}the session has voted on {{0}} itself, while it ran"
_ACROSS = "the user's own points and the project's stay apart: a MERGE joins points of one playbook"
_NO_EVIDENCE = f"{NOTE}the session read what others wrote, and the vote rests on nothing better"


@dataclass(frozen=True, slots=True)
class Proposed:
    """An operation, or a harmful vote as one of the type `VOTE`, that a person is asked about first; its `doubt` says
    what a page may have to do with it, where that isn't told by the evidence."""

    operation: Mapping[str, Any]
    evidence: tuple[Evidence, ...]
    trust: str


@dataclass(frozen=True, slots=True)
class JudgedTags:
    """The `votes` that count, what is `proposed`, and the tags that count nothing, with the reason of each."""

    votes: list[Vote]
    proposed: list[Proposed]
    notes: list[Skipped]

    def of(self, *, users: bool) -> "JudgedTags":
        """Those on points of the user's own playbook, or the others."""
        return JudgedTags(
            [vote for vote in self.votes if is_users_name(vote.name) is users],
            [each for each in self.proposed if is_users_name(each.operation["name"]) is users],
            [note for note in self.notes if is_users_tag(note.item) is users],
        )


@dataclass(frozen=True, slots=True)
class JudgedOperations:
    """The operations that count, each with what it rests on; what is `proposed`; what is skipped, with the reason. All
    of it is for the project's playbook; what is for the user's own is proposed or skipped in `own`."""

    counting: list[Any]
    evidence: list[tuple[Evidence, ...]]
    proposed: list[Proposed]
    skipped: list[Skipped]
    own: "JudgedOperations | None" = None


def judge_tags(
    playbook: Playbook,
    tags: Sequence[Any],
    had: Collection[str],
    places: Sequence[Place],
    review: Review,
    voted: Collection[str] = (),
) -> JudgedTags:
    """What counts of the reflector's *tags*, as it gave them, on the points of the *playbook*, in a session that *had*
    those of these names, *voted* on some itself, and in whose transcript the *places* are."""
    judged = JudgedTags([], [], [])
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


def is_users_tag(tag: object) -> bool:
    """Whether *tag*, as a model gave it, is on a point of the user's own playbook."""
    return isinstance(tag, dict) and is_users_name(str(tag.get("name")))


def judge_operations(
    playbook: Playbook, raw: Sequence[Any], places: Sequence[Place], review: Review, own: Playbook = NO_OWN
) -> JudgedOperations:
    """What counts of the curator's *raw* operations on the *playbook* and the user's *own*, with the session's votes in
    both.

    Only what could be carried out is proposed; what breaks a rule is skipped either way. What would be added for the
    user rests on his own words alone; otherwise it is for the project.
    """
    user_judged = JudgedOperations([], [], [], [])
    judged = JudgedOperations([], [], [], [], user_judged)
    draft = Draft(playbook)
    for index, operation in enumerate(raw):
        if index >= operations.MAX_OPERATIONS:
            judged.skipped.append(Skipped(index, operation, operations.TOO_MANY))
            continue
        evidence, names, is_own = _evidence(operation, places), _names(operation), operations.is_for_user(operation)
        text = _text(operation, own if is_own else playbook)
        trust = operation_trust(text, names, evidence, places)
        takes_away = isinstance(operation, dict) and operation.get("type") in ("DELETE", "MERGE")
        if takes_away and not is_against(evidence, places):
            trust = FETCHED
        is_own = is_own and (bool(names) or trust == USER)
        target = user_judged if is_own and own.points else judged  # a user without points can't have meant their own
        if is_own and not all(map(is_users_name, names)):
            target.skipped.append(Skipped(index, operation, _ACROSS))
            continue
        waits = is_own or _waits(trust, review)
        before = own if is_own else draft.playbook() if waits else None
        refused = operations.apply_operations(draft if before is None else Draft(before), [operation])
        if refused:
            target.skipped.append(replace(refused[0], index=index))
        elif waits:
            fields = {key: value for key, value in operation.items() if key not in ("evidence", "scope")}
            proposed = Proposed(fields | {"doubt": doubt(text, names, places)}, evidence, trust)
            (user_judged if is_own else judged).proposed.append(proposed)
        else:
            judged.counting.append(operation)
            judged.evidence.append(evidence)
    return judged


def _waits(trust: str, review: Review) -> bool:
    return review == "all" or (review == "fetched" and trust == FETCHED)


def _evidence(item: Any, places: Sequence[Place]) -> tuple[Evidence, ...]:
    quotes = item.get("evidence") if isinstance(item, dict) else None
    return tuple(find_evidence(quotes, places)) if isinstance(quotes, list) else ()


def _text(operation: Any, playbook: Playbook) -> str:
    """The text that *operation* would give a point, else that of the points which it takes away."""
    text = operations.text_of(operation, str(operation.get("type"))) if isinstance(operation, dict) else ""
    return text or "\n".join(playbook.by_name[name].text for name in _names(operation) if name in playbook.by_name)


def _names(operation: Any) -> tuple[str, ...]:
    """The points that *operation* concerns."""
    return operations.named_points(operation, str(operation.get("type"))) if isinstance(operation, dict) else ()
