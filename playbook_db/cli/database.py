"""Commands on the whole database: backup, restore-backup, and the group db."""

import shlex
from collections.abc import Iterator
from itertools import starmap
from typing import TYPE_CHECKING

import click

from playbook_db.cli.context import (
    Command,
    Group,
    as_json,
    database_url,
    is_interactive,
    is_users_own,
    named_project,
    notify,
    project_folder,
)
from playbook_db.cli.output import (
    busy,
    count_of,
    one_line,
    playbook_of,
    print_answer,
    print_table,
    readable_size,
    write_text,
)
from playbook_db.domain.times import local
from playbook_db.errors import DatabaseError
from playbook_db.services import records
from playbook_db.services.reading import command_reads

if TYPE_CHECKING:
    from playbook_db.services.maintenance import Candidate
    from playbook_db.services.repair import Repaired
    from playbook_db.store.postgres.grants import Right
    from playbook_db.store.upkeep.database_file import Backup, Held


@click.group("db", cls=Group)
def database() -> None:
    """Check, repair, upgrade or copy the database."""


@database.command()
@as_json
def path() -> None:
    """Print where the database is, even if it doesn't exist yet."""
    where = command_reads.location(database_url())
    print_answer(where, database=where)


@database.command()
@as_json
def upgrade() -> None:
    """Upgrade the database to this version, after a backup."""
    from playbook_db.services import maintenance

    schema, backup = maintenance.upgrade(database_url())
    where = maintenance.location(database_url())
    text = f"{where} is at schema {schema:04d}" + (f"; backup: {backup}" if backup else "")
    print_answer(text, database=where, schema=schema, backup=backup)


@database.command()
@click.option("--quick", is_flag=True, help="Leave out the slow checks.")
@click.option("--rebuild-search", is_flag=True, help="Rebuild the full-text index before the checks.")
@click.option("--repair-points", is_flag=True, help="Run `db repair --yes` before the checks.")
@as_json
def check(quick: bool, rebuild_search: bool, repair_points: bool) -> None:
    """Check that the database is sound. The exit code is 1 if it isn't.

    The command checks the file, its references, and whether every playbook matches its history. Nothing is changed,
    except with --rebuild-search or --repair-points.
    """
    from playbook_db.services import maintenance

    if repair_points:
        from playbook_db.services import repair as repair_service

        repaired = repair_service.repair(database_url(), folder=project_folder())
        notify(one_line(line) for line in _repair_text(repaired))
    if rebuild_search:
        maintenance.rebuild_search(database_url())
    with busy("checking the database"):
        report = maintenance.check_database(database_url(), quick=quick)
    left_out = maintenance.NOT_CHECKED_QUICKLY if quick else ()
    well = f"{report.where}: all is well" + (f"; not checked: {', '.join(left_out)}" if left_out else "")
    text = "\n".join(map(one_line, report.problems)) or well
    print_answer(text, **records.check_record(report, not_checked=left_out))
    if report.problems:
        raise DatabaseError(f"{report.where} has {count_of(len(report.problems), 'problem')}.", report.remedy)


_KINDS = {"hand": "by hand", "daily": "daily", "before-restore": "before a restore"}


@click.command(cls=Command)
@click.argument("file", required=False)
@click.option("--list", "lists", is_flag=True, help="List the backups, newest first.")
@as_json
def backup(file: str | None, lists: bool) -> None:
    """Back up the database, or list its backups.

    The copy is one file: FILE, or a new one in the folder backups/ next to the database. Other processes can write in
    the meantime. No file is ever overwritten.
    """
    if lists:
        if file is not None:
            raise click.UsageError("--list takes no FILE.")
        _print_list(command_reads.backups(database_url()))
        return
    from playbook_db.services import maintenance

    taken = maintenance.take(database_url(), file)
    lines = [f"{taken.path} ({readable_size(taken.size_bytes)})"]
    lines += [f"{playbook_of(held.key)}: {_state_text(held)}" for held in taken.holds]
    print_answer("\n".join(lines), **records.taken_backup_record(taken))


@click.command("restore-backup", cls=Command)
@click.argument("file")
@click.option("--yes", is_flag=True, help="Don't ask.")
@as_json
def restore_backup(file: str, yes: bool) -> None:
    """Replace the database with a backup.

    FILE is checked first, and you see its content next to that of the present database. The present database is kept as
    another backup. A backup from an older version is upgraded. To bring back only key points, use playbook restore.
    """
    from playbook_db.services import maintenance

    if not yes and not is_interactive():
        raise click.UsageError("There is no terminal to ask on. To restore the backup, add --yes.")
    with maintenance.candidate(database_url(), file) as chosen:
        _show(chosen)
        if not yes and not click.confirm(one_line(f"Replace {chosen.path}?"), err=True):
            notify(["nothing was changed"])
            return
        replaced = maintenance.put_back(chosen)
        if replaced.backup:
            notify([f"the database from before is kept as {replaced.backup}"])
        notify(f"the file from before is now {path}" for path in replaced.aside)
        if replaced.worker_was_at_work:
            notify(["a worker is running; what it learns is added to the backup's state"])
        notify(["if a mirror (.claude/playbook.json) has changed since the backup, the next command there merges it"])
        record = {"database": chosen.path, "restored": file, "backup": replaced.backup, "aside": [*replaced.aside]}
        print_answer(f"restored {file} to {chosen.path}", **record)


def _print_list(listed: "list[tuple[Backup, int | None]]") -> None:
    rows = [
        (
            local(each.time.isoformat()),
            _KINDS.get(each.kind) or f"before leaving {each.kind.replace('-', ' ')}",
            readable_size(each.size_bytes),
            "can't be read" if schema is None else f"schema {schema:04d}",
            each.path,
        )
        for each, schema in listed
    ]
    titles = ("taken", "kind", "size", "schema", "file")
    nothing = "there is no backup yet; to make one: playbook backup"
    print_table(titles, rows, nothing=nothing, records=starmap(records.backup_record, listed))


def _show(chosen: "Candidate") -> None:
    """Show the content of the backup on stderr, next to the content of the database."""
    current, restored = ({held.key: _state_text(held) for held in each} for each in (chosen.here, chosen.holds))
    notify([f"{chosen.path} is {chosen.state}" if chosen.state != "sound" else f"{chosen.path}, now -> in the backup:"])
    for key in sorted(current | restored):
        notify([f"  {playbook_of(key)}: {current.get(key, 'not there')} -> {restored.get(key, 'not there')}"])


def _state_text(held: "Held") -> str:
    return f"revision {held.revision}, {count_of(held.points, 'point')}"


@database.command()
@click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
@click.option("--yes", is_flag=True, help="Don't ask before changing anything.")
@as_json
def repair(dry_run: bool, yes: bool) -> None:
    """Repair a damaged database.

    If only stored values differ from the history, they are computed again. Otherwise the damaged file is renamed and
    kept, and the newest sound backup replaces it; changes since that backup may be missing. Mirrors are merged
    afterwards. A sound database is left alone. On a server, each playbook is made equal to its history.
    """
    from playbook_db.services import repair as repair_service

    folder = project_folder()
    if not (dry_run or yes) and is_interactive():
        planned = repair_service.repair(database_url(), folder=folder, dry_run=True)
        if planned.is_damaged:
            notify(one_line(line) for line in _repair_text(planned))
            if not click.confirm("Repair it so?", err=True):
                notify(["nothing was changed"])
                return
    repaired = repair_service.repair(database_url(), folder=folder, dry_run=dry_run)
    lines = [*map(one_line, _repair_text(repaired))]
    if (repaired.is_damaged or repaired.has_wrong_search) and dry_run:
        lines.append("dry run: nothing was changed")
    print_answer("\n".join(lines), **records.repair_record(repaired, dry_run=dry_run))


def _repair_text(repaired: "Repaired") -> Iterator[str]:
    if repaired.has_wrong_search:
        yield f"{repaired.where}: rebuilt the full-text index; everything else is well"
        if repaired.aside is not None:
            yield f"the damaged file is now {repaired.aside}"
        return
    if not repaired.is_damaged:
        yield f"{repaired.where}: all is well, nothing to repair"
        return
    if repaired.holds:
        points, playbooks = sum(held.points for held in repaired.holds), len(repaired.holds)
        yield f"{repaired.where}: kept {count_of(points, 'live point')} in {count_of(playbooks, 'playbook')}"
    for each in repaired.corrected:
        yield f"{each.key}: {each.summary} (revision {each.revision})"
    if repaired.backup is not None:
        since = local(repaired.backup.time.isoformat())
        yield f"started from the backup {repaired.backup.path}; changes since {since} may be missing"
    elif repaired.holds or not repaired.corrected:
        yield "started from an empty database: it has no sound backup"
    yield from repaired.mirrors
    if repaired.aside is not None:
        yield f"the damaged file is now {repaired.aside}"
        yield f"to see what else can be read from it: sqlite3 {shlex.quote(repaired.aside)} .recover"


@database.command()
def metadata() -> None:
    """Print metadata for Datasette.

    The metadata explains each view and column, and contains the queries of docs/sql.md. To open the database with it,
    redirect the output to metadata.json, and run: datasette "$(playbook db path)" -m metadata.json
    """
    import json

    from playbook_db.services.reading.sql import datasette_metadata

    write_text(json.dumps(datasette_metadata(database_url()), indent=2, ensure_ascii=False) + "\n", None)


@database.command()
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@as_json
def transfer(source: str, target: str) -> None:
    """Copy playbooks into another database.

    FROM and TO are URLs or paths of SQLite files; TO is created if needed. All playbooks are copied, with their
    history, votes, sessions and jobs. --project or --user chooses one playbook. FROM stays as it is. Copies are
    compared with the originals. Nothing is copied if TO already has one of the playbooks, if a copy differs, or if you
    interrupt it.
    """
    from playbook_db import projects, settings
    from playbook_db.services import maintenance

    folder = named_project()
    key = None if folder is None else projects.project_key(project_folder())
    if is_users_own():
        key = projects.USER_KEY
    source_url, target_url = settings.database_url(source), settings.database_url(target)
    copied = maintenance.transfer(source_url, target_url, key)
    where = maintenance.location(target_url)
    lines = [f"{playbook_of(each)}: {count_of(revisions, 'revision')}" for each, revisions in copied.items()]
    lines.append(f"{where}: {count_of(len(copied), 'playbook')} copied")
    playbooks = [{"playbook": each, "revisions": revisions} for each, revisions in copied.items()]
    print_answer("\n".join(lines), database=where, playbooks=playbooks)


_MAY = {
    "reader": "may read all of {where}, but write nothing",
    "member": "may read and write {where}, but not change its history",
    "owner": "may do everything with {where}, also upgrade it: playbook db upgrade",
}


@database.command()
@click.argument("role")
@click.argument("right", metavar="reader|member|owner", type=click.Choice([*_MAY]))
@as_json
def grant(role: str, right: "Right") -> None:
    """Give a role of the server rights on the database.

    ROLE is a role of the server, for one person or a group. A reader can read all playbooks. A member can also write
    them, but not change their history. An owner can do everything, also upgrade the database. An earlier grant to ROLE
    is replaced.
    """
    from playbook_db.services import maintenance

    granted = maintenance.grant(database_url(), role, right)
    where = maintenance.location(database_url())
    print_answer(
        f"{role} {_MAY[right].format(where=where)}",
        database=where, role=role, right=right, owner=granted.owner, beyond=[*granted.beyond],
    )  # fmt: skip
    notify(granted.notes)
    if granted.beyond:
        notify([f"{role} has more rights from another role or from PUBLIC: {'; '.join(granted.beyond)}"])


@database.command()
@as_json
def distribute() -> None:
    """Distribute a database over the servers of Citus.

    Each playbook then has all its rows on one server of Citus; different playbooks may be on different servers. Nothing
    else changes. Other programs wait until the command ends. If you interrupt it, nothing changes. Running it twice
    does no harm. In a project that has joined a team, the team's database is distributed.
    """
    from playbook_db.services import maintenance
    from playbook_db.services.reading.sql import database_of

    url, _ = database_of(database_url(), project_folder())
    servers, parts, is_new = maintenance.distribute(url)
    where = maintenance.location(url)
    over = f"by playbook over {count_of(servers, 'server')}, in {count_of(parts, 'part')}"
    text = f"{where} is distributed {over}" if is_new else f"{where} is distributed already {over}"
    print_answer(text, database=where, servers=servers, parts=parts, changed=is_new)
