"""Commands that keep copies of the database and put one back: backup, restore-backup."""

import sys
from typing import TYPE_CHECKING

import click

from playbook_db.cli.opening import database_url, project_options, tell
from playbook_db.cli.output import count_of, one_line, print_json, readable_size
from playbook_db.cli.points import as_json

if TYPE_CHECKING:
    from playbook_db.services.backups import Candidate, Listed, Restored
    from playbook_db.store.backups import Held

_KINDS = {"hand": "by hand", "daily": "daily", "before-restore": "before a restore"}


@click.command()
@click.argument("file", required=False)
@click.option("--list", "lists", is_flag=True, help="Show which backups there are, newest first.")
@as_json
@project_options
def backup(file: str | None, lists: bool, as_json: bool) -> None:
    """Copy the database to FILE, or into the folder backups/ beside it, while others may write.

    The copy is one file that holds one state of the database. Nothing is ever overwritten.
    """
    from playbook_db.services import backups

    if lists and file is not None:
        raise click.UsageError("--list takes no FILE.")
    if lists:
        _print_list(backups.list_all(database_url()), as_json=as_json)
        return
    taken = backups.take(database_url(), file)
    if as_json:
        holds = [_held_record(held) for held in taken.holds]
        print_json({"path": taken.path, "size_bytes": taken.size_bytes, "playbooks": holds})
        return
    click.echo(f"{taken.path} ({readable_size(taken.size_bytes)})")
    for held in taken.holds:
        click.echo(f"{one_line(held.key)}: {_told(held)}")


@click.command("restore-backup")
@click.argument("file")
@click.option("--yes", is_flag=True, help="Don't ask.")
@project_options
def restore_backup(file: str, yes: bool) -> None:
    """Put the backup FILE in the place of the database; what is there now is kept as a backup before.

    FILE is checked first, and what it holds is shown beside what is here. One of an older version is brought to this
    version's schema.
    """
    from playbook_db.services import backups

    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Nobody is there to be asked; say --yes to put the backup back.")
    with backups.candidate(database_url(), file) as chosen:
        _show(chosen)
        if not yes and not click.confirm(f"Replace {chosen.path}?", err=True):
            tell(["left alone; nothing was changed"])
            return
        _tell_restored(backups.put_back(chosen))
        click.echo(f"{chosen.path} holds what {file} holds")


def _print_list(listed: "list[Listed]", *, as_json: bool) -> None:
    if as_json:
        print_json([_record(each) for each in listed])
        return
    for each in listed:
        kept = each.backup
        time = kept.time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        schema = "can't be read" if each.schema is None else f"schema {each.schema:04d}"
        click.echo(f"{time}\t{_kind(kept.kind)}\t{readable_size(kept.size_bytes)}\t{schema}\t{kept.path}")
    if not listed:
        tell(["there is no backup yet; take one with: playbook backup"])


def _record(listed: "Listed") -> dict[str, object]:
    kept = listed.backup
    time = kept.time.isoformat()
    told = {"path": kept.path, "time": time, "kind": kept.kind, "size_bytes": kept.size_bytes}
    return told | {"schema": listed.schema}


def _held_record(held: "Held") -> dict[str, object]:
    return {"playbook": held.key, "revision": held.revision, "points": held.points}


def _show(chosen: "Candidate") -> None:
    """Show on stderr what would come back, beside what is here."""
    here = {held.key: held for held in chosen.here}
    then = {held.key: held for held in chosen.holds}
    lines = [f"{chosen.path} is {chosen.state}" if chosen.state != "sound" else f"{chosen.path} is replaced:"]
    for key in sorted(here.keys() | then.keys()):
        now = _told(here[key]) if key in here else "not there"
        back = _told(then[key]) if key in then else "not there"
        lines.append(f"  {one_line(key)}: {now} -> {back}")
    tell(lines)


def _tell_restored(done: "Restored") -> None:
    replaced = done.replaced
    if replaced.backup:
        tell([f"what was there is kept as {replaced.backup}"])
    tell(f"what was there is now {path}" for path in replaced.aside)
    if done.worker_was_at_work:
        tell(["a worker is at work; what it learns comes on top of the backup"])
    tell(["a mirror (.claude/playbook.json) that was changed meanwhile is merged in by the next command there"])


def _kind(kind: str) -> str:
    return _KINDS.get(kind) or f"before leaving {kind.replace('-', ' ')}"


def _told(held: "Held") -> str:
    return f"revision {held.revision}, {count_of(held.points, 'point')}"


COMMANDS = {"backup": backup, "restore-backup": restore_backup}
