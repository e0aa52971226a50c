"""All the tables together: what a database at our schema consists of."""

from playbook_db.store import session_tables, tables
from playbook_db.store.columns import metadata

__all__ = ["metadata", "session_tables", "tables"]
