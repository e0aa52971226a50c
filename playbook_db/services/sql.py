"""The database asked in SQL: people's own questions, what the views mean, and all of it as Datasette shows it."""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from playbook_db import __version__
from playbook_db.errors import DatabaseError
from playbook_db.store import connect, user_sql
from playbook_db.store.user_sql import Answer

__all__ = ["Answer", "Described", "Question", "ask", "datasette_metadata", "read_questions", "tables", "views"]


def ask(url: str, query: str, *, project_key: str) -> AbstractContextManager[Answer]:
    """The answer of the database at *url* to one SELECT, in which `:project` is *project_key*; it can only read.

    Raises QueryError, QueryRefusedError, DatabaseError. Nothing is migrated, nothing is left beside the file.
    """
    return user_sql.ask(url, query, project_key=project_key)


# What the views and tables mean (`descriptions.toml`), and what people ask of them (`questions.sql`).


@dataclass(frozen=True, slots=True)
class Described:
    """A view or table: what a row is (may be empty), what its columns mean, in their order, and how to show it.

    `facets` are the columns whose values are worth counting, `label_column` is the one that stands for a row, `sort` or
    `sort_desc` the one that orders the rows, `hidden` says that it is no one's business.
    """

    about: str
    columns: Mapping[str, str]
    facets: list[str] = field(default_factory=list)
    label_column: str | None = None
    sort: str | None = None
    sort_desc: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words, the SQL that answers it for the project `:project`, and what to know of the answer."""

    title: str
    note: str
    sql: str


def views() -> dict[str, Described]:
    """The views by name, in the order of docs/sql.md."""
    return _described("views")


def tables() -> dict[str, Described]:
    """The tables by name, in the order of docs/sql.md."""
    return _described("tables")


def read_questions() -> list[Question]:
    """The questions: in the file a comment, of which the first line is the title, then the SQL, then an empty line."""
    questions = []
    for block in _text("questions.sql").strip().split("\n\n"):
        lines = block.splitlines()
        comment = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
        statement = "\n".join(line for line in lines if not line.startswith("-- "))
        questions.append(Question(comment[0], " ".join(comment[1:]), statement))
    return questions


def _described(kind: str) -> dict[str, Described]:
    import tomllib  # late: a question needs none of it

    return {name: Described(**fields) for name, fields in tomllib.loads(_text("descriptions.toml"))[kind].items()}


def _text(file_name: str) -> str:
    return files("playbook_db.store").joinpath(file_name).read_text(encoding="utf-8")


# The database as Datasette shows it: what everything means, how it is sorted, and the questions as ready queries.


# A form in the browser knows no current project: left empty it means the one in which something happened last.
_PROJECT = (
    "coalesce(nullif(:project, ''), (SELECT playbook FROM playbook_summary ORDER BY last_changed_at DESC LIMIT 1))"
)
_PROJECT_NOTE = "project: a project's folder; left empty, the project that changed last."
_ABOUT = "What Claude Code learned in your projects, how it came about, and what became of it."


def datasette_metadata(url: str) -> dict[str, Any]:
    """Datasette's metadata for the database at *url*, which it knows by the file's name.

    Raises DatabaseError where that is no SQLite file.
    """
    path = connect.sqlite_path(url)
    if not path:
        raise DatabaseError(f"{connect.described(url)} is no SQLite file, and Datasette reads no other.")
    described = views() | tables()
    return {
        "title": "The playbooks of Claude Code",
        "description": f"{_ABOUT} Columns and questions are those of docs/sql.md.",
        "source": f"playbook-db {__version__}",
        "license": "The data is your own",
        "databases": {
            Path(path).stem: {
                "description": _ABOUT,
                "tables": {name: _table(each) for name, each in described.items()},
                "queries": _queries(read_questions()),
            }
        },
    }


def _table(described: Described) -> dict[str, Any]:
    shown: Mapping[str, Any] = {
        "description": described.about,
        "columns": dict(described.columns),
        "facets": described.facets,
        "label_column": described.label_column,
        "sort": described.sort,
        "sort_desc": described.sort_desc,
        "hidden": described.hidden,
    }
    return {key: value for key, value in shown.items() if value}


def _queries(questions: list[Question]) -> dict[str, Any]:
    """By a name that begins with the question's number: Datasette sorts them by it."""
    return {
        f"{number:02d}-{_slug(question.title)}": {
            "title": question.title,
            "description": f"{question.note} ({_PROJECT_NOTE})".strip(),
            "sql": question.sql.replace(":project", _PROJECT),
        }
        for number, question in enumerate(questions, 1)
    }


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
