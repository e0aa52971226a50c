"""What the views and tables mean, and what people ask of them: `descriptions.toml` and `questions.sql`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files


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
    """The views by name, in the order in which they are told."""
    return _described("views")


def tables() -> dict[str, Described]:
    """The tables by name, in the order in which they are told."""
    return _described("tables")


def questions() -> list[Question]:
    """The questions: in the file a comment, of which the first line is the title, then the SQL, then an empty line."""
    found = []
    for block in _text("questions.sql").strip().split("\n\n"):
        lines = block.splitlines()
        told = [line.removeprefix("-- ") for line in lines if line.startswith("-- ")]
        statement = "\n".join(line for line in lines if not line.startswith("-- "))
        found.append(Question(told[0], " ".join(told[1:]), statement))
    return found


def _described(kind: str) -> dict[str, Described]:
    return {name: Described(**told) for name, told in tomllib.loads(_text("descriptions.toml"))[kind].items()}


def _text(file_name: str) -> str:
    return files("playbook_db.store").joinpath(file_name).read_text(encoding="utf-8")
