"""The pages: what each shows, by the services and records that the command uses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from playbook_db.domain.prompt_text import shown
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import PlaybookError
from playbook_db.services import edit, history, records, search
from playbook_db.services.projects import Project, open_project, open_store

_HERE = Path(__file__).parent
PAGE_POINTS = 50  # of a list
_STATUS_OF_ERROR = 409


@dataclass(slots=True)
class Look:
    """What a page works on: the request, the project that it names, what was said of it meanwhile."""

    request: Request
    project: Project
    said: list[str] = field(default_factory=list)

    def link(self, path: str, **query: object) -> str:
        """The address of a page of ours for the same project."""
        given = {name: value for name, value in query.items() if value not in (None, "", 0)}
        return f"{path}?{urlencode({'project': self.project.key, **given})}"


Page = Callable[[Look, dict[str, str]], Response]


class Pages:
    """The pages of the database at *url*; the project in *folder* is the one that is shown first."""

    def __init__(self, url: str, folder: str | None) -> None:
        self._url, self._folder = url, folder
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._templates.filters["shown"] = lambda text: shown(str(text))

    def routes(self) -> list[Route | Mount]:
        """All addresses that are answered."""
        pages: dict[tuple[str, str], Page] = {
            ("GET", "/"): self.home,
            ("GET", "/points"): self.points,
            ("GET", "/points/{name}"): self.point,
            ("POST", "/points/{name}"): self.change,
        }
        routes: list[Route | Mount] = [
            Route(path, partial(self._answer, page), methods=[method]) for (method, path), page in pages.items()
        ]
        return [*routes, Mount("/static", StaticFiles(directory=_HERE / "static"))]

    async def _answer(self, page: Page, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()} if request.method == "POST" else {}
        return await run_in_threadpool(self._made, page, request, form)

    def _made(self, page: Page, request: Request, form: dict[str, str]) -> Response:
        said: list[str] = []
        try:
            with self._opened(request, said) as project:
                return page(Look(request, project, said), form)
        except PlaybookError as error:
            return HTMLResponse(self._rendered("error.html", title="Not done", error=str(error)), _STATUS_OF_ERROR)

    @contextmanager
    def _opened(self, request: Request, said: list[str]) -> Iterator[Project]:
        key = request.query_params.get("project") or self._folder
        if key is None:
            with open_store(self._url) as store:
                yield Project.of_user(store)
            return
        with open_project(self._url, key, may_be_old=True, notify=said.append) as project:
            yield project

    def _rendered(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(**values)

    def _page(self, look: Look, template: str, **values: Any) -> Response:
        return HTMLResponse(self._rendered(template, look=look, **values))

    def home(self, look: Look, form: dict[str, str]) -> Response:
        """The first page is the points."""
        return RedirectResponse(look.link("/points"), 303)

    def points(self, look: Look, form: dict[str, str]) -> Response:
        """The live points, or those that words find."""
        words = look.request.query_params.get("q", "")
        section = look.request.query_params.get("section", "")
        with look.project.store.read(look.project.key) as book:
            live = list(book.live_points())
        if words.strip():
            found = search.search(look.project, words)
            names = {point.name: place for place, (point, _) in enumerate(found.points)}
            live = sorted((point for point in live if point.name in names), key=lambda point: names[point.name])
        wanted = [point for point in live if section in ("", SECTION_SLUGS[point.section])]
        page = max(1, _number(look.request.query_params.get("page", "1")))
        first = (page - 1) * PAGE_POINTS
        return self._page(
            look,
            "points.html",
            title="Points",
            points=[records.point_record(point) for point in wanted[first : first + PAGE_POINTS]],
            words=words,
            section=section,
            sections=SECTION_SLUGS,
            count=len(wanted),
            page=page,
            pages=-(-len(wanted) // PAGE_POINTS),
        )

    def point(self, look: Look, form: dict[str, str]) -> Response:
        """One point and its life."""
        name = look.request.path_params["name"]
        details = edit.find(look.project, name)
        life = history.life(look.project, name)
        return self._page(look, "point.html", title=name, point=details.point, retired=details.retired, life=life)

    def change(self, look: Look, form: dict[str, str]) -> Response:
        """What a person does to one point."""
        name = look.request.path_params["name"]
        done = form.get("do", "")
        if done == "edit":
            edit.edit(look.project, name, text=form.get("text", ""), was=form.get("was"))
        elif done in ("helpful", "harmful"):
            edit.vote(look.project, name, done)
        elif done == "retire":
            edit.retire(look.project, name, reason=form.get("reason") or None)
        elif done == "restore":
            edit.restore(look.project, name)
        else:
            raise PlaybookError(f"Nothing is called {done!r} here; nothing was changed.")
        return RedirectResponse(look.link(f"/points/{name}"), 303)


def application(url: str, folder: str | None) -> Starlette:
    """The application that answers with the pages; who may ask is the guard's."""
    return Starlette(routes=Pages(url, folder).routes())


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
