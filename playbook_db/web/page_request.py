"""A request for a page, with its project, its parameters, and functions that create the response."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from playbook_db.domain.merging.diff import compare_words
from playbook_db.domain.operations import named_points
from playbook_db.domain.prompt_text import shown, visible
from playbook_db.domain.times import local
from playbook_db.services.playbook import review
from playbook_db.services.project import Project
from playbook_db.store.playbook.repository import RevisionResult

HERE = Path(__file__).parent
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_OPERATIONS = {"ADD": "add", "UPDATE": "reword", "MERGE": "merge", "DELETE": "retire", "VOTE": "vote on"}
_NAMES = ("type", "name", "target_id")  # of an operation
PAGE_ROWS = 50  # of a list
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the user. `undo` is the address of the page that can undo the message's revision, if it has one."""

    text: str
    undo: str | None = None


@dataclass(slots=True)
class PageRequest:
    """A request for a page about a `project`. `path` has the values in the address's path, which is `at` as a whole.
    `notices` are messages for this page, `later` those for the next page. `root` is the path above all pages."""

    project: Project
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    later: list[Notice]
    notices: list[Notice] = field(default_factory=list)
    root: str = ""
    at: str = "/"

    def link(self, *path: str, **query: object) -> str:
        """Return the address of a page for the same project. Empty values of *query* are left out."""
        parameters = {name: value for name, value in query.items() if value not in (None, "", 0, False)}
        project = str(parameters.pop("project", self.project.own.key))  # a team's playbook goes by its folder
        more = f"&{urlencode(parameters)}" if parameters else ""
        return f"{self.root}/{'/'.join(map(_quoted, path))}?project={_quoted(project)}{more}"

    def page(self, template: str, *, title: str, status: int = 200, **values: Any) -> Response:
        """Return the page from *template* and *values*."""
        return HTMLResponse(rendered(template, root=self.root, request=self, title=title, **values), status)

    def back(self, *path: str, notice: str = "", **query: object) -> Response:
        """Return a redirect to a page. That page also shows the *notice*."""
        if notice:
            self.later.append(Notice(notice))
        return RedirectResponse(self.link(*path, **query), 303)

    def say(self, what: str, *results: RevisionResult | None, project: Project | None = None) -> None:
        """Make the next page say *what* was done in which revision, with a link to undo that revision."""
        for result in filter(None, results):
            if result.revision is None:
                self.later.append(Notice(f"{what}: nothing changed"))
            else:
                of = {"project": project.own.key} if project else {}
                undo = self.link("history", str(result.revision), **of)
                self.later.append(Notice(f"{what} (revision {result.revision})", undo))
            self.say_all(result.notes)

    def say_all(self, lines: Iterable[str]) -> None:
        """Show *lines* on the next page."""
        self.later.extend(map(Notice, lines))

    def text(self, name: str) -> str:
        """Return the text that the user typed into the field *name*. Its lines end with `\\n`."""
        return self.form.get(name, "").replace("\r\n", "\n")

    def exact(self, name: str) -> str | None:
        """Return the text in the hidden field *name*, or None. The field has JSON, so that no character gets lost."""
        try:
            value = json.loads(self.form.get(name, ""))
        except ValueError:
            return None
        return value if isinstance(value, str) else None

    @property
    def waiting(self) -> int:
        """Return how many proposals wait for the user. A team's only count if its database can be reached."""
        return review.count_waiting(self.project)

    @property
    def newest_revision(self) -> int:
        """Return the number of the playbook's last revision, or 0."""
        with self.project.store.read(self.project.key) as book:
            return book.revision

    @property
    def page_number(self) -> int:
        """Return the number of the requested page of a list, counted from 1."""
        return max(1, as_number(self.query.get("page", "")) or 1)

    def rows_of(self, items: Sequence[T]) -> Sequence[T]:
        """Return the *items* on the requested page."""
        return items[(self.page_number - 1) * PAGE_ROWS : self.page_number * PAGE_ROWS]


Page = Callable[[PageRequest], Response]
Routes = Mapping[tuple[str, str], Page]  # the page by method and path


def as_number(text: str) -> int | None:
    """Parse *text* as a whole number >= 0. Return None if it isn't one or is too large."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


@lru_cache(2**14)  # a page has hundreds of links
def _quoted(text: str) -> str:
    return quote(text, safe="")


def as_shown(text: str) -> str:
    """Return *text* with `\\n` at line ends and without invisible characters, as pages and form fields show it."""
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def coded(text: str) -> Markup:
    """Return *text* as HTML for a page. Each part between backticks is marked as code."""
    parts = [Markup("{}").format(as_shown(part)) for part in _CODE.split(shown(text))]
    parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup("").join(parts)


def operation_in_words(text: str) -> str:
    """Return a description of a curator's operation in the JSON *text*: its effect, and then its other fields."""
    try:
        fields = dict(json.loads(text))
    except (TypeError, ValueError):
        return text
    names = ", ".join(named_points(fields, str(fields.get("type"))))
    if "tag" in fields:
        return f"a {fields['tag']} vote on {fields.get('name')}: {fields.get('rationale') or 'no reason given'}"
    kind = _OPERATIONS.get(str(fields.get("type")).upper(), "an unknown operation")
    others = [f"{name}: {value}" for name, value in fields.items() if isinstance(value, str) and name not in _NAMES]
    return "; ".join([f"{kind} {names}".strip(), *others])


@cache
def templates() -> Environment:
    """Return the environment of the templates. It escapes all values, and shows texts with `as_shown`."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        finalize=lambda value: as_shown(value) if type(value) is str else value,
    )  # fmt: skip
    environment.globals["PAGE_ROWS"] = PAGE_ROWS
    environment.filters["shown"] = lambda text: shown(str(text))
    environment.filters["coded"] = lambda text: coded(str(text))
    environment.filters["operation"] = operation_in_words
    environment.filters["exact"] = json.dumps
    environment.filters["local"] = local
    environment.filters["compared"] = compare_words
    return environment


def rendered(template: str, **values: Any) -> str:
    """Fill *template* with *values*, and return the text."""
    return templates().get_template(template).render(**values)
