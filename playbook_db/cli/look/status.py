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

    found = service.read(*database_and_folder())
    if as_json:
        print_json(records.status_record(found))
    elif short:
        click.echo(_short(found))
    else:
        for title, text in _lines(found):
            click.echo(beside(f"{title:<15}", one_line(text), 15))


def _lines(found: "Status") -> "Iterator[tuple[str, str]]":
    yield "playbook", playbook_of(found.key)
    is_there = found.is_on_server or os.path.exists(found.database)
    yield "database", found.database + ("" if is_there else " (not made yet)")
    if found.team is None:
        yield from [("mirror", MIRRORS[found.mirror])] * (not is_users(found.key))
    else:
        known = "which this machine hasn't got yet: playbook work"
        if found.team_as_of is not None:
            at = datetime.fromisoformat(found.team_as_of)
            known = f"as this machine knew it {ago(at, now=datetime.now(UTC))}: playbook team status"
        yield "team", f"it is {found.team} there, {known}"
    shown = f"; a session is shown {found.shown}" if found.points else ""
    if found.is_on_server and found.points:
        shown = "; a session is shown none, since hooks ask no server: playbook doctor"
    yield "points", f"{found.points:,}{shown}" + (f", revision {found.revision}" if found.revision else "")
    if found.user_points and not is_users(found.key):
        shown = "" if found.is_on_server else f"; a session is shown {found.user_shown}"
        yield "your own", f"{count_of(found.user_points, 'point')}{shown}: playbook list --user"
    if found.is_ignored:
        yield "ignored", "no session is shown them, and none is learned from: playbook project ignore --off"
    if found.learned is None:
        yield "learned last", "nothing yet"
    else:
        counts = [f"{count} {_KINDS[kind]}" for kind, count in found.learned.counts.items()]
        did = ", ".join(counts) or "nothing changed"
        yield "learned last", f"{local(found.learned.time)}, revision {found.learned.revision}: {did}"
    if found.proposals:
        yield "proposals", f"{waiting_in_words(found.proposals)}: playbook review"
    yield "to learn from", _jobs(found) or "nothing"
    for reason in found.waits:
        yield "waits", reason
    budget = f" of {found.daily_tokens:,}" if found.daily_tokens else ""
    agreed = f" and {found.agreed_today:,} that bootstrap was allowed" if found.agreed_today else ""
    cost = f"{_dollars(found.cost_usd_all_today)} in all projects, {_dollars(found.cost_usd_today)} in this one"
    yield "today (UTC)", f"{found.tokens_today:,}{budget} tokens{agreed}, {cost}"


def waiting_in_words(count: int) -> str:
    """That so many proposals wait."""
    return f"{count_of(count, 'proposal')} wait{'s' * (count == 1)}"


def _dollars(cost: float) -> str:
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"


def _jobs(found: "Status") -> str:
    parts = [
        (found.queued, f"{count_of(found.queued, 'session')} waiting"),
        (found.running, f"{found.running} under way"),
        (found.failed, f"{found.failed} failed"),
    ]
    return ", ".join(text for count, text in parts if count)


def _short(found: "Status") -> str:
    if found.is_ignored:
        return "playbook: ignored here"
    parts = [count_of(found.points, "point")]
    if found.learned is not None:
        parts.append(f"learned {ago(datetime.fromisoformat(found.learned.time), now=datetime.now(UTC))}")
    parts += filter(None, [_jobs(found)])
    if found.proposals:
        parts.append(waiting_in_words(found.proposals))
    if found.waits:
        parts.append("see playbook status")
    return f"playbook: {', '.join(parts)}"
