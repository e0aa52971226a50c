"""The commands for a project's team: join, leave, status."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import Group, as_json, is_interactive, notify, opened
from playbook_db.cli.output import count_of, one_line, print_answer, print_json, print_table, say, wants_json
from playbook_db.domain.times import ago, local
from playbook_db.errors import ProjectError, Remedy
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.sharing.joining import Invitation
    from playbook_db.services.sharing.team import TeamStatus


@click.group(cls=Group)
def team() -> None:
    """Share this project's playbook through a team's database."""


@team.command()
@click.argument("url", metavar="URL")
@click.option("--as", "name", metavar="NAME", help="The project's name for all members (default: its git remote).")
@click.option("--yes", is_flag=True, help="Add the points of the project's own playbook without asking.")
@as_json
def join(url: str, name: str | None, yes: bool) -> None:
    """Use a team's playbook for this project.

    URL is the team's database, such as postgresql://ann@db.example.org/playbooks; with - it is read from standard
    input. Other projects stay as they are. First you see the points of the project's own playbook. If you agree, they
    are added to the team's. A password in URL is kept in a file that only you can read; it is safer in PGPASSFILE than
    on a command line. This command doesn't work inside a session of Claude Code.
    """
    from playbook_db.services.sharing import joining as service

    if settings.session():
        raise ProjectError(
            "Joining a team sends data to a server, which can't be undone. So it doesn't work inside a session of "
            "Claude Code. Nothing was changed.",
            Remedy("Run it in your own terminal: {} URL", ("team", "join")),
        )
    if url == "-":
        url = click.prompt("URL", hide_input=True, err=True) if is_interactive() else sys.stdin.readline().strip()
    if not url:
        raise click.UsageError("The URL is empty. Give the URL of the team's database.")
    ask = _ask_for_password if is_interactive() else None
    with opened(is_own=True, may_be_new=True) as project, service.joining(project, url, name, ask=ask) as joining:
        invitation = joining.preview()
        _agree(invitation, yes=yes)
        result = joining.finish()
    text = f"{one_line(project.key)} has joined {one_line(invitation.name)} in {invitation.where}"
    number = None if result is None else result.revision
    if result is not None and result.changes:
        text += f"; {_brings(invitation)} (revision {number})"
    if invitation.mirror is not None:
        notify([f"{invitation.mirror} is no longer updated: members share the playbook through the database"])
    print_answer(text, project=project.key, name=invitation.name, database=invitation.where, revision=number)


def _ask_for_password(where: str) -> str:
    return str(click.prompt(one_line(f"Password for {where}"), hide_input=True, err=True))


def _agree(invitation: "Invitation", *, yes: bool) -> None:
    """Show the points that joining would add, and raise ProjectError unless the user agrees."""
    if invitation.made_tables:
        notify([f"{invitation.where} was empty; its tables were created, and belong to the user in the URL"])
    playbook = "a new playbook" if invitation.is_new else f"a playbook of {count_of(invitation.points, 'point')}"
    notify([f"{one_line(invitation.name)} is {playbook} in {invitation.where}"])
    if invitation.proposals:
        stay = f"{count_of(invitation.proposals, 'proposal')} of the project's own playbook"
        notify([f"{stay} can't be decided after joining; to decide them first: playbook review"])
    if invitation.brings is None:
        return
    notify(invitation.brings.notes)
    if not (invitation.brings.changes or invitation.brings.extras):
        return
    notify([f"the project's own playbook would add: {_brings(invitation)}"])
    for change in invitation.brings.changes:
        say(f"  {change.kind} [{change.point.name}] {one_line(change.point.text)}", err=True)
    if yes:
        return
    if not is_interactive():
        raise ProjectError(
            "Nothing was added, and the project hasn't joined. There is no terminal to ask on. To add these points, "
            "which all members will then see, pass --yes."
        )
    if not click.confirm("Add them? All members will see them.", err=True):
        raise ProjectError("Nothing was added, and the project hasn't joined.")


def _brings(invitation: "Invitation") -> str:
    from playbook_db.domain import draft

    return draft.summary(invitation.brings.changes) if invitation.brings else "nothing"


@team.command()
@click.option("--no-copy", is_flag=True, help="Don't copy the team's points into the project's own playbook.")
@as_json
def leave(no_copy: bool) -> None:
    """Stop using the team's playbook.

    The project's own playbook gets the team's points in one revision, which playbook undo can undo. The team's playbook
    stays as it is.
    """
    from playbook_db.services.sharing import team as service

    with opened(sync=False, is_own=True) as project:
        result = service.leave(project, takes_copy=not no_copy)
    if result.problem is not None:
        notify([result.problem])
    if result.as_of is not None:
        notify([f"the points were copied from this machine's replica, which was current {_ago(result.as_of)}"])
    if result.untold:
        notify([f"the team's database doesn't know which points {count_of(result.untold, 'session')} here got"])
    text = f"{one_line(project.key)} has its own playbook again"
    number = result.copied.revision if result.copied else None
    text += f", with the team's points (revision {number})" if number else ", as it was"
    print_answer(text, project=project.key, name=result.name, database=result.where, revision=number)


@team.command("status")
@as_json
def team_status() -> None:
    """Show the team's database, its members, and what waits."""
    from playbook_db.services.sharing import team as service

    with opened(sync=False, is_own=True) as project:
        status = service.read_status(project)
    if wants_json():
        print_json(records.team_status_record(status))
        return
    say("\n".join(_lines(status)))
    rows = [(each.actor, f"{each.revisions:,}", local(each.last_at)) for each in status.members]
    if status.schema is not None:
        print_table(("member", "revisions", "last"), rows, nothing="nobody has changed it yet")


def _lines(status: "TeamStatus") -> list[str]:
    here = "nothing yet; to fetch it now: playbook work"
    if status.replica_at is not None and status.replica is not None:
        here = f"revision {status.replica.revision}, current {_ago(status.replica_at)}"
    there = f"not reachable: {status.problem}"
    if status.schema is not None:
        only = f"; read-only: {status.problem}" if status.problem else ""
        there = f"schema {status.schema:04d}, revision {status.revision} of the playbook{only}"
    waits = f"{count_of(status.queued, 'session')} to learn from"
    if status.unsent:
        waits += f", what {count_of(status.unsent, 'session')} got at their start"
    if status.failed:
        waits += f", {count_of(status.failed, 'session')} with failed jobs (playbook jobs)"
    rows = {"name": one_line(status.name), "database": status.where, "there": there, "here": here}
    rows |= {"joined": local(status.joined_at), "waits": waits}
    return [f"{name:<12}{text}" for name, text in rows.items()]


def _ago(moment: datetime) -> str:
    return ago(moment, now=datetime.now(UTC))
