"""The command session."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import Command, as_json, opened
from playbook_db.cli.output import KINDS, beside, count_of, one_line, print_json, wants_json
from playbook_db.domain.playbook import NOTE
from playbook_db.domain.times import local
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.reading.history import SessionLessons
    from playbook_db.store.queries.log_queries import SkippedOperation


@click.command(cls=Command)
@click.argument("session", metavar="ID")
@as_json
def session(session: str) -> None:
    """Show what a session taught, and what didn't count and why.

    ID is the session's id or the beginning of it. For each lesson or vote that doesn't count, you see the command that
    makes it count.
    """
    from playbook_db.services.reading import history

    with opened(sync=False) as project:
        lessons = history.session_lessons(project, session)
    if wants_json():
        print_json(records.lessons_record(lessons))
        return
    for line in _lines(lessons):
        click.echo(line)


def _lines(lessons: "SessionLessons") -> Iterator[str]:
    summary, revisions = lessons.details.session, lessons.details.revisions
    tokens = f"{count_of(summary.calls, 'model call')}, {summary.tokens:,} tokens"
    yield f"session {one_line(summary.session_id)}, {local(summary.first_at)}, {tokens}"
    changes = [each for full in revisions for each in full.revision.changes]
    for change in changes:
        yield beside(f"  {KINDS[change.kind]:<12}", one_line(f"{change.point.name} {change.point.text}"), 14)
    if not changes:
        yield "It changed nothing."
    else:
        yield f"To undo that: playbook undo --session {one_line(summary.session_id)}"
    for item in lessons.waiting:
        proposal = item.proposal
        what = proposal.text or " ".join(proposal.names)
        why = proposal.operation.get("doubt") or (
            "it is for all your projects" if item.is_users else "it needs your consent"
        )
        yield beside(f"  {'waits':<12}", one_line(f"{item.name}, {proposal.kind}: {what}"), 14)
        yield beside(" " * 14, one_line(f"{why}. To accept it: playbook review --accept {item.name}"), 14)
    for skipped in (each for full in revisions for each in full.skipped):
        yield beside(f"  {'not counted':<12}", one_line(_uncounted(skipped)), 14)


def _uncounted(skipped: "SkippedOperation") -> str:
    """Describe a vote or an operation that doesn't count, with the reason, and for a vote with the next step."""
    reason = skipped.reason.removeprefix(NOTE)
    fields = json.loads(skipped.operation)
    if not skipped.reason.startswith(NOTE) or not isinstance(fields, dict):
        return f"operation {skipped.place}: {reason}"
    name, tag = fields.get("name"), fields.get("tag")
    return f"{tag} vote on {name}: {reason}. To count it: playbook vote {name} {tag}"
