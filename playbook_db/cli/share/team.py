"""Commands on a project's team: join, leave, status."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from playbook_db import settings
from playbook_db.cli.context import as_json, is_interactive, notify, opened
from playbook_db.cli.main import cli
from playbook_db.cli.output import count_of, one_line, print_answer, print_json, print_table, say
from playbook_db.domain.times import ago, local
from playbook_db.errors import TeamError
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.sharing.joining import Invitation
    from playbook_db.services.sharing.team import TeamStatus


@cli.group()
def team() -> None:
    """Share this project's playbook through a team's database."""


@team.command()
@click.argument("url", metavar="URL")
@click.option("--as", "name", metavar="NAME", help="What all members call the project, in place of its git remote.")
@click.option("--yes", is_flag=True, help="Bring in without asking what the project's own playbook holds.")
@as_json
def join(url: str, name: str | None, yes: bool, as_json: bool) -> None:
    """Let this project's playbook be the team's.

    URL is the database's, as postgresql://ann@db.example.org/playbooks; with - it is read from standard input. All
    other projects stay as they are. What the project's own playbook holds is shown, and goes into the team's once you
    agree. A password in URL is kept in a file for you alone; better leave it out of a command line, and to PGPASSFILE.
    Within a session of Claude Code no project joins.
    """
    from playbook_db.services.sharing import joining as service

    if settings.session():
        raise TeamError(
            "What goes to a server can't be taken back, so no project joins a team within a session of Claude Code. "
            "Nothing was done; run it in a terminal of your own."
        )
    if url == "-":
        url = click.prompt("URL", hide_input=True, err=True) if is_interactive() else sys.stdin.readline().strip()
    ask = _ask_for_password if is_interactive() else None
    with opened(is_own=True, may_be_new=True) as project, service.joining(project, url, name, ask=ask) as joining:
        invitation = joining.preview()
        _agree(invitation, yes=yes)
        result = joining.finish()
    text = f"{one_line(project.key)} is {one_line(invitation.name)} in {invitation.where} now"
    number = None if result is None else result.revision
    if result is not None and result.changes:
        text += f"; {_brings(invitation)} (revision {number})"
    if invitation.mirror is not None:
        notify([f"{invitation.mirror} stays as it is from now on: members share the playbook through the database"])
    print_answer(
        text, as_json=as_json, project=project.key, name=invitation.name, database=invitation.where, revision=number
    )


def _ask_for_password(where: str) -> str:
    return str(click.prompt(one_line(f"Password for {where}"), hide_input=True, err=True))


def _agree(invitation: "Invitation", *, yes: bool) -> None:
    """Show what joining would bring in, and raise TeamError unless the person agrees."""
    if invitation.made_tables:
        notify([f"{invitation.where} was empty; its tables were made, and belong to the user in the URL"])
    playbook = "a new playbook" if invitation.is_new else f"a playbook of {count_of(invitation.points, 'point')}"
    notify([f"{one_line(invitation.name)} is {playbook} in {invitation.where}"])
    if invitation.proposals:
        stay = f"{count_of(invitation.proposals, 'proposal')} of the project's own playbook"
        notify([f"{stay} can't be decided while it belongs to a team; to decide before: playbook review"])
    if invitation.brings is None:
        return
    notify(invitation.brings.notes)
    if not invitation.brings.changes and not invitation.brings.extras:
        return
    notify([f"the project's own playbook would bring in: {_brings(invitation)}"])
    for change in invitation.brings.changes:
        say(f"  {change.kind} [{change.point.name}] {one_line(change.point.text)}", err=True)
    if yes:
        return
    if not is_interactive():
        raise TeamError(
            "Nothing was brought in, and the project hasn't joined. To bring that in, so that all members "
            "have it, say --yes."
        )
    if not click.confirm("Bring that in, so that all members have it?", err=True):
        raise TeamError("Nothing was brought in, and the project hasn't joined.")


def _brings(invitation: "Invitation") -> str:
    from playbook_db.services.playbook import import_export

    return import_export.summary(invitation.brings) if invitation.brings else "nothing"


@team.command()
@click.option("--no-copy", is_flag=True, help="Leave the team's points behind: the project's own from before are back.")
@as_json
def leave(no_copy: bool, as_json: bool) -> None:
    """Let this project have a playbook of its own again.

    It begins with what the team's holds now, as one revision, which playbook undo takes back. The team's playbook stays
    as it is.
    """
    from playbook_db.services.sharing import team as service

    with opened(sync=False, is_own=True) as project:
        result = service.leave(project, takes_copy=not no_copy)
    if result.problem is not None:
        notify([result.problem])
    if result.as_of is not None:
        notify([f"what was taken along is what this machine knew of it; that was current {_ago(result.as_of)}"])
    if result.untold:
        notify([f"the team was not told what {count_of(result.untold, 'session')} of this project were shown"])
    text = f"{one_line(project.key)} has a playbook of its own again"
    number = result.copied.revision if result.copied else None
    text += f": the team's, as revision {number}" if number else ", as it was"
    print_answer(text, as_json=as_json, project=project.key, name=result.name, database=result.where, revision=number)


@team.command("status")
@as_json
def team_status(as_json: bool) -> None:
    """Show the team's database, its members, and what waits."""
    from playbook_db.services.sharing import team as service

    with opened(sync=False, is_own=True) as project:
        status = service.read_status(project)
    if as_json:
        print_json(records.team_status_record(status))
        return
    say("\n".join(_lines(status)))
    rows = [(each.actor, f"{each.revisions:,}", local(each.last_at)) for each in status.members]
    if status.schema is not None:
        print_table(("member", "revisions", "last"), rows, nothing="nobody has changed it yet")


def _lines(status: "TeamStatus") -> list[str]:
    here = "nothing yet: the next worker fetches it (playbook work)"
    if status.replica_at is not None and status.replica is not None:
        here = f"revision {status.replica.revision}, known to be current {_ago(status.replica_at)}"
    there = f"can't be asked: {status.problem}"
    if status.schema is not None:
        only = f"; it can only be read: {status.problem}" if status.problem else ""
        there = f"schema {status.schema:04d}, revision {status.revision} of the playbook{only}"
    waits = [f"{count_of(status.queued, 'session')} to learn from"]
    if status.unsent:
        waits.append(f"what was shown at the start of {count_of(status.unsent, 'session')}")
    if status.failed:
        waits.append(f"{count_of(status.failed, 'session')} that could not be learned from (playbook jobs)")
    return [
        f"{'name':<12}{one_line(status.name)}",
        f"{'database':<12}{status.where}",
        f"{'there':<12}{there}",
        f"{'here':<12}{here}",
        f"{'joined':<12}{local(status.joined_at)}",
        f"{'waits':<12}{', '.join(waits)}",
    ]


def _ago(moment: datetime) -> str:
    return ago(moment, now=datetime.now(UTC))
