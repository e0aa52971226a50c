"""What taking revisions back asks of the history: what a revision said of itself, and which were taken back."""

from sqlalchemy import BindParameter, Connection, bindparam, select

from playbook_db.rules.playbook import MAX_COUNTER
from playbook_db.rules.taken_back import Span, Undo
from playbook_db.store.tables import revisions

_OF_PLAYBOOK: BindParameter[int] = bindparam("of_playbook")
_OF_REVISION: BindParameter[int] = bindparam("of_revision")
_SAID = select(revisions.c.source, revisions.c.message).where(
    revisions.c.playbook_id == _OF_PLAYBOOK, revisions.c.number == _OF_REVISION
)
_UNDOS_AFTER = (
    select(revisions.c.number, revisions.c.took_back_from, revisions.c.took_back_to)
    .where(
        revisions.c.playbook_id == _OF_PLAYBOOK,
        revisions.c.number > _OF_REVISION,
        revisions.c.number <= bindparam("up_to"),
        revisions.c.took_back_from.is_not(None),
    )
    .order_by(revisions.c.number.desc())
)


def said_by(connection: Connection, playbook_id: int, revision: int) -> tuple[str, str | None]:
    """The source and the message of *revision*, which is there."""
    source, message = connection.execute(_SAID, {"of_playbook": playbook_id, "of_revision": revision}).one()
    return source, message


def undos_after(connection: Connection, playbook_id: int, revision: int, *, up_to: int = MAX_COUNTER) -> list[Undo]:
    """The undos that came after *revision*, no later than *up_to*, newest first."""
    rows = connection.execute(_UNDOS_AFTER, {"of_playbook": playbook_id, "of_revision": revision, "up_to": up_to})
    return [Undo(number, Span(first, last)) for number, first, last in rows]
