"""The command status."""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import Command, as_json, database_and_folder, project_folder
from playbook_db.cli.output import KINDS, beside, count_of, one_line, playbook_of, print_json, wants_json
from playbook_db.cli.overview import waiting_in_words
from playbook_db.domain.times import ago, local
from playbook_db.projects import is_users
from playbook_db.services import records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playbook_db.services.reading.status import Status

_MIRRORS = ("on", "found")  # the states in which the project has one


@click.command(cls=Command)
@click.option("--short", is_flag=True, help="Print one line, such as for Claude Code's status line.")
@as_json
def status(short: bool) -> None:
    """Show how many points there are, and what waits.

    The output also says what was learned last, why learning waits, and what it cost today. To see numbers over time,
    use playbook stats.
    """
    from playbook_db.services.reading import status as service

    status = service.read(*database_and_folder())
    if wants_json():
        print_json(records.status_record(status))
    elif short:
        click.echo(_short(status))
    else:
        for title, text in _lines(status):
            click.echo(beside(f"{title:<15}", one_line(text), 15))


def _lines(status: "Status") -> "Iterator[tuple[str, str]]":
    yield "playbook", playbook_of(status.key)
    is_there = status.is_on_server or os.path.exists(status.database)
    yield "database", status.database + ("" if is_there else " (not created yet)")
    if status.team is None:
        yield from [("mirror", ".claude/playbook.json is kept up to date")] * (status.mirror in _MIRRORS)
    else:
        known = "which this machine doesn't have yet: playbook work"
        if status.team_as_of is not None:
            at = datetime.fromisoformat(status.team_as_of)
            known = f"as this machine last knew it, {ago(at, now=datetime.now(UTC))}: playbook team status"
        yield "team", f"it is {status.team} there, {known}"
    shown = f"; a session gets {status.shown}" if status.points else ""
    if status.is_on_server and status.points:
        shown = "; a session gets none, since hooks don't connect to a server: playbook doctor"
    yield "points", f"{status.points:,}{shown}" + (f"; at revision {status.revision}" if status.revision else "")
    if status.user_points and not is_users(status.key):
        shown = "" if status.is_on_server else f"; a session gets {status.user_shown}"
        yield "personal", f"{count_of(status.user_points, 'point')}{shown}: playbook list --user"
    if status.is_ignored:
        yield "ignored", "sessions get no points and none is learned from: playbook project ignore --off"
    if status.learned is None:
        yield "learned last", "nothing yet"
    else:
        learned = status.learned
        parts = [f"{count} {KINDS[kind]}" for kind, count in learned.counts.items()] or ["nothing changed"]
        parts += [f"{learned.waiting} wait{'s' * (learned.waiting == 1)}"] * bool(learned.waiting)
        yield "learned last", f"{local(learned.time)}, {', '.join(parts)}: playbook session {learned.session_id}"
    if status.proposals:
        yield "proposals", f"{waiting_in_words(status.proposals)}: {settings.review_command()}"
    yield from _often_ignored(status)
    yield "queue", _jobs(status) or "no session waits to be learned from"
    for reason in status.waits:
        yield "waits", reason
    limit = status.daily_tokens
    budget = f" of {limit:,} tokens" if limit else " tokens"
    agreed = f" and {status.agreed_today:,} that you allowed bootstrap" if status.agreed_today else ""
    cost = f"{_dollars(status.cost_usd_all_today)} in all projects, {_dollars(status.cost_usd_today)} in this one"
    if limit and (most := in_dollars(limit)):
        from playbook_db.llm import choose

        cost += f"; reaching the limit costs {most.strip(' ()')}, for {choose.sessions_in_words(limit)}"
    yield "today (UTC)", f"learning used {status.tokens_today:,}{budget}{agreed}, for {cost}"


def _often_ignored(status: "Status") -> "Iterator[tuple[str, str]]":
    if status.often_ignored:
        from playbook_db.claude_code.setup import guards

        guarded = {each.name for each in guards.read(project_folder())}
        for point in status.often_ignored:
            if point.name not in guarded:
                guard = f"to guard it: playbook guard {point.name} --on PATTERN"
                text = f"{point.name}, in {point.sessions} sessions. To reword it: playbook edit {point.name}; {guard}"
                yield "often ignored", text


def in_dollars(tokens: int) -> str:
    """Return what learning with *tokens* costs at most, in parentheses, or `""` if the price isn't known."""
    from playbook_db.llm import choose

    cost = choose.cost_in_words(tokens, project_folder())
    return f" ({cost})" if cost else ""


def _dollars(cost: float) -> str:
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"


def _jobs(status: "Status") -> str:
    parts = [
        (status.queued, f"{count_of(status.queued, 'session')} waiting"),
        (status.running, f"{status.running} running"),
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
