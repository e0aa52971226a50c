"""The MCP tools. They read the database file if that is enough. Otherwise, and to write, they open the project.

Each call opens the database, so that it may be replaced or upgraded between calls. Changes wait for the user
(`services.playbook.suggestions`), unless the user's setting says otherwise. Texts are neutralized, cut, and without
quotes from fetched pages. To add a tool, add a method; models read its docstring.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from playbook_db.domain.prompt_text import render_points
from playbook_db.domain.sections import OTHERS, is_users_name
from playbook_db.mcp_server import answers
from playbook_db.mcp_server.arguments import SCHEMAS
from playbook_db.services.reading import command_reads, file_first
from playbook_db.services.reading.file_first import ReadSource

if TYPE_CHECKING:
    from playbook_db.services.playbook.suggestions import McpSession
    from playbook_db.services.project import Project, Servers
    from playbook_db.store.queries.hook_queries import StoredPoint
    from playbook_db.store.queries.revision_log import LoggedRevision

_Method = Callable[..., str]
_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_PROPOSES = {**_READS, "readOnlyHint": False}
_UNDOES = {**_PROPOSES, "destructiveHint": True, "idempotentHint": False}
TOOLS: dict[str, tuple[_Method, dict[str, Any]]] = {}  # methods of PlaybookTools, and their declarations for clients


def _tool(tool: str, title: str, hints: dict[str, bool]) -> Callable[[_Method], _Method]:
    """Make a method a *tool*. Its arguments are in SCHEMAS; those with a default are optional."""

    def declare(method: _Method) -> _Method:
        names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
        required = names[: len(names) - len(method.__defaults__ or ())]
        schema = {"type": "object", "properties": {each: SCHEMAS[each] for each in names}, "required": required}
        about = {"title": title, "description": " ".join((method.__doc__ or "").split()), "annotations": hints}
        TOOLS[tool] = method, {"name": tool, "inputSchema": schema, **about}
        return method

    return declare


class PlaybookTools:
    """The tools for the project in `folder`, with the database at `url`. The `session` that started the server has seen
    the points `shown`. `tool_use` is the client's id of the present call, and `notes` go to its answer."""

    def __init__(self, url: str, folder: str, session: str) -> None:
        self.url, self.folder, self.session = url, folder, session
        self.tool_use, self.shown = "", set[str]()
        self.notes: list[str] = []

    def use_roots(self, uris: list[str]) -> None:
        """Serve the first folder among the roots of the client, if there is one."""
        from urllib.parse import unquote, urlsplit

        folders = (unquote(urlsplit(uri).path) for uri in uris if uri.startswith("file:"))
        if root := next(filter(os.path.isdir, folders), None):
            os.environ["CLAUDE_PROJECT_DIR"] = root
            self.folder = file_first.place_of(self.url, root)

    @cached_property
    def servers(self) -> "Servers":
        """The connections to databases on servers, which stay open between calls."""
        from playbook_db.services.project import Servers  # late: to read a file needs no SQLAlchemy

        return Servers()

    @contextmanager
    def opened(self, *, only_reads: bool = True, is_users: bool = False, **_: Any) -> "Iterator[Project]":
        """Open the project, or the user's own playbook. A tool that *only_reads* may get a team's replica. Raises
        ProjectError as `open_for_session` does."""
        from playbook_db.services.opening import open_for_session

        notes: list[str] = []
        self.servers.next_run()
        with open_for_session(self.url, self.folder, self.servers, notes.append, only_reads=only_reads) as project:
            self.notes += notes if project.is_team else []
            yield project.playbooks()[-1] if is_users else project

    def _source(self, *, is_users: bool = False) -> ReadSource:
        command_reads.require_heeded(self.url, self.folder)
        return ReadSource(self.url, None if is_users else self.folder, partial(self.opened, is_users=is_users))

    @contextmanager
    def _writing(self) -> "Iterator[tuple[Any, Project, McpSession]]":
        """Open the project to write. Yield the module `suggestions`, the project, and the session that called."""
        from playbook_db.claude_code.transcripts import session_so_far
        from playbook_db.services.playbook import suggestions

        with self.opened(only_reads=False) as project:
            session = session_so_far.read(self.tool_use, self.session, self.folder, self.shown)
            yield suggestions, project, session

    @_tool("search", "Search the playbook", _READS)
    def search(self, question: str, limit: int = 10) -> str:
        """Find key points by what they say, the best answer first. The question can be any text: a task, the message
        of an error, a file's name. Also looks into the user's own playbook (names such as upat-001)."""
        hits: list[tuple[StoredPoint, float]] = []
        for is_users in (False, True):
            (matches,), _ = command_reads.search(self._source(is_users=is_users), [question], self.notes.append)
            hits += matches
        points = [point for point, _ in sorted(hits, key=lambda hit: hit[1], reverse=True)[:limit]]
        self.shown.update(point.name for point in points)
        return answers.hits_answer(question, points)

    @_tool("why", "Where a key point came from", _READS)
    def why(self, name: str, prompt: str = "", file: str = "") -> str:
        """Show a key point's text and life: when it came, its votes with their reasons, edits and merges. With a prompt
        or a file: whether a new session is shown it then, and why."""
        record, life, _ = command_reads.life(self._source(is_users=is_users_name(name)), name)
        self.shown.add(name)
        if prompt or file:
            from playbook_db.claude_code import as_prompt

            self.notes += as_prompt.reasons(self.url, self.folder, name, prompt, file)
        return answers.life_answer(record, life)

    @_tool("list", "List the playbook", _READS)
    def list_points(self, section: str | None = None, offset: int = 0, limit: int = 30) -> str:
        """List the project's key points with their votes, section by section."""
        live, marks = command_reads.listing(self._source())
        rest = [point for point in live if section in (None, point.section)][offset:]
        self.shown.update(point.name for point in rest[:limit])
        return answers.page_answer(rest[:limit], marks, len(rest) - limit, offset) if live else answers.EMPTY

    @_tool("history", "What was changed", _READS)
    def log(self, name: str | None = None, limit: int = 10) -> str:
        """List the playbook's revisions, the newest first: what each changed and who made it."""
        revisions: list[LoggedRevision] = []
        options = {**dict.fromkeys(("session", "since", "until", "source", "by")), "name": name, "limit": limit}
        command_reads.log(self._source(is_users=is_users_name(name or "")), options, revisions.extend, most=10)
        return answers.log_answer(revisions)

    @_tool("add", "Propose a key point", _PROPOSES)
    def add(self, text: str, section: str = OTHERS, evidence: Sequence[str] = ()) -> str:
        """Propose a new key point: one short piece of advice that later sessions of this project should know. The user
        decides on it."""
        return self._suggest("added", evidence, type="ADD", text=text, section=section)

    @_tool("propose_edit", "Propose other words for a key point", _PROPOSES)
    def propose_edit(self, name: str, text: str, evidence: Sequence[str] = ()) -> str:
        """Propose another text for a key point. The user decides on it; the point's votes stay."""
        return self._suggest("edited", evidence, type="UPDATE", target_id=name, text=text)

    @_tool("propose_retirement", "Propose to retire a key point", _PROPOSES)
    def propose_retirement(self, name: str, reason: str, evidence: Sequence[str] = ()) -> str:
        """Propose that a key point leaves the playbook, as it is wrong or out of date. The user decides on it; a
        retired point can be brought back."""
        return self._suggest("retired", evidence, type="DELETE", target_id=name, reason=reason)

    def _suggest(self, what: str, evidence: Sequence[str], **operation: str) -> str:
        with self._writing() as (suggestions, project, session):
            result = suggestions.suggest(project, session, {**operation, "evidence": [*evidence]})
        return answers.outcome_answer(result, what)

    @_tool("vote", "Vote on a key point", _PROPOSES)
    def vote(self, name: str, tag: str, reason: str = "", evidence: Sequence[str] = ()) -> str:
        """Say that a key point that this session was shown helped or harmed it. One vote for a point; a harmful one
        without evidence waits for the user."""
        with self._writing() as (suggestions, project, session):
            voted = suggestions.vote(project, session, name, tag, reason=reason, quotes=evidence)
        return answers.outcome_answer(voted, f"voted {tag} on {name}")

    @_tool("undo", "Undo what this session did", _UNDOES)
    def undo(self, what: str = "") -> str:
        """Undo what this session itself did with these tools: a proposal that still waits, a vote, or a change.
        Nothing that others did can be undone here."""
        with self._writing() as (suggestions, project, session):
            back = suggestions.withdraw(project, session, what)
        if isinstance(back, str):
            return f"withdrew the proposal {back}"
        return answers.changed_answer(f"undid {back.revisions}", back.result)

    def playbook(self) -> str:
        """Return all live points of the project, section by section, as far as there is room."""
        live, _ = command_reads.listing(self._source())
        self.shown.update(point.name for point in live)
        return answers.answer_of(render_points(live).splitlines()) if live else answers.EMPTY
