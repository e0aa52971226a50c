"""The tools `search`, `list` and `why` without the SDK. They read the database in the same way as the hooks."""

from typing import Any

from playbook_db.domain.sections import SECTION_ORDER, is_users_name
from playbook_db.mcp_server import answers
from playbook_db.services.reading import command_reads, file_first
from playbook_db.store.queries import list_queries
from playbook_db.store.queries.hook_queries import Book, StoredPoint


def call(url: str, folder: str, tool: object, arguments: object) -> tuple[str, list[str]] | None:
    """Call *tool* for the project in *folder*. Return the tool's answer, and the names of the points in the answer.

    Return None if the SDK's server has to answer. It has to if the arguments aren't plainly valid, the session is held
    out, the project is ignored, or *tool* isn't one of these tools.
    """
    if not isinstance(arguments, dict | None) or _is_kept_out(url, folder):
        return None
    rest = dict(arguments or {})
    if tool == "search":
        question, limit = rest.pop("question", None), _count(rest, "limit", 10, range(1, answers.MAX_POINTS + 1))
        if isinstance(question, str) and 0 < len(question) <= answers.MAX_QUESTION and limit is not None and not rest:
            return _search(url, folder, question, limit)
    elif tool == "list":
        section, limit = rest.pop("section", None), _count(rest, "limit", 30, range(1, answers.MAX_POINTS + 1))
        offset = _count(rest, "offset", 0, range(1_000_001))
        if section in (None, *SECTION_ORDER) and limit is not None and offset is not None and not rest:
            return _list(url, folder, section, offset, limit)
    elif tool == "why":
        name = rest.pop("name", None)
        if isinstance(name, str) and 0 < len(name) <= answers.MAX_NAME and not rest:
            return _why(url, folder, name.strip())
    return None


def _count(arguments: dict[str, Any], name: str, default: int, allowed: range) -> int | None:
    """Remove the argument *name* from *arguments*. Return its value, or None if that isn't an *allowed* number."""
    number = arguments.pop(name, default)
    return number if type(number) is int and number in allowed else None


def _is_kept_out(url: str, folder: str) -> bool:
    """Return whether the session may not read the playbook. The SDK's server then explains why."""
    return command_reads.is_ignored(url, folder) is not False


def _search(url: str, folder: str, question: str, limit: int) -> tuple[str, list[str]] | None:
    hits: list[tuple[StoredPoint, float]] = []
    for place in (folder, None):
        result = file_first.from_file(url, place, lambda book: command_reads.search_in(book, question))
        if result is None:
            return None
        (of_playbook,), _ = result
        hits += of_playbook.points
    points = [point for point, _ in sorted(hits, key=lambda hit: hit[1], reverse=True)[:limit]]
    return answers.hits_answer(question, points), [point.name for point in points]


def _why(url: str, folder: str, name: str) -> tuple[str, list[str]] | None:
    def query(book: Book) -> tuple[str, list[str]] | None:
        match = list_queries.find_point(book, name)
        if match is None:
            return None
        life = log_queries.life(book, match.point.id)
        return answers.life_answer(match.point, match.retired and match.retired.revision, life), [name]

    from playbook_db.store.queries import log_queries

    return file_first.from_file(url, None if is_users_name(name) else folder, query)


def _list(url: str, folder: str, section: str | None, offset: int, limit: int) -> tuple[str, list[str]] | None:
    listed = file_first.from_file(url, folder, command_reads.list_in)
    if listed is None:
        return None
    live, marks = listed
    page, more = answers.page_of(live, section, offset, limit)
    return answers.page_answer(page, more, offset, marks, is_empty=not live), [point.name for point in page]
