"""Whether a database is sound: the file itself, its references, and that the points equal what the history says."""

from playbook_db.store import history, integrity, playbooks
from playbook_db.store.engine import Store


def check(store: Store) -> list[str]:
    """What is wrong with the database, in words; nothing where all is well."""
    with store.snapshot() as connection:
        found = integrity.check_file(connection)
        if found:
            return found
        for playbook_id, key in playbooks.all_keys(connection):
            last, _ = history.last_revision(connection, playbook_id)
            told, stands = history.read_at(connection, playbook_id, last), playbooks.read(connection, playbook_id)
            if told.points != stands.points or told.header != stands.header:
                found.append(f"the playbook of {key} is not what its history says (revision {last})")
    return found
