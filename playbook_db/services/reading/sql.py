"""Users' SQL queries, and the metadata for Datasette. Both use docs/sql.md, which the package contains."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playbook_db import __version__, projects, settings
from playbook_db.errors import DatabaseError
from playbook_db.files import shipped_file
from playbook_db.services.reading import file_first
from playbook_db.store.user_sql import Answer as Answer
from playbook_db.store.user_sql import ask as ask


@dataclass(frozen=True, slots=True)
class Table:
    """The description of a view or a table. `about` explains its rows, and `columns` each column."""

    about: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that SQL can answer. The `sql` has the parameter `:project`. The `note` explains the answer."""

    title: str
    sql: str
    note: str


def database_of(url: str, folder: str | None) -> tuple[str, str]:
    """Return the URL of the database that has the playbook, and the playbook's key there. The playbook is that of the
    project in *folder* or of its team. Without a folder, it is the user's personal playbook."""
    if folder is None:
        return url, _users_key(url)
    key = projects.project_key(folder)
    if not file_first.from_file(url, folder, lambda book: book.project.team_name, sync=False, is_own=True):
        return url, key
    from playbook_db.services.project import Project, open_store, with_kept_password
    from playbook_db.services.sharing import team  # late: most projects have joined none

    with open_store(url) as store:
        membership = team.require(Project.in_folder(store, folder))
        return with_kept_password(store, membership.url), membership.name


def _users_key(url: str) -> str:
    if settings.sqlite_file(url) is not None:
        return projects.USER_KEY
    from playbook_db.services.project import Project, open_store

    with open_store(url) as store:
        return Project.of_user(store).key


def has_playbook(url: str, key: str) -> bool:
    """Return whether the database at *url* has the playbook with this *key*."""
    query = "SELECT 1 FROM playbook_summary WHERE playbook = :project"
    with ask(url, query, project_key=key, timeout_s=settings.QUERY_TIMEOUT_S) as answer:
        return any(True for _ in answer.rows)


def read_docs() -> str:
    """Return the text of docs/sql.md from the installed package if it is there, else from the repository."""
    return Path(shipped_file("docs", "sql.md", what="docs/sql.md")).read_text(encoding="utf-8")


def parse_tables(text: str) -> dict[str, Table]:
    """Return the descriptions of views and tables in docs/sql.md, by name. Below a heading with the name come a
    paragraph about a row, the names of columns, and words about them in a table or a list. The views' chapter begins
    with a table of the columns that several views share."""
    entries = re.findall(r"^### `(\w+)`\n((?:[^\n]+\n)+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    shared = _rows(text.partition("\n## Views\n")[2].partition("\n### ")[0])
    return {name: Table(" ".join(about.split()), _columns(body, shared)) for name, about, body in entries}


def _columns(text: str, shared: Mapping[str, str]) -> dict[str, str]:
    listed = re.search(r"^Columns( as above)?: ((?:.+\n)+)", text, re.MULTILINE)
    names = re.findall(r"`(\w+)`", listed[2]) if listed else []
    return {name: shared[name] if listed and listed[1] else "" for name in names} | _rows(text)


def _rows(text: str) -> dict[str, str]:
    listed = re.findall(r"^- `(\w+)`: (.+\n(?:  .+\n)*)", text, re.MULTILINE)
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in [*listed, *rows]}


def parse_questions(text: str) -> list[Question]:
    """Return the questions in docs/sql.md. Below a numbered heading come the SQL, notes, and an example answer."""
    entries = re.findall(r"^### \d+\. ([^\n]+)\n```sql\n(.*?)\n```\n(.*?)```text$", text, re.MULTILINE | re.DOTALL)
    return [Question(title, sql, " ".join(note.split())) for title, sql, note in entries]


# A form in the browser knows no current project: left empty it means the one in which something happened last.
_PROJECT = (
    "coalesce(nullif(:project, ''), (SELECT playbook FROM playbook_summary ORDER BY last_changed_at DESC LIMIT 1))"
)
_PROJECT_NOTE = "project: a project's folder; left empty, the project that changed last."
_ABOUT = "What Claude Code learned in your projects, from which sessions, and what happened to it since."
_HIDDEN = ("heads", "alembic_version")


def datasette_metadata(url: str) -> dict[str, Any]:
    """Return Datasette's metadata for the database at *url*. Datasette knows the database by the file's name. Raises
    DatabaseError if the database is not an SQLite file."""
    from playbook_db.store import urls  # late: it brings SQLAlchemy

    path = urls.sqlite_path(url)
    if not path:
        raise DatabaseError(f"{urls.described(url)} is not an SQLite file, and Datasette can read only such a file.")
    text = read_docs()
    tables: dict[str, dict[str, Any]] = {
        name: {"description": table.about, "columns": table.columns} | ({"hidden": True} if name in _HIDDEN else {})
        for name, table in parse_tables(text).items()
    }
    # Datasette sorts the queries by name, hence the number.
    queries = {
        f"{number:02d}-{re.sub(r'[^a-z0-9]+', '-', question.title.lower()).strip('-')}": {
            "title": question.title,
            "description": f"{question.note} ({_PROJECT_NOTE})".strip(),
            "sql": question.sql.replace(":project", _PROJECT),
        }
        for number, question in enumerate(parse_questions(text), 1)
    }
    return {
        "title": "The playbooks of Claude Code",
        "description": f"{_ABOUT} Columns and questions are those of docs/sql.md.",
        "source": f"playbook-db {__version__}",
        "databases": {Path(path).stem: {"description": _ABOUT, "tables": tables, "queries": queries}},
    }


def _table_metadata(name: str, table: Table) -> dict[str, Any]:
    columns = {column: words for column, words in table.columns.items() if words}
    return {"description": table.about, "columns": columns} | ({"hidden": True} if name in _HIDDEN else {})
