"""The web application. It finds the page for an address, and turns errors into pages."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from threading import Lock
from urllib.parse import unquote

import python_multipart  # noqa: F401 - Starlette needs it for forms, and would only say so at the first form
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from playbook_db import projects
from playbook_db.errors import ArgumentError, PlaybookError, ProjectError
from playbook_db.services.opening import open_project
from playbook_db.services.project import Project, Servers, is_known
from playbook_db.web import history_pages, home, numbers, point, points, review_page, sessions
from playbook_db.web.page_request import HERE, Notice, Page, PageRequest, rendered

_PAGES = (home, points, point, history_pages, review_page, sessions, numbers)
_NOT_DONE = 409
_NO_PLAYBOOK = "There is no playbook of {}. Choose one on the page Projects."


class Site:
    """The web pages for the database at *url*. They start with the project in *folder*, or the personal playbook."""

    def __init__(self, url: str, folder: str | None) -> None:
        self._url, self._folder = url, folder
        self._servers = Servers()
        self._one_at_a_time = Lock()
        self._notices: list[Notice] = []  # for the next page

    def application(self) -> Starlette:
        """Return the application that answers requests. `Guard` decides which requests it gets."""
        routes: list[Route | Mount] = [
            Route(path, partial(self._answer, page), methods=[method])
            for pages in _PAGES
            for (method, path), page in pages.ROUTES.items()
        ]
        routes.append(Mount("/static", StaticFiles(directory=HERE / "static")))
        handlers = {HTTPStatus.NOT_FOUND: _none, Exception: _failed}
        return Starlette(routes=routes, exception_handlers=handlers)

    async def _answer(self, page: Page, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()} if request.method == "POST" else {}
        return await run_in_threadpool(self._page_response, page, request, form)

    def close(self) -> None:
        """Close the connections to database servers."""
        self._servers.close()

    def _page_response(self, page: Page, request: Request, form: dict[str, str]) -> Response:
        notices: list[Notice] = []
        if request.method == "GET":
            notices, self._notices = self._notices, []
        try:
            with self._one_at_a_time, self._opened(request, notices) as project:
                path = {name: unquote(part) for name, part in request.path_params.items()}
                root, at = request.scope["root_path"], request.url.path
                of_page = PageRequest(project, path, request.query_params, form, self._notices, notices, root, at)
                try:
                    answer = page(of_page)
                except ArgumentError as error:  # the address names something that doesn't exist
                    status = HTTPStatus.NOT_FOUND
                    answer = of_page.page("error.html", title="Not found", status=status, error=str(error))
        except PlaybookError as error:
            return _problem(request, "Not done", str(error), _NOT_DONE)
        if request.method == "GET" and answer.status_code == HTTPStatus.SEE_OTHER:
            self._notices[:0] = notices  # nobody has read it yet
        return answer

    @contextmanager
    def _opened(self, request: Request, notices: list[Notice]) -> Iterator[Project]:
        self._servers.next_run()
        key = request.query_params.get("project") or self._folder
        if key is None or projects.is_users(key):
            with self._servers.opened(self._url) as store:
                yield Project.of_user(store)
            return
        if "\0" in key:
            raise ProjectError("The name of a folder can't contain a null character.")
        first = self._folder
        folder = first if first and key in (first, projects.project_key(first)) else key  # it may be a worktree

        def notify(line: str) -> None:
            notices.append(Notice(line))

        only_reads = request.method == "GET"
        with open_project(self._url, folder, only_reads=only_reads, servers=self._servers, notify=notify) as project:
            if folder != first and not is_known(project.own):
                raise ProjectError(_NO_PLAYBOOK.format(key))
            yield project


async def _none(request: Request, _: Exception) -> Response:
    return _problem(request, "Not found", "There is no such page. Use the links above.", HTTPStatus.NOT_FOUND)


async def _failed(request: Request, error: Exception) -> Response:
    traceback.print_exception(error)
    return _problem(request, "This page failed", _BUG, HTTPStatus.INTERNAL_SERVER_ERROR)


def _problem(request: Request, title: str, error: str, status: int) -> Response:
    return HTMLResponse(rendered("error.html", root=request.scope["root_path"], title=title, error=error), status)


_BUG = "This is a bug in playbook-db. The terminal with `playbook web` shows where. Nothing was left half done."
