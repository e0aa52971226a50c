"""The command that says where the playbook stands: status."""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import as_json, database_and_folder
from playbook_db.cli.main import cli
from playbook_db.cli.output import beside, count_of, one_line, playbook_of, print_json
from playbook_db.domain.times import ago, local
from playbook_db.projects import is_users
from playbook_db.services import records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playbook_db.services.reading.status import Status

_KINDS = {
    "add": "added",
    "edit": "reworded",
    "move": "moved",
    "retire": "retired",
    "restore": "restored",
    "vote": "voted on",
}
MIRRORS = {"on": "kept in step", "found": "kept in step", "off": "left alone", "undecided": "none"}


@cli.command()
@click.option("--short", is_flag=True, help="One line, such as for Claude Code's status line.")
@as_json
def status(short: bool, as_json: bool) -> None:
    """Say where the playbook stands.

    Its points, what was learned last, what waits and why, and today's cost.
    """
    from playbook_db.services.reading import status as service

    status = service.read(*database_and_folder())
    if as_json:
        print_json(records.status_record(status))
    elif short:
        click.echo(_short(status))
    else:
        for title, text in _lines(status):
            click.echo(beside(f"{title:<15}", one_line(text), 15))


def _lines(status: "Status") -> "Iterator[tuple[str, str]]":
    yield "playbook", playbook_of(status.key)
    is_there = status.is_on_server or os.path.exists(status.database)
    yield "database", status.database + ("" if is_there else " (not made yet)")
    if status.team is None:
        yield from [("mirror", MIRRORS[status.mirror])] * (not is_users(status.key))
    else:
        known = "which this machine hasn't got yet: playbook work"
        if status.team_as_of is not None:
            at = datetime.fromisoformat(status.team_as_of)
            known = f"as this machine knew it {ago(at, now=datetime.now(UTC))}: playbook team status"
        yield "team", f"it is {status.team} there, {known}"
    shown = f"; a session is shown {status.shown}" if status.points else ""
    if status.is_on_server and status.points:
        shown = "; a session is shown none, since hooks ask no server: playbook doctor"
    yield "points", f"{status.points:,}{shown}" + (f", revision {status.revision}" if status.revision else "")
    if status.user_points and not is_users(status.key):
        shown = "" if status.is_on_server else f"; a session is shown {status.user_shown}"
        yield "your own", f"{count_of(status.user_points, 'point')}{shown}: playbook list --user"
    if status.is_ignored:
        yield "ignored", "no session is shown them, and none is learned from: playbook project ignore --off"
    if status.learned is None:
        yield "learned last", "nothing yet"
    else:
        counts = [f"{count} {_KINDS[kind]}" for kind, count in status.learned.counts.items()]
        did = ", ".join(counts) or "nothing changed"
        yield "learned last", f"{local(status.learned.time)}, revision {status.learned.revision}: {did}"
    if status.proposals:
        yield "proposals", f"{waiting_in_words(status.proposals)}: playbook review"
    yield "to learn from", _jobs(status) or "nothing"
    for reason in status.waits:
        yield "waits", reason
    budget = f" of {status.daily_tokens:,}" if status.daily_tokens else ""
    agreed = f" and {status.agreed_today:,} that bootstrap was allowed" if status.agreed_today else ""
    cost = f"{_dollars(status.cost_usd_all_today)} in all projects, {_dollars(status.cost_usd_today)} in this one"
    yield "today (UTC)", f"{status.tokens_today:,}{budget} tokens{agreed}, {cost}"


def waiting_in_words(count: int) -> str:
    """That so many proposals wait."""
    return f"{count_of(count, 'proposal')} wait{'s' * (count == 1)}"


def _dollars(cost: float) -> str:
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"


def _jobs(status: "Status") -> str:
    parts = [
        (status.queued, f"{count_of(status.queued, 'session')} waiting"),
        (status.running, f"{status.running} under way"),
        (status.failed, f"{status.failed} failed"),
    ]
    return ", ".join(text for count, text in parts if count)


def _short(status: "Status") -> str:
    if status.is_ignored:
        return "playbook: ignored here"
    parts = [count_of(status.points, "point")]
    if status.learned is not None:
        parts.append(f"learned {ago(datetime.fromisoformat(status.learned.time), now=datetime.now(UTC))}")
    parts += filter(None, [_jobs(status)])
    if status.proposals:
        parts.append(waiting_in_words(status.proposals))
    if status.waits:
        parts.append("see playbook status")
    return f"playbook: {', '.join(parts)}"
