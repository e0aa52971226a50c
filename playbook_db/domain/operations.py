"""Changing a draft's points by the curator's operations, by votes and by pruning.

An item that breaks a rule is skipped with a reason. The other items still count. Sources: curator contract; scoring and
reflector specifications; for UPDATE, contract, section 4.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import (
    MAX_NAME_LENGTH,
    KeyPoint,
    Playbook,
    Skipped,
    Vote,
    normalised,
    storable,
    why_text_unusable,
)
from playbook_db.domain.sections import OTHERS, find_section, is_unknown_section, is_users_name
from playbook_db.domain.trust.evidence import Evidence

MAX_OPERATIONS = 10  # of one batch; the rest is skipped
TOO_MANY = f"a batch holds at most {MAX_OPERATIONS} operations"
MAX_TEXT_CHARS = 10_000  # of one point; a session is shown at most so many of all points together
TEXT_KEYS = {"ADD": "text", "UPDATE": "text", "MERGE": "merged_text"}  # the key of an operation's text
_TARGET_KEYS = {"VOTE": "name", "UPDATE": "target_id", "DELETE": "target_id"}
TAGS = ("helpful", "harmful", "neutral")
AGAIN = "again"  # the tag of a session that learned what the point says once more; it changes no counter
SCOPES = ("project", "user")  # the playbook to which an ADD adds its point
PRUNE_MIN_HARMFUL = 3  # votes; fewer are too few to act on
REST_HARMFUL = 3  # a point rests after so many harmful votes in a row, even if it often helped before


class _RefusedError(Exception):
    """An operation can't be carried out. The message is the reason."""


def apply_operations(
    draft: Draft, operations: Sequence[object], evidence: Sequence[tuple[Evidence, ...]] = ()
) -> tuple[Skipped, ...]:
    """Apply *operations* to the draft in order, each with its *evidence*. Return the skipped operations."""

    def perform(index: int, operation: object) -> None:
        if index >= MAX_OPERATIONS:
            raise _RefusedError(TOO_MANY)
        count = len(draft.changes)
        _apply(draft, operation)
        if index < len(evidence):
            draft.changes[count:] = [replace(change, evidence=evidence[index]) for change in draft.changes[count:]]

    return _skipped(operations, perform)


def apply_new_points(draft: Draft, entries: object) -> tuple[Skipped, ...]:
    """Add *entries* as new points. An entry is a text or `{"text", "section"?}`. Return the skipped entries.

    Older curators answer in this form. If *entries* isn't a list, nothing is added. Source: curator contract.
    """
    listed = entries if isinstance(entries, list) else []
    return _skipped(
        listed, lambda _, entry: _add(draft, {"text": entry} if isinstance(entry, str) else _as_mapping(entry))
    )


def gist(operation: Mapping[str, Any], kind: str) -> tuple[frozenset[str], str]:
    """Return the names and the normalized text in *operation*. To a person, equal gists are the same operation."""
    content = operation.get("tag") if kind == "VOTE" else text_of(operation, kind)
    return frozenset(named_points(operation, kind)), normalised(storable(content)) if isinstance(content, str) else ""


def text_of(operation: Mapping[str, Any], kind: str) -> str:
    """Return the text that *operation* gives a point, or `""` if it has no text. *kind* is the operation's type."""
    text = operation.get(TEXT_KEYS.get(kind, ""))
    return text if isinstance(text, str) else ""


def named_points(operation: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """Return the names of the points in *operation*, each name once. *kind* is the operation's type."""
    sources = operation.get("source_ids") if kind == "MERGE" else [operation.get(_TARGET_KEYS.get(kind, ""))]
    names = sources if isinstance(sources, list) else []
    return tuple(dict.fromkeys(storable(str(name)) for name in names if name is not None))


def is_for_user(operation: object) -> bool:
    """Return whether *operation* is for the personal playbook: it names a point there, or has the scope `user`."""
    if not isinstance(operation, dict):
        return False
    if operation.get("type") == "ADD":
        return operation.get("scope") == "user"
    return any(map(is_users_name, named_points(operation, str(operation.get("type")))))


def unknown_sections(operations: Sequence[object]) -> tuple[tuple[int, str], ...]:
    """Return the index (from 0) and the section of each operation that names an unknown section."""
    return tuple(
        (index, str(operation["section"]))
        for index, operation in enumerate(operations)
        if isinstance(operation, dict) and is_unknown_section(operation.get("section"))
    )


def read_votes(raw: object, *, tag_key: str = "tag") -> tuple[list[Vote], tuple[Skipped, ...]]:
    """Parse a model's votes: *raw* is a list of `{"name", <tag_key>, "rationale"?}`. Also return the skipped items.

    An item without a name, or with an unknown tag, is skipped. Source: reflector specification, REQ-REFL-004 and -007;
    contract, section 5.
    """
    if raw is not None and not isinstance(raw, list):
        return [], (Skipped(0, raw, "the votes are not a list"),)
    votes: list[Vote] = []
    return votes, _skipped(raw or [], lambda _, item: votes.append(_vote(item, tag_key)))


def split_tags(playbooks: Sequence[Playbook], tags: Sequence[Any]) -> list[list[Any]]:
    """Return the reflector's *tags* as one list for each of the *playbooks*: the project's and the user's own."""
    split: list[list[Any]] = [[] for _ in playbooks]
    for tag in tags:
        is_users = isinstance(tag, dict) and is_users_name(str(tag.get("name")))
        split[-1 if is_users and playbooks[-1].points else 0].append(tag)
    return split


def cast_votes(draft: Draft, votes: Iterable[Vote]) -> tuple[Vote, ...]:
    """Add *votes* to the counters of the draft's points. A `neutral` vote changes no counter. Neither does `again`, but
    it counts as a change of its point.

    All votes for a point make one change. Return the votes with `matched` set: it is false if the point isn't live.
    The name of such a point is cut to MAX_NAME_LENGTH. Source: scoring specification, REQ-SCORE-002.
    """
    tallies: dict[str, list[int]] = {}
    marked: list[Vote] = []
    for vote in votes:
        matched = vote.name in draft
        if matched and vote.tag != "neutral":
            tally = tallies.setdefault(vote.name, [0, 0])
            tally[vote.tag == "harmful"] += vote.tag != AGAIN
        name = vote.name if matched else vote.name[:MAX_NAME_LENGTH]
        marked.append(replace(vote, name=name, matched=matched))
    for name, (helpful, harmful) in tallies.items():
        point = draft[name]
        draft.change(replace(point, helpful=point.helpful + helpful, harmful=point.harmful + harmful), kind="vote")
    return tuple(marked)


def is_harmful(point: KeyPoint) -> bool:
    """Return whether *point* has at least PRUNE_MIN_HARMFUL harmful votes, and more of them than helpful votes.

    Source: scoring specification, REQ-SCORE-007.
    """
    return point.harmful >= PRUNE_MIN_HARMFUL and point.harmful > point.helpful


def prune(draft: Draft) -> tuple[KeyPoint, ...]:
    """Retire all harmful points. Return the retired points in canonical order."""
    pruned = tuple(point for point in draft.points() if is_harmful(point))
    for point in pruned:
        draft.retire(point.name, cause="harmful", reason=f"pruned: {point.harmful} harmful, {point.helpful} helpful")
    return pruned


def _skipped(items: Iterable[object], perform: Callable[[int, object], None]) -> tuple[Skipped, ...]:
    skipped: list[Skipped] = []
    for index, item in enumerate(items):
        try:
            perform(index, item)
        except _RefusedError as refusal:
            skipped.append(Skipped(index, item, storable(str(refusal))))
    return tuple(skipped)


def _apply(draft: Draft, operation: object) -> None:
    fields = _as_mapping(operation)
    kind = fields.get("type")
    perform = _PERFORM.get(kind) if isinstance(kind, str) else None
    if perform is None:
        raise _RefusedError(f"unknown type {kind!r}; it must be one of {', '.join(_PERFORM)}" if kind else "no `type`")
    perform(draft, fields)


def _add(draft: Draft, fields: Mapping[str, Any]) -> None:
    text = _text(fields, "text")
    if draft.find_text(text):
        raise _RefusedError("the playbook says this already")
    section = find_section(fields.get("section")) or OTHERS
    draft.add(KeyPoint(draft.new_name(section), text, section))


def _update(draft: Draft, fields: Mapping[str, Any]) -> None:
    target = _target(draft, fields)
    text = _text(fields, "text")
    if text == target.text:
        raise _RefusedError(f"{target.name} has this text already")
    draft.change(replace(target, text=text), kind="edit")


def _merge(draft: Draft, fields: Mapping[str, Any]) -> None:
    source_ids = fields.get("source_ids")
    if not isinstance(source_ids, list) or len(source_ids) < 2:
        raise _RefusedError("`source_ids` must list two points or more")
    text = _text(fields, "merged_text")
    existing = dict.fromkeys(name for name in source_ids if isinstance(name, str) and name in draft)
    sources = [draft[name] for name in existing]
    missing = ", ".join(str(name) for name in source_ids if not (isinstance(name, str) and name in existing))
    if len(sources) < 2:
        there = ", ".join(existing) or "none"
        raise _RefusedError(
            f"`source_ids` must name two different points that exist (found: {there}; missing: {missing or 'none'})"
        )
    section = find_section(fields.get("section")) or sources[0].section
    helpful, harmful = (sum(counts) for counts in zip(*((each.helpful, each.harmful) for each in sources), strict=True))
    merged = KeyPoint(draft.new_name(section), text, section, helpful, harmful)
    reason = f"merged from {', '.join(existing)}" + (f" (missing: {missing})" if missing else "")
    draft.add(merged, reason=storable(reason))
    for source in sources:
        draft.retire(source.name, cause="merged", reason=f"merged into {merged.name}", successor=merged.name)


def _delete(draft: Draft, fields: Mapping[str, Any]) -> None:
    target = _target(draft, fields)
    reason = fields.get("reason")
    words = storable(reason) if isinstance(reason, str) and reason.strip() else "deleted"
    draft.retire(target.name, cause="curator", reason=words)


_PERFORM: dict[str, Callable[[Draft, Mapping[str, Any]], None]] = {
    "ADD": _add,
    "UPDATE": _update,
    "MERGE": _merge,
    "DELETE": _delete,
}


def _as_mapping(item: object) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise _RefusedError("not an object")
    return item


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    problem = why_text_unusable(value)
    if problem or not isinstance(value, str):
        raise _RefusedError(f"`{key}`: {problem}")
    if len(value) > MAX_TEXT_CHARS:
        raise _RefusedError(f"`{key}`: a text must not be longer than {MAX_TEXT_CHARS:,} characters")
    return value.strip()


def _target(draft: Draft, fields: Mapping[str, Any]) -> KeyPoint:
    name = fields.get("target_id")
    if not isinstance(name, str) or not name:
        raise _RefusedError("no `target_id`")
    if name not in draft:
        raise _RefusedError(f"there is no point {name}")
    return draft[name]


def _vote(item: object, tag_key: str) -> Vote:
    if not isinstance(item, dict):
        raise _RefusedError("a vote must be an object")
    if not isinstance(item.get("name"), str) or not item["name"]:
        raise _RefusedError("a vote must have a `name`")
    if item.get(tag_key) not in TAGS:
        raise _RefusedError(f"`{tag_key}` must be one of {', '.join(TAGS)}")
    rationale = item.get("rationale")
    return Vote(storable(item["name"]), item[tag_key], storable(rationale) if isinstance(rationale, str) else None)
