"""The identity of a project's repository: its root commit and its origin. It shows that a folder was moved or replaced.

Hooks compare the origin alone (`hook_queries.key_of`), as they start no git.
"""

from playbook_db import projects
from playbook_db.services.project import Project, Store
from playbook_db.services.sharing import git
from playbook_db.store.engine import retry_on_conflict


def settle(store: Store, place: str, *, records: bool = True) -> str:
    """Return the key of the project in the folder *place*. With *records*, record its repository's identity.

    If all that is known of the playbook's repository differs from the one that is here now, the key is another one.
    """
    base, here = projects.project_key(place), projects.origin(place)
    with store.read(base) as book:
        known, exists = book.identity(), bool(book.playbook_id)
    if not exists or (known[1] and known == (here, known[1])):
        return Project.in_folder(store, place).key
    identity = here, git.root_commit(place)
    pairs = [(old, new) for old, new in zip(known, identity, strict=True) if old and new]
    if pairs and all(old != new for old, new in pairs):
        return f"{base}{projects.OTHER}{here or identity[1]}"
    if records and identity != known:
        record(store, base, *(new or old for old, new in zip(known, identity, strict=True)))
    return base


@retry_on_conflict
def record(store: Store, key: str, origin: str, root_commit: str) -> None:
    """Record the identity of the repository of the project *key*."""
    with store.write(key) as book:
        book.set_identity(origin, root_commit)
