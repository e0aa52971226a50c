"""What every page works on: the request, the project that it names, and how an answer is made of it."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from playbook_db.domain.merging.diff import compare_words
from playbook_db.domain.operations import named_points
from playbook_db.domain.prompt_text import shown, visible
from playbook_db.domain.times import local
from playbook_db.domain.trust.evidence import FETCHED, IN_WORDS
from playbook_db.errors import ProjectError
from playbook_db.services.project import LastKnownProject, Project
from playbook_db.store.playbook.repository import RevisionResult

HERE = Path(__file__).parent
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_OPERATIONS = {"ADD": "add", "UPDATE": "reword", "MERGE": "merge", "DELETE": "retire", "VOTE": "vote on"}
_NAMES = ("type", "name", "target_id")  # of an operation
PAGE_ROWS = 50  # of a list


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person; if it names a revision, `undo` is the address of the page that can undo it."""

    text: str
    undo: str | None = None


@dataclass(slots=True)
class PageRequest:
    """One request: its `query` and `form`, the values in its `path`, the `project` that it is about; `notices` are
    lines for the person: what the request before did, and what opening the project had to say. `later` keeps those for
    the next page. `root` is the path above all pages, `at` the whole path that was asked for."""

    project: Project
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    later: list[Notice]
    notices: list[Notice] = field(default_factory=list)
    root: str = ""
    at: str = "/"

    def link(self, *path: str, **query: object) -> str:
        """The address of a page of ours for the same project: the parts of its *path*, and what of *query* says
        something."""
        parameters = {name: value for name, value in query.items() if value not in (None, "", 0, False)}
        project = str(parameters.pop("project", self.project.own.key))  # a team's playbook is that of a folder here
        more = f"&{urlencode(parameters)}" if parameters else ""
        return f"{self.root}/{'/'.join(map(_quoted, path))}?project={_quoted(project)}{more}"

    def page(self, template: str, *, title: str, status: int = 200, **values: Any) -> Response:
        """The page that *template* makes of *values*."""
        return HTMLResponse(rendered(template, root=self.root, request=self, title=title, **values), status)

    def back(self, *path: str, notice: str = "", **query: object) -> Response:
        """After a change: on to that page, which also shows the *notice*."""
        if notice:
            self.later.append(Notice(notice))
        return RedirectResponse(self.link(*path, **query), 303)

    def say(self, what: str, *results: RevisionResult | None, project: Project | None = None) -> None:
        """Say on the next page *what* was done, by which revision, of this *project* or of another, and where that can
        be undone."""
        for result in filter(None, results):
            if result.revision is None:
                self.later.append(Notice(f"{what}: nothing changed"))
            else:
                of = {"project": project.own.key} if project else {}
                self.later.append(
                    Notice(f"{what} (revision {result.revision})", self.link("history", str(result.revision), **of))
                )
            self.say_all(result.notes)

    def say_all(self, lines: Iterable[str]) -> None:
        """Say *lines* on the next page."""
        self.later.extend(map(Notice, lines))

    def ask(self, question: str, answer: str, *path: str) -> Response:
        """The page that asks before something is done: who gives this *answer* sends the form once more, with `sure`,
        to that page."""
        fields = {**self.form, "sure": "yes"}
        return self.page("ask.html", title="Are you sure?", question=question, answer=answer, path=path, fields=fields)

    def text(self, name: str) -> str:
        """What was typed for *name*, its lines as they are kept: a browser sends them with another end."""
        return self.form.get(name, "").replace("\r\n", "\n")

    def exact(self, name: str) -> str | None:
        """The text that a page of ours gave along for *name*, as JSON, in which nothing is lost on the way; None where
        there is none."""
        try:
            value = json.loads(self.form.get(name, ""))
        except ValueError:
            return None
        return value if isinstance(value, str) else None

    def require_history(self) -> None:
        """Raise ProjectError where a team's database is away: this machine knows its points alone."""
        if isinstance(self.project, LastKnownProject):
            raise ProjectError(
                "The team's database can't be reached. Until it can, you see its points as this machine last "
                "knew them; its history and proposals are only there."
            )

    @property
    def waiting(self) -> int:
        """How many proposals wait for the person; those of a team only if its database can be asked."""
        count = 0
        for each in self.project.playbooks():
            if not isinstance(each, LastKnownProject):
                with each.store.read(each.key) as book:
                    count += book.proposals_waiting()[0]
        return count

    def number(self, name: str, default: int = 1) -> int:
        """The number that the query gives for *name*; *default* where it is none."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default


Page = Callable[[PageRequest], Response]
Routes = Mapping[tuple[str, str], Page]  # the page by method and path


@lru_cache(2**14)  # a page has hundreds of links
def _quoted(text: str) -> str:
    return quote(text, safe="")


def as_shown(text: str) -> str:
    """*text* as it stands on a page, also where it is to be edited: with a browser's line ends, and nothing unseen."""
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def coded(text: str) -> Markup:
    """*text* as `shown`, with each part between backticks as code."""
    parts = [Markup("{}").format(as_shown(part)) for part in _CODE.split(shown(text))]
    parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup("").join(parts)


def operation_in_words(text: str) -> str:
    """The operation in the JSON *text*: what it would do, then its other fields by name."""
    try:
        fields = dict(json.loads(text))
    except (TypeError, ValueError):
        return text
    names = ", ".join(named_points(fields, str(fields.get("type"))))
    kind = _OPERATIONS.get(str(fields.get("type")).upper(), "an unknown operation")
    others = [f"{name}: {value}" for name, value in fields.items() if isinstance(value, str) and name not in _NAMES]
    return "; ".join([f"{kind} {names}".strip(), *others])


@cache
def templates() -> Environment:
    """The templates; what they show is escaped, and texts go through the filter `shown`."""
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        finalize=lambda value: as_shown(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters["shown"] = lambda text: shown(str(text))
    environment.filters["coded"] = coded
    environment.filters["operation"] = operation_in_words
    environment.filters["exact"] = json.dumps
    environment.filters["local"] = local
    environment.filters["compared"] = compare_words
    environment.filters["trusted"] = lambda trust: IN_WORDS.get(trust, IN_WORDS[FETCHED])
    return environment


def rendered(template: str, **values: Any) -> str:
    """What *template* makes of *values*."""
    return templates().get_template(template).render(**values)
