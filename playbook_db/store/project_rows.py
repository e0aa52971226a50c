"""The rows of `playbooks` as a list of projects: which there are, whose key has changed, which are kept out."""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update

from playbook_db.store.tables import injections, jobs, mirrors, playbooks, revisions, transcripts


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A project with a playbook: its folder, how many points are live, how many revisions there are and when the last
    was made, its mirror's state, and whether the hooks keep out of it."""

    key: str
    live_points: int
    revisions: int
    last_revision_at: str | None
    mirror: str
    is_ignored: bool


def read_all(connection: Connection) -> list[ListedProject]:
    """All projects, by key."""
    last = (
        select(revisions.c.playbook_id, func.max(revisions.c.number).label("number"))
        .group_by(revisions.c.playbook_id)
        .subquery()
    )
    rows = connection.execute(
        select(
            playbooks.c.key,
            playbooks.c.live_points,
            func.coalesce(last.c.number, 0),
            revisions.c.time,
            playbooks.c.mirror,
            playbooks.c.ignored,
        )
        .outerjoin(last, last.c.playbook_id == playbooks.c.id)
        .outerjoin(revisions, (revisions.c.playbook_id == playbooks.c.id) & (revisions.c.number == last.c.number))
        .order_by(playbooks.c.key)
    )
    return [
        ListedProject(key, points, number, time, mirror, bool(ignored))
        for key, points, number, time, mirror, ignored in rows
    ]


def set_ignored(connection: Connection, playbook_id: int, is_ignored: bool) -> None:
    """Keep whether the hooks keep out of the playbook's project."""
    connection.execute(update(playbooks).where(playbooks.c.id == playbook_id).values(ignored=int(is_ignored)))


def rename(connection: Connection, playbook_id: int, key: str, *, moved: tuple[str, str]) -> None:
    """Give the playbook the *key* of the folder that it *moved* to (from, to); its mirrors follow."""
    old, new = moved
    connection.execute(update(playbooks).where(playbooks.c.id == playbook_id).values(key=key))
    of_playbook = mirrors.c.playbook_id == playbook_id
    for (path,) in connection.execute(select(mirrors.c.path).where(of_playbook)).all():
        if path.startswith(old + "/"):
            there = new + path[len(old) :]
            connection.execute(delete(mirrors).where(of_playbook, mirrors.c.path == there))
            connection.execute(update(mirrors).where(of_playbook, mirrors.c.path == path).values(path=there))


def join(connection: Connection, kept_id: int, empty_id: int, *, left_key: str) -> None:
    """Give what hangs on a playbook without revisions to another one; it stays, empty, under the key that the other
    leaves, since no playbook is ever removed."""
    _drop_twins(connection, kept_id, empty_id)
    highest = connection.scalar(select(func.max(jobs.c.id)).where(jobs.c.playbook_id == kept_id)) or 0
    connection.execute(
        update(jobs).where(jobs.c.playbook_id == empty_id).values(playbook_id=kept_id, id=jobs.c.id + highest)
    )
    connection.execute(delete(injections).where(injections.c.playbook_id == empty_id))  # nothing to show was there
    for table in (transcripts, mirrors):
        known = select(table.c.path).where(table.c.playbook_id == kept_id)
        connection.execute(delete(table).where(table.c.playbook_id == empty_id, table.c.path.in_(known)))
        connection.execute(update(table).where(table.c.playbook_id == empty_id).values(playbook_id=kept_id))

    (taken,) = connection.execute(select(playbooks.c.key).where(playbooks.c.id == empty_id)).one()
    for playbook_id, key in ((empty_id, f"{taken} (moving)"), (kept_id, taken), (empty_id, left_key)):
        connection.execute(update(playbooks).where(playbooks.c.id == playbook_id).values(key=key))


def _drop_twins(connection: Connection, kept_id: int, empty_id: int) -> None:
    """Remove jobs that wait for a transcript that waits on the other side too."""
    queued = jobs.c.state == "queued"
    waiting = select(jobs.c.transcript_path).where(jobs.c.playbook_id == kept_id, queued)
    connection.execute(delete(jobs).where(jobs.c.playbook_id == empty_id, queued, jobs.c.transcript_path.in_(waiting)))
