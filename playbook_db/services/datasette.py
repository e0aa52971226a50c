"""The database as Datasette shows it: what everything means, how it is sorted, and the questions as ready queries."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playbook_db import __version__
from playbook_db.store import describing
from playbook_db.store.describing import Described, Question

# A form in the browser knows no current project: left empty it means the one in which something happened last.
_PROJECT = (
    "coalesce(nullif(:project, ''), (SELECT playbook FROM playbook_summary ORDER BY last_changed_at DESC LIMIT 1))"
)
_PROJECT_TOLD = "project: a project's folder; left empty, the project that changed last."
_ABOUT = "What Claude Code learnt in your projects, how it came about, and what became of it."


def metadata(path: str) -> dict[str, Any]:
    """Datasette's metadata for the database file at *path*, which it knows by the file's name."""
    known = describing.views() | describing.tables()
    return {
        "title": "The playbooks of Claude Code",
        "description": f"{_ABOUT} Columns and questions are those of docs/sql.md.",
        "source": f"playbook-db {__version__}",
        "license": "The data is your own",
        "databases": {
            Path(path).stem: {
                "description": _ABOUT,
                "tables": {name: _table(described) for name, described in known.items()},
                "queries": _queries(describing.questions()),
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
            "description": f"{question.note} ({_PROJECT_TOLD})".strip(),
            "sql": question.sql.replace(":project", _PROJECT),
        }
        for number, question in enumerate(questions, 1)
    }


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
