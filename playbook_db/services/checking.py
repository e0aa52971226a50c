"""Whether a database is sound: the file itself, its references, and that the points equal what the history says."""

from playbook_db.store import integrity, playbooks
from playbook_db.store.engine import Store
from playbook_db.store.past import Past


def check(store: Store) -> list[str]:
    """What is wrong with the database, in words; nothing where all is well."""
    with store.snapshot() as connection:
        found = integrity.check_file(connection)
        if found:
            return found
        for key in playbooks.all_keys(connection):
            past = Past.open(connection, key)
            told, stands = past.at(past.revision), past.playbook()
            if told.points != stands.points or told.header != stands.header:
                found.append(f"the playbook of {key} is not what its history says (revision {past.revision})")
        found += integrity.check_derived(connection)
    return found
