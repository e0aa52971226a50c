"""What the curator asks for, and what of it the rules accept.

An operation that breaks a rule is skipped with a reason and never spoils the others. Source: curator
contract; UPDATE: contract, section 4.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from playbook_db.rules import texts
from playbook_db.rules.draft import Draft
from playbook_db.rules.playbook import KeyPoint, Skipped
from playbook_db.rules.sections import find_section, is_unknown_section, resolve_section

MAX_OPERATIONS = 10  # of one batch; what comes after is skipped


class _RefusedError(Exception):
    """Why an operation can't be carried out."""


def apply_operations(draft: Draft, operations: Sequence[object]) -> tuple[Skipped, ...]:
    """Carry out *operations* on the draft in their order, each seeing what the earlier ones left.

    The skipped ones come back with their reasons.
    """
    skipped: list[Skipped] = []
    for index, operation in enumerate(operations):
        try:
            if index >= MAX_OPERATIONS:
                raise _RefusedError(f"a batch holds at most {MAX_OPERATIONS} operations")
            _apply(draft, operation)
        except _RefusedError as refusal:
            skipped.append(Skipped(index, operation, texts.storable(str(refusal))))
    return tuple(skipped)


def apply_new_points(draft: Draft, entries: object) -> tuple[Skipped, ...]:
    """Add *entries*, texts or `{"text", "section"?}`, as the older form of a curator's answer lists them.

    Anything but a list adds nothing. Source: curator contract, ExtractionResult.
    """
    skipped: list[Skipped] = []
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        try:
            _add(draft, {"text": entry} if isinstance(entry, str) else _as_mapping(entry))
        except _RefusedError as refusal:
            skipped.append(Skipped(index, entry, str(refusal)))
    return tuple(skipped)


def unknown_sections(operations: Sequence[object]) -> tuple[tuple[int, str], ...]:
    """The operations (0-based) that name a section we don't have, with that name; such points go elsewhere."""
    return tuple(
        (index, str(operation["section"]))
        for index, operation in enumerate(operations)
        if isinstance(operation, dict) and is_unknown_section(operation.get("section"))
    )


def _apply(draft: Draft, operation: object) -> None:
    fields = _as_mapping(operation)
    kind = fields.get("type")
    perform = _PERFORM.get(kind) if isinstance(kind, str) else None
    if perform is None:
        raise _RefusedError(f"unknown type {kind!r}; it must be one of {', '.join(_PERFORM)}" if kind else "no `type`")
    perform(draft, fields)


def _add(draft: Draft, fields: Mapping[str, Any]) -> None:
    text = _text(fields, "text")
    if draft.has_text(text):
        raise _RefusedError("the playbook says this already")
    section = resolve_section(fields.get("section"))
    draft.add(KeyPoint(draft.new_name(section), text, section))


def _update(draft: Draft, fields: Mapping[str, Any]) -> None:
    target = _target(draft, fields)
    text = _text(fields, "text")
    if text == target.text:
        raise _RefusedError(f"{target.name} has this text already")
    draft.change(replace(target, text=text), kind="edit")


def _merge(draft: Draft, fields: Mapping[str, Any]) -> None:
    given = fields.get("source_ids")
    if not isinstance(given, list) or len(given) < 2:
        raise _RefusedError("`source_ids` must list two points or more")
    text = _text(fields, "merged_text")
    existing = dict.fromkeys(name for name in given if isinstance(name, str) and name in draft)
    sources = [draft[name] for name in existing]
    missing = ", ".join(str(name) for name in given if not (isinstance(name, str) and name in existing))
    if len(sources) < 2:
        there = ", ".join(existing) or "none"
        raise _RefusedError(
            f"`source_ids` must name two different points that exist (there: {there}; missing: {missing or 'none'})"
        )
    section = find_section(fields.get("section")) or sources[0].section
    merged = KeyPoint(
        draft.new_name(section),
        text,
        section,
        helpful=sum(source.helpful for source in sources),
        harmful=sum(source.harmful for source in sources),
    )
    told = f"merged from {', '.join(existing)}" + (f" (missing: {missing})" if missing else "")
    draft.add(merged, reason=texts.storable(told))
    for source in sources:
        draft.retire(source.name, reason=f"merged into {merged.name}", successor=merged.name)


def _delete(draft: Draft, fields: Mapping[str, Any]) -> None:
    target = _target(draft, fields)
    reason = fields.get("reason")
    told = texts.storable(reason) if isinstance(reason, str) and reason.strip() else "deleted"
    draft.retire(target.name, reason=told)


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
    problem = texts.why_unusable(value)
    if problem:
        raise _RefusedError(f"`{key}`: {problem}")
    assert isinstance(value, str)  # noqa: S101 - why_unusable says so
    return value.strip()


def _target(draft: Draft, fields: Mapping[str, Any]) -> KeyPoint:
    name = fields.get("target_id")
    if not isinstance(name, str) or not name:
        raise _RefusedError("no `target_id`")
    if name not in draft:
        raise _RefusedError(f"there is no point {name}")
    return draft[name]
