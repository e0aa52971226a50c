"""How a comparison of two playbooks looks: for people, and as JSON."""

import json
from collections.abc import Iterator
from typing import Any

import click

from playbook_db.cli.output import one_line, point_record, readable
from playbook_db.cli.revisions_shown import indented, votes_told, words_marked
from playbook_db.rules.comparing import Comparison, KeyChange, Moved, Pair, Placed
from playbook_db.rules.playbook import KeyPoint
from playbook_db.rules.wording import marked
from playbook_db.services.differing import Side


def differences(found: Comparison, before: Side, after: Side) -> Iterator[str]:
    """What differs, line by line; says so where nothing does."""
    yield click.style(f"{one_line(before.told)} -> {one_line(after.told)}", fg="yellow")
    if found.is_empty:
        yield "nothing differs"
    for placed in found.added:
        yield from _whole("added", "green", placed.point)
    for point in found.retired:
        yield from _whole("retired", "red", point)
    for pair in found.reworded:
        yield _line("reworded", "yellow", pair.after)
        yield indented(words_marked(pair.before.text, pair.after.text))
    for moved in found.moved:
        yield f"{_line('moved', 'yellow', moved.before)} {_way(moved)}"
    for pair in found.voted:
        yield f"{_line('votes', 'cyan', pair.after)} {votes_told(pair.before, pair.after)}"
    for change in found.keys:
        yield f"{_word('key', 'yellow')}  {_key_told(change)}"


def difference_record(found: Comparison, before: Side, after: Side) -> dict[str, Any]:
    """A comparison as `diff --json` shows it."""
    return {
        "from": _side_record(before),
        "to": _side_record(after),
        "added": [point_record(placed.point) | {"behind": placed.behind} for placed in found.added],
        "retired": [point_record(point) for point in found.retired],
        "reworded": [_reworded_record(pair) for pair in found.reworded],
        "moved": [_moved_record(moved.before, moved.now) for moved in found.moved],
        "votes": [_votes_record(pair) for pair in found.voted],
        "keys": [_key_record(change) for change in found.keys],
    }


def _whole(word: str, colour: str, point: KeyPoint) -> Iterator[str]:
    yield f"{_line(word, colour, point)} [{point.section}] {point.helpful} helpful, {point.harmful} harmful"
    yield indented(readable(point.text))


def _line(word: str, colour: str, point: KeyPoint) -> str:
    return f"{_word(word, colour)}  {one_line(point.name)}"


def _word(word: str, colour: str) -> str:
    return click.style(f"{word:<8}", fg=colour)


def _way(moved: Moved) -> str:
    section = moved.now.point.section
    place = f"behind {one_line(moved.now.behind)}" if moved.now.behind else "to the front"
    if section == moved.before.section:
        return f"{place} in {section}" if moved.now.behind else f"{place} of {section}"
    return f"from {moved.before.section} to {section}, {place}"


def _key_told(change: KeyChange) -> str:
    was, now = (_shown(value) for value in (change.before, change.after))
    return f"{one_line(change.key)}: {was} -> {now}"


def _shown(value: str | None) -> str:
    return "(none)" if value is None else one_line(value)


def _side_record(side: Side) -> dict[str, Any]:
    if side.file is not None:
        return {"file": side.file}
    return {"revision": side.revision, "time": side.time}


def _reworded_record(pair: Pair) -> dict[str, Any]:
    before, after = pair.before.text, pair.after.text
    return {"name": pair.after.name, "text_before": before, "text": after, "words": marked(before, after)}


def _moved_record(before: KeyPoint, now: Placed) -> dict[str, Any]:
    return {
        "name": before.name,
        "section_before": before.section,
        "section": now.point.section,
        "behind": now.behind,
    }


def _votes_record(pair: Pair) -> dict[str, Any]:
    return {
        "name": pair.after.name,
        "helpful_before": pair.before.helpful,
        "harmful_before": pair.before.harmful,
        "helpful": pair.after.helpful,
        "harmful": pair.after.harmful,
    }


def _key_record(change: KeyChange) -> dict[str, Any]:
    values = (("before", change.before), ("after", change.after))
    return {"key": change.key} | {name: json.loads(value) for name, value in values if value is not None}
