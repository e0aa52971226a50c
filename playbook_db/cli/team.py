"""Commands on a project's team: join, leave, status."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import as_json, is_interactive, notify, opened
from playbook_db.cli.main import cli
from playbook_db.cli.output import count_of, one_line, print_answer, print_json, print_table, say
from playbook_db.domain.times import ago, local
from playbook_db.errors import TeamError
from playbook_db.services import records

if TYPE_CHECKING:
    from playbook_db.services.team import Invitation, TeamStatus


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
    """
    from playbook_db.services import team as service

    if url == "-":
        url = sys.stdin.readline().strip()
    with opened(is_own=True, may_be_new=True) as project:
        name = name or service.default_name(project.folder or "")
        with service.joining(project, url, name) as joining:
            invitation = joining.preview()
            _agree(invitation, yes=yes)
            brought = joining.finish()
    text = f"{one_line(project.key)} is {name} in {joining.server.where} now"
    if brought is not None and brought.revision is not None:
        text += f"; {_brings(invitation)} (revision {brought.revision})"
    number = None if brought is None else brought.revision
    print_answer(text, as_json=as_json, project=project.key, name=name, database=joining.server.where, revision=number)


def _agree(invitation: "Invitation", *, yes: bool) -> None:
    """Show what joining would bring in, and raise TeamError unless the person agrees."""
    told = "a new playbook" if invitation.is_new else f"a playbook of {count_of(invitation.points, 'point')}"
    notify([f"{invitation.name} is {told} in {invitation.where}"])
    if invitation.brings is None or not (invitation.brings.changes or invitation.brings.votes):
        return
    notify([f"the project's own playbook would bring in: {_brings(invitation)}", *invitation.brings.notes])
    for change in invitation.brings.changes:
        say(f"  {change.kind} [{change.point.name}] {one_line(change.point.text)}", err=True)
    if yes:
        return
    if not is_interactive():
        raise TeamError("Nothing was changed. Say --yes to bring that in, so that all members have it.")
    if not click.confirm("Bring that in, so that all members have it?", err=True):
        raise TeamError("Nothing was changed.")


def _brings(invitation: "Invitation") -> str:
    from playbook_db.services import import_export

    return import_export.summary(invitation.brings) if invitation.brings else "nothing"


@team.command()
@click.option("--no-copy", is_flag=True, help="Leave the team's points behind: the project's own from before are back.")
@as_json
def leave(no_copy: bool, as_json: bool) -> None:
    """Let this project have a playbook of its own again.

    It begins with what the team's holds now, as one revision, which playbook undo takes back. The team's playbook stays
    as it is.
    """
    from playbook_db.services import team as service

    with opened(sync=False, is_own=True) as project:
        left = service.leave(project, takes_copy=not no_copy)
    if left.as_of is not None:
        notify(
            [f"{left.where} can't be reached; what was taken along is how it was at {local(left.as_of.isoformat())}"]
        )
    text = f"{one_line(project.key)} has a playbook of its own again"
    number = left.copied.revision if left.copied else None
    text += f": the team's, as revision {number}" if number else ", as it was"
    print_answer(text, as_json=as_json, project=project.key, name=left.name, database=left.where, revision=number)


@team.command("status")
@as_json
def team_status(as_json: bool) -> None:
    """Show the team's database, its members, and what waits."""
    from playbook_db.services import team as service

    with opened(sync=False, is_own=True) as project:
        status = service.read_status(project)
    if as_json:
        print_json(records.team_status_record(status))
        return
    say("\n".join(_lines(status)))
    rows = [(each.actor, f"{each.revisions:,}", local(each.last_at)) for each in status.members]
    if status.problem is None:
        print_table(("member", "revisions", "last"), rows, nothing="nobody has changed it yet")


def _lines(status: "TeamStatus") -> list[str]:
    here = "nothing yet: the next worker fetches it (playbook work)"
    if status.replica_at is not None and status.replica_revision is not None:
        known = ago(status.replica_at, now=datetime.now(UTC))
        here = f"revision {status.replica_revision}, known to be current {known}"
    there = f"can't be asked: {status.problem}"
    if status.problem is None:
        there = f"schema {status.schema:04d}, revision {status.revision} of the playbook"
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


COMMANDS = {"team": team}
