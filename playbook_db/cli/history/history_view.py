"""Formatting the history as text: a log, one revision in full, and the differences between two playbooks."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from playbook_db.cli.output import (
    IGNORED,
    KINDS,
    beside,
    count_of,
    evidence_line,
    folded,
    one_line,
    readable,
    session_name,
    shortened,
    terminal_width,
)
from playbook_db.domain.merging.diff import Piece, compare_words, mark
from playbook_db.domain.playbook import NOTE
from playbook_db.domain.times import local

if TYPE_CHECKING:
    from playbook_db.domain.merging.diff import Comparison, Moved
    from playbook_db.domain.playbook import KeyPoint
    from playbook_db.services.reading.history import SourcedPlaybook
    from playbook_db.store.queries.log_queries import RevisionDetails, RevisionReflection
    from playbook_db.store.queries.revision_log import LoggedChange, LoggedRevision

MOST_LINES = 10  # of one revision's changes in a log
_WIDTH = 100  # of a line without a terminal
_INDENT = " " * 4  # of a text below its heading
_COLOURS = {"add": "green", "restore": "green", "retire": "red", "edit": "yellow", "move": "yellow", "vote": "cyan"}


def logged(revision: "LoggedRevision", *, of_point: bool = False) -> str:
    """Describe the revision in some lines, the last one empty. With *of_point*, describe its change to one point."""
    lines = list(_head(revision))
    lines += [f"    {_glance(change)}" for change in revision.changes[: None if of_point else MOST_LINES]]
    more = sum(revision.counts.values()) - MOST_LINES
    if more > 0 and not of_point:
        lines.append(f"    ... and {more:,} more: playbook show {revision.number}")
    summary = _others(revision, of_point=of_point)
    if not of_point:
        summary.insert(0, _counted(revision))
        if revision.uncounted_votes:
            summary.append(f"details: playbook show {revision.number}")
    if summary:
        lines.append(folded("; ".join(summary), _INDENT))
    return "\n".join([*lines, "", ""])


def in_full(full: "RevisionDetails") -> Iterator[str]:
    """Yield all that is recorded about a revision, line by line."""
    revision = full.revision
    yield from _head(revision)
    yield folded("; ".join([_counted(revision), *_others(revision, of_point=False)]), _INDENT)
    for change in revision.changes:
        yield ""
        yield beside(f"{_word(change.kind, _COLOURS[change.kind])} ", _summary(change), 9)
        yield folded(_marked_text(change), _INDENT)
        yield from (folded(evidence_line(each), _INDENT) for each in change.evidence)
    if full.votes:
        yield from ("", click.style("votes", bold=True))
    for vote in full.votes:
        unknown = "" if vote.matched else " (ignored: no such point)"
        rationale = f": {one_line(vote.rationale)}" if vote.rationale else ""
        ignored = f" ({IGNORED})" if vote.ignored else ""
        yield beside(f"    {vote.tag:<8} ", f"{one_line(vote.name)}{unknown}{ignored}{rationale}", 13)
        yield from (folded(evidence_line(each), " " * 13) for each in vote.evidence)
    if full.skipped:
        yield from ("", click.style("skipped operations", bold=True))
    for skipped in full.skipped:
        place = "" if skipped.reason.startswith(NOTE) else f"operation {skipped.place}: "
        yield folded(f"{place}{one_line(skipped.reason)}", _INDENT)
        yield folded(one_line(skipped.operation), _INDENT * 2)
    for reflection in full.reflections:
        yield from _reflection(reflection)


def differences(comparison: "Comparison", before: "SourcedPlaybook", after: "SourcedPlaybook") -> Iterator[str]:
    """Yield the differences, line by line."""
    yield click.style(folded(f"{one_line(before.title)} -> {one_line(after.title)}"), fg="yellow")
    if not any(comparison):
        yield "no differences"
    for placed in comparison.added:
        yield from _whole("added", "green", placed.point)
    for point in comparison.retired:
        yield from _whole("retired", "red", point)
    for pair in comparison.reworded:
        yield _line("edited", "yellow", pair.after)
        yield folded(marked_words(pair.before.text, pair.after.text), _INDENT)
    for moved in comparison.moved:
        yield f"{_line('moved', 'yellow', moved.before)} {_way(moved)}"
    for pair in comparison.voted:
        yield f"{_line('votes', 'cyan', pair.after)} {_votes(pair.before, pair.after)}"
    for change in comparison.keys:
        was, now = ("(none)" if value is None else one_line(value) for value in (change.before, change.after))
        yield f"{_word('key', 'yellow')}  {one_line(change.key)}: {was} -> {now}"


def _head(revision: "LoggedRevision") -> Iterator[str]:
    session = f"  session {session_name(revision.session_id)}" if revision.session_id else ""
    actor = "" if revision.actor == revision.session_id else f"  {session_name(revision.actor)}"
    number = click.style(f"revision {revision.number}", fg="yellow")
    yield f"{number}  {local(revision.time)}  {revision.source}{actor}{session}"
    if revision.message:
        yield folded(one_line(revision.message), _INDENT)
    if revision.undone_in is not None:
        yield click.style(f"    undone in revision {revision.undone_in}", fg="magenta")


def _glance(change: "LoggedChange") -> str:
    """Describe the change in one line of the terminal, with the beginning of a new text."""
    width = terminal_width() if sys.stdout.isatty() else _WIDTH
    most = max(width - 13, 20)
    line = _summary(change)
    if change.kind in ("add", "restore") or (change.kind == "edit" and change.is_reworded):
        line += f": {one_line(change.point.text[:most])}"
    return f"{_word(change.kind, _COLOURS[change.kind])} {shortened(line, most)}"


def _summary(change: "LoggedChange") -> str:
    """Describe the change to the point in one line, without its text."""
    before, point = change.before, change.point
    parts = []
    if before is None:
        votes = f" +{point.helpful} -{point.harmful}" if point.helpful or point.harmful else ""
        parts.append(f"[{point.section}]{votes}")
    elif before.section != point.section:
        parts.append(f"to {point.section}")
    elif change.kind == "move":
        parts.append(f"to another place in {point.section}")
    if before is not None and any(_growth(before, point)):
        parts.append(_votes(before, point))
    if change.reason:
        parts.append(one_line(change.reason))
    if change.successor and change.successor not in (change.reason or ""):
        parts.append(f"into {one_line(change.successor)}")
    return f"{one_line(point.name)}{':' * (change.kind == 'retire')} {'; '.join(parts)}".rstrip(": ")


def _counted(revision: "LoggedRevision") -> str:
    total = sum(revision.counts.values())
    kinds = ", ".join(f"{revision.counts[kind]:,} {word}" for kind, word in KINDS.items() if kind in revision.counts)
    return f"{count_of(total, 'change')}: {kinds}" if total else "no point changed"


def _others(revision: "LoggedRevision", *, of_point: bool) -> list[str]:
    """Describe the other contents of a revision, such as votes. With *of_point*, describe only those for that point."""
    parts = [count_of(revision.neutral_votes, "neutral vote")] if revision.neutral_votes else []
    if of_point:
        return parts
    if revision.unmatched_votes:
        parts.append(f"{count_of(revision.unmatched_votes, 'vote')} ignored: no such point")
    if revision.skipped:
        parts.append(f"{count_of(revision.skipped, 'operation')} skipped")
    if revision.uncounted_votes:
        parts.append(f"{count_of(revision.uncounted_votes, 'vote')} not counted")
    if revision.keys:
        parts.append(f"keys of the file changed: {', '.join(one_line(repr(key)) for key in revision.keys)}")
    if revision.cost_usd is not None:
        parts.append(f"${revision.cost_usd:.4f}")
    return parts


def _reflection(reflection: "RevisionReflection") -> Iterator[str]:
    sent = reflection.input_tokens + reflection.cached_tokens
    cost = "" if reflection.cost_usd is None else f", ${reflection.cost_usd:.4f}"
    took = "" if reflection.duration_ms is None else f", {reflection.duration_ms / 1000:.1f} s"
    yield from ("", click.style("reflection", bold=True))
    model = one_line(reflection.model or "a model")
    yield f"    {model}: {sent:,} tokens in, {reflection.output_tokens:,} out{cost}{took}"
    for title, text in (("analysis", reflection.analysis), ("the curator's reasoning", reflection.curator_reasoning)):
        if text:
            yield from ("", click.style(title, bold=True), folded(readable(text), _INDENT))


def _whole(word: str, colour: str, point: "KeyPoint") -> Iterator[str]:
    yield f"{_line(word, colour, point)} [{point.section}] {point.helpful} helpful, {point.harmful} harmful"
    yield folded(readable(point.text), _INDENT)


def _line(word: str, colour: str, point: "KeyPoint") -> str:
    return f"{_word(word, colour)}  {one_line(point.name)}"


def _word(word: str, colour: str) -> str:
    return click.style(f"{word:<8}", fg=colour)


def _way(moved: "Moved") -> str:
    section = moved.now.point.section
    place = f"behind {one_line(moved.now.behind)}" if moved.now.behind else "to the front"
    if section == moved.before.section:
        return f"{place} in {section}" if moved.now.behind else f"{place} of {section}"
    return f"from {moved.before.section} to {section}, {place}"


def _votes(before: "KeyPoint", after: "KeyPoint") -> str:
    """Describe how the counters changed, and their present values."""
    helpful, harmful = _growth(before, after)
    if min(helpful, harmful) >= 0:
        grown = f"+{helpful} -{harmful}"
    else:
        steps = ((helpful, "helpful"), (harmful, "harmful"))
        grown = ", ".join(f"{step:+d} {word}" for step, word in steps if step)
    return f"{grown}, now {after.helpful} helpful, {after.harmful} harmful"


def _growth(before: "KeyPoint", after: "KeyPoint") -> tuple[int, int]:
    return after.helpful - before.helpful, after.harmful - before.harmful


def _marked_text(change: "LoggedChange") -> str:
    """Return the point's whole text, with changed words marked if the text was edited."""
    if change.before is None or not change.is_reworded:
        return readable(change.point.text)
    return marked_words(change.before.text, change.point.text)


def marked_words(before: str, after: str) -> str:
    """Return the new text with the changed words marked, for a terminal."""
    return "".join(_coloured(piece) for piece in compare_words(before, after))


def _coloured(piece: Piece) -> str:
    """Return the colored piece of text without control characters, but with its line breaks."""
    before, after = ("\n".join(map(one_line, text.split("\n"))) for text in (piece.before, piece.after))
    if piece.is_same:
        return after
    removed = click.style(mark(Piece(before, "")), fg="red") if before else ""
    return removed + (click.style(mark(Piece("", after)), fg="green") if after else "")
