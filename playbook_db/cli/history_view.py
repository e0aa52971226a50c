"""How revisions look to people: a log at a glance, one revision in full. `revision_records` has the JSON."""

import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import click

from playbook_db.cli.output import count_of, one_line, point_record, readable
from playbook_db.domain.diff import Comparison, KeyChange, Moved, Pair, Piece, Placed, compare_words, mark, marked
from playbook_db.domain.playbook import KeyPoint
from playbook_db.services.history import ComparedSide, FullRevision, local
from playbook_db.store.log_queries import KeptReflection, LoggedChange, LoggedRevision, Span

MOST_LINES = 10  # of one revision's changes in a log
_WIDTH = 100  # of a line where no terminal says
_COLOURS = {"add": "green", "restore": "green", "retire": "red", "edit": "yellow", "move": "yellow", "vote": "cyan"}
_DONE = {
    "add": "added", "edit": "edited", "vote": "with other votes", "move": "moved", "restore": "restored",
    "retire": "retired",
}  # fmt: skip


def logged(revision: LoggedRevision, *, of_point: bool = False) -> str:
    """The revision at a glance, some lines that end with an empty one; with *of_point*, what it did to one point."""
    lines = list(_head(revision))
    lines += [f"    {_glance(change)}" for change in revision.changes[: None if of_point else MOST_LINES]]
    left = sum(revision.counts.values()) - MOST_LINES
    if left > 0 and not of_point:
        lines.append(f"    ... and {left:,} more: playbook show {revision.number}")
    told = _others(revision, of_point=of_point)
    if not of_point:
        told.insert(0, _counted(revision))
    if told:
        lines.append(f"    {'; '.join(told)}")
    return "\n".join([*lines, "", ""])


def in_full(full: FullRevision) -> Iterator[str]:
    """All that is kept of a revision, line by line."""
    revision = full.revision
    yield from _head(revision)
    yield f"    {'; '.join([_counted(revision), *_others(revision, of_point=False)])}"
    for change in revision.changes:
        yield ""
        yield f"{_kind(change)} {_told(change)}"
        yield indented(change_marked(change))
    if full.votes:
        yield from ("", click.style("votes", bold=True))
    for vote in full.votes:
        unknown = "" if vote.matched else " (no live point has this name)"
        rationale = f": {one_line(vote.rationale)}" if vote.rationale else ""
        yield f"    {vote.tag:<8} {one_line(vote.name)}{unknown}{rationale}"
    if full.skipped:
        yield from ("", click.style("skipped operations", bold=True))
    for kept in full.skipped:
        yield f"    operation {kept.place}: {one_line(kept.reason)}"
        yield f"        {one_line(kept.operation)}"
    for reflection in full.reflections:
        yield from _reflected(reflection)


def span_told(span: Span) -> str:
    """When a point came, and when it last changed."""
    came = f"since r{span.created_in}, {local(span.created_at)}"
    if span.changed_in == span.created_in:
        return came
    return f"{came}; last changed in r{span.changed_in}, {local(span.changed_at)}"


def votes_told(before: KeyPoint, after: KeyPoint) -> str:
    """By how much the counters changed, and what they are now."""
    helpful, harmful = _deltas(before, after)
    if min(helpful, harmful) >= 0:
        grown = f"+{helpful} -{harmful}"
    else:
        steps = ((helpful, "helpful"), (harmful, "harmful"))
        grown = ", ".join(f"{step:+d} {word}" for step, word in steps if step)
    return f"{grown}, now {after.helpful} helpful, {after.harmful} harmful"


def words_marked(before: str, after: str) -> str:
    """The new text with the changed words marked, for a terminal."""
    return "".join(_coloured(piece) for piece in compare_words(before, after))


def change_marked(change: LoggedChange) -> str:
    """The point's whole text, with the changed words marked where it was reworded."""
    if change.before is None or not change.is_reworded:
        return readable(change.point.text)
    return words_marked(change.before.text, change.point.text)


def indented(text: str) -> str:
    """*text* with each line moved in."""
    return "    " + text.replace("\n", "\n    ")


def _head(revision: LoggedRevision) -> Iterator[str]:
    session = f"  session {one_line(revision.session_id)}" if revision.session_id else ""
    number = click.style(f"revision {revision.number}", fg="yellow")
    yield f"{number}  {local(revision.time)}  {revision.source}{session}"
    if revision.message:
        yield f"    {one_line(revision.message)}"
    if revision.taken_back_in is not None:
        yield click.style(f"    taken back in revision {revision.taken_back_in}", fg="magenta")


def _kind(change: LoggedChange) -> str:
    return click.style(f"{change.kind:<8}", fg=_COLOURS[change.kind])


def _glance(change: LoggedChange) -> str:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    room = max(width - 13, 20)
    told = _told(change)
    if change.kind in ("add", "restore") or (change.kind == "edit" and change.is_reworded):
        told += f": {one_line(change.point.text[:room])}"
    return f"{_kind(change)} {told if len(told) <= room else told[: room - 1] + '…'}"


def _told(change: LoggedChange) -> str:
    """What happened to the point, in one line, but for its text."""
    before, point = change.before, change.point
    told = []
    if before is None:
        votes = f" +{point.helpful} -{point.harmful}" if point.helpful or point.harmful else ""
        told.append(f"[{point.section}]{votes}")
    elif before.section != point.section:
        told.append(f"to {point.section}")
    elif change.kind == "move":
        told.append(f"to another place in {point.section}")
    if before is not None and any(_deltas(before, point)):
        told.append(votes_told(before, point))
    if change.reason:
        told.append(one_line(change.reason))
    if change.successor and change.successor not in (change.reason or ""):
        told.append(f"into {one_line(change.successor)}")
    return " ".join([one_line(point.name), "; ".join(told)]).rstrip()


def _deltas(before: KeyPoint, after: KeyPoint) -> tuple[int, int]:
    return after.helpful - before.helpful, after.harmful - before.harmful


def _counted(revision: LoggedRevision) -> str:
    """How many changes of which kind."""
    total = sum(revision.counts.values())
    kinds = ", ".join(f"{revision.counts[kind]:,} {word}" for kind, word in _DONE.items() if kind in revision.counts)
    return f"{count_of(total, 'change')}: {kinds}" if total else "no point changed"


def _others(revision: LoggedRevision, *, of_point: bool) -> list[str]:
    """What a revision did besides its changes; with *of_point* only what concerns the one point."""
    told = [count_of(revision.neutral_votes, "neutral vote")] if revision.neutral_votes else []
    if of_point:
        return told
    if revision.unmatched_votes:
        told.append(f"{count_of(revision.unmatched_votes, 'vote')} for no live point")
    if revision.skipped:
        told.append(f"{count_of(revision.skipped, 'operation')} skipped")
    if revision.keys:
        told.append(f"the file's {', '.join(one_line(repr(key)) for key in revision.keys)} changed")
    if revision.cost_usd is not None:
        told.append(f"${revision.cost_usd:.4f}")
    return told


def _reflected(told: KeptReflection) -> Iterator[str]:
    tokens = f"{told.input_tokens + told.cached_tokens:,} tokens in, {told.output_tokens:,} out"
    cost = "" if told.cost_usd is None else f", ${told.cost_usd:.4f}"
    took = "" if told.duration_ms is None else f", {told.duration_ms / 1000:.1f} s"
    yield from ("", click.style("reflection", bold=True))
    yield f"    {one_line(told.model or 'a model')}: {tokens}{cost}{took}"
    for title, text in (("analysis", told.analysis), ("the curator's reasoning", told.curator_reasoning)):
        if text:
            yield from ("", click.style(title, bold=True), indented(readable(text)))


def _coloured(piece: Piece) -> str:
    shown = Piece(_harmless(piece.before), _harmless(piece.after))
    if piece.is_same:
        return shown.after
    gone = click.style(mark(Piece(shown.before, "")), fg="red") if shown.before else ""
    return gone + (click.style(mark(Piece("", shown.after)), fg="green") if shown.after else "")


def _harmless(text: str) -> str:
    """Part of a text, its line breaks kept, without what could steer a terminal."""
    return "\n".join(one_line(line) for line in text.split("\n"))


# How a comparison of two playbooks looks: for people, and as JSON.


def differences(found: Comparison, before: ComparedSide, after: ComparedSide) -> Iterator[str]:
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


def difference_record(found: Comparison, before: ComparedSide, after: ComparedSide) -> dict[str, Any]:
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


def _side_record(side: ComparedSide) -> dict[str, Any]:
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
