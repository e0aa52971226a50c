"""Whether a database is sound: the file itself, its references, and that the points equal what the history says."""

from dataclasses import dataclass

from playbook_db.errors import DamagedError, DatabaseError
from playbook_db.store import connecting, integrity, upgrade
from playbook_db.store.engine import Store

NOT_IN_A_QUICK_LOOK = ("indexes", "references", "whether each playbook equals its history", "ranks")
REPAIR = "Salvage what can be read: playbook db repair"


@dataclass(frozen=True, slots=True)
class Report:
    """What was found wrong with the database `where`, and what to do about it; both empty where all is well."""

    where: str
    problems: tuple[str, ...]
    remedy: str = ""


def check(store: Store, *, quick: bool = False) -> list[str]:
    """What is wrong with the database, in words; nothing where all is well.

    A quick look leaves out what takes long: NOT_IN_A_QUICK_LOOK.
    """
    with store.snapshot() as connection:
        return integrity.look(connection, integrity.QUICK if quick else integrity.THOROUGH)


def check_database(url: str, *, quick: bool = False) -> Report:
    """What is wrong with the database at *url*, whatever stands there; not a byte of it is changed."""
    where = connecting.described(url)
    try:
        upgrade.require_current(url)
        with integrity.opened_to_check(connecting.sqlite_path(url) or "") as store:
            found = check(store, quick=quick)
    except DamagedError as error:
        return Report(where, (f"it is damaged or no SQLite database: {error.cause}",), REPAIR)
    except DatabaseError as error:
        return Report(where, (str(error),))
    return Report(where, tuple(found), REPAIR if found else "")
