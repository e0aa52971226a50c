"""What a page costs: the processor's time for each page of a large playbook, beside the SQL of what it shows and an
empty page of the same application."""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import event
from sqlalchemy.engine import Engine
from starlette.types import ASGIApp

from benchmarks import long_history, raw, sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from benchmarks.history import AT
from playbook_db.services import maintenance
from playbook_db.services.project import Project, Store
from playbook_db.web.application import Site

_ROWS = 50
_WORDS = "fixture rollback"
_POINT = """
SELECT k.id, k.name, k.text, k.section, k.helpful, k.harmful, k.pinned, k.resting, r.time
FROM key_points AS k JOIN revisions AS r ON r.playbook_id = 1 AND r.number = k.created_in
WHERE k.playbook_id = 1
"""
_LIVE = f"""{_POINT} AND k.retired_in IS NULL AND k.resting = 0
ORDER BY k.pinned DESC, k.rank DESC, k.id LIMIT {_ROWS}
"""
_COUNT = "SELECT live_points FROM heads WHERE playbook_id = 1"
_FOUND = f"""
SELECT k.id, k.name, k.text, k.section, k.helpful, k.harmful, k.pinned, k.resting
FROM key_points AS k WHERE k.playbook_id = 1 AND k.retired_in IS NULL AND k.id IN (
    SELECT rowid & 4294967295 FROM point_search WHERE point_search MATCH :words LIMIT {_ROWS})
"""
_COUNT_FOUND = "SELECT count(*) FROM point_search WHERE point_search MATCH :words"
_LIFE = """
SELECT r.number, r.time, r.source, r.actor, r.session_id, r.message, c.kind, c.helpful, c.harmful, c.text, c.reason
FROM changes AS c JOIN revisions AS r ON r.playbook_id = 1 AND r.number = c.revision
WHERE c.playbook_id = 1 AND c.point_id = :id ORDER BY r.number
"""
_VOTES_OF_POINT = "SELECT revision, tag, rationale, evidence FROM votes WHERE playbook_id = 1 AND point_id = :id"
_REVISIONS = f"""
SELECT number, time, source, actor, session_id, message FROM revisions
WHERE playbook_id = 1 AND number <= :last ORDER BY number DESC LIMIT {_ROWS}
"""
_CHANGES = """
SELECT c.revision, c.kind, k.name, c.helpful, c.harmful, c.text, c.reason,
       (SELECT t.text FROM changes AS t WHERE t.playbook_id = 1 AND t.point_id = c.point_id AND t.text IS NOT NULL
        AND t.revision <= c.revision ORDER BY t.revision DESC, t.seq DESC LIMIT 1)
FROM changes AS c JOIN key_points AS k ON k.playbook_id = 1 AND k.id = c.point_id
WHERE c.playbook_id = 1 AND c.revision BETWEEN :first AND :last LIMIT 500
"""
_COUNTS = """
SELECT revision, kind, count(*) FROM changes
WHERE playbook_id = 1 AND revision BETWEEN :first AND :last GROUP BY revision, kind
"""
_VOTES = """
SELECT k.name, v.tag, v.rationale, v.evidence
FROM votes AS v LEFT JOIN key_points AS k ON k.playbook_id = 1 AND k.id = v.point_id
WHERE v.playbook_id = 1 AND v.revision = :revision
"""
_PROPOSALS = f"SELECT * FROM proposals WHERE playbook_id = 1 AND state = 'waiting' ORDER BY id LIMIT {_ROWS}"
_PROPOSALS_COUNT = "SELECT count(*) FROM proposals WHERE playbook_id = 1 AND state = 'waiting'"
_SESSIONS = f"""
SELECT session_id, min(time) AS first_at, count(*) FROM revisions
WHERE playbook_id = 1 AND session_id IS NOT NULL GROUP BY session_id ORDER BY first_at DESC LIMIT {_ROWS}
"""
_SESSIONS_COUNT = "SELECT count(DISTINCT session_id) FROM revisions WHERE playbook_id = 1 AND session_id IS NOT NULL"
_SESSIONS_CALLS = """
SELECT session_id, count(*), sum(input_tokens + cached_tokens + output_tokens), sum(cost_usd) FROM model_calls
WHERE playbook_id = 1 GROUP BY session_id
"""
_DAYS = """
SELECT substr(time, 1, 10) AS day, count(*), sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(cost_usd)
FROM model_calls WHERE playbook_id = 1 GROUP BY day ORDER BY day DESC
"""
_JOBS = f"SELECT * FROM jobs WHERE playbook_id = 1 AND state <> 'done' ORDER BY created_at LIMIT {_ROWS}"
_POINTS_BY_DAY = """
SELECT substr(r.time, 1, 10) AS day, sum(CASE c.kind WHEN 'retire' THEN -1 ELSE 1 END)
FROM changes AS c JOIN revisions AS r ON r.playbook_id = 1 AND r.number = c.revision
WHERE c.playbook_id = 1 AND c.kind IN ('add', 'restore', 'retire') GROUP BY day
"""
_VOTES_BY_DAY = """
SELECT substr(r.time, 1, 10) AS day, v.tag, count(*)
FROM votes AS v JOIN revisions AS r ON r.playbook_id = 1 AND r.number = v.revision
WHERE v.playbook_id = 1 GROUP BY day, v.tag
"""
_USES = """
SELECT event, sum(shown), sum(cited), sum(helpful), sum(harmful) FROM use_by_event
WHERE playbook = :key GROUP BY event
"""
_PROJECTS = """
SELECT p.key, (SELECT count(*) FROM key_points AS k WHERE k.playbook_id = p.id AND k.retired_in IS NULL),
       (SELECT max(number) FROM revisions AS r WHERE r.playbook_id = p.id) FROM playbooks AS p
"""


def run(folder: Path, *, quick: bool) -> Figures:
    """10,000 points with 100,000 revisions of a vote each, by 100,000 sessions."""
    points, revisions, rounds = (10_000, 100_000, 7) if not quick else (60, 300, 1)
    with tempfile.TemporaryDirectory(dir=folder) as inner, sandbox.opened(Path(inner)) as (store, project):
        path = sandbox.database_path(Path(inner))
        _fill(project, path, points, revisions)
        assert not maintenance.check(store), "the history didn't go in as it should"
        site = Site(sandbox.database_url(Path(inner)), project.key)
        empty = f"/history?{urlencode({'project': _empty(Path(inner) / 'empty', store)})}"
        store.close()
        with closing(raw.connect(path)) as bare, closing(site), asyncio.Runner() as runner:
            browser = _Browser(site.application(), runner, empty)
            frame = alternate(lambda: browser.get("/nothing", status=404), rounds=rounds, clock=time.process_time)
            rows = [
                _measured(browser, bare, name, address, queries, rounds)
                for name, address, queries in _pages(bare, project.key, points, revisions + 1)
            ]
    return Figures(
        f"Pages: {points:,} points, {revisions:,} revisions, the processor's time",
        ("", "the page", "its SQL", "its own statements", "an empty page", "page / (SQL + empty)"),
        rows,
        (
            "its SQL: what it shows, asked by sqlite3 as anyone would who has the tables; an empty page: the history",
            "of a playbook that has none, by the same way; its own statements: how many, and what they take alone;",
            f"a page that opens no project takes {milliseconds(*frame)}",
        ),
    )


class _Browser:
    """Who asks the application *app* for pages, in this process, without a network."""

    def __init__(self, app: ASGIApp, runner: asyncio.Runner, empty: str) -> None:
        self._app, self._runner, self.empty = app, runner, empty

    def get(self, address: str, *, status: int = 200) -> bytes:
        """The page at *address*."""
        return self._runner.run(self._get(address, status))

    async def _get(self, address: str, status: int) -> bytes:
        path, _, query = address.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        }  # fmt: skip
        body, statuses = bytearray(), []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            statuses.extend([message["status"]] if "status" in message else [])
            body.extend(message.get("body", b""))

        await self._app(scope, receive, send)
        assert statuses == [status], f"{address}: {statuses}, {bytes(body)[-500:]!r}"
        return bytes(body)


_Query = tuple[str, dict[str, Any]]


def _pages(bare: sqlite3.Connection, key: str, points: int, last: int) -> list[tuple[str, str, Sequence[_Query]]]:
    """Each page: its name, its address, and the queries of what it shows."""
    middle = last // 2
    (point_id, name) = bare.execute("SELECT id, name FROM key_points WHERE id = ?", (points // 2,)).fetchone()
    words = {"words": " OR ".join(_WORDS.split())}

    def revisions(newest: int) -> list[_Query]:
        shown = {"first": newest - _ROWS + 1, "last": newest}
        return [(_REVISIONS, {"last": newest}), (_CHANGES, shown), (_COUNTS, shown)]

    of_point, of_middle = {"id": point_id}, {"revision": middle}
    one = [(_REVISIONS, {"last": middle}), (_CHANGES, {"first": middle, "last": middle}), (_VOTES, of_middle)]
    sessions = [_SESSIONS, _SESSIONS_COUNT, _SESSIONS_CALLS, _DAYS, _JOBS]
    return [
        ("points", "/points", [(_LIVE, {}), (_COUNT, {})]),
        (f"points, {_WORDS!r}", f"/points?{urlencode({'q': _WORDS})}", [(_FOUND, words), (_COUNT_FOUND, words)]),
        ("one point", f"/points/{name}",
         [(f"{_POINT} AND k.id = :id", of_point), (_LIFE, of_point), (_VOTES_OF_POINT, of_point)]),
        ("history, newest", "/history", revisions(last)),
        ("history, oldest", f"/history?until={_ROWS}", revisions(_ROWS)),
        ("one revision", f"/history/{middle}", one),
        ("diff, the middle and now", f"/history/diff?from={middle}&to=now",
         [(AT, of_middle), (AT, {"revision": last})]),
        ("at, the middle", f"/history/at/{middle}", [(f"{AT} LIMIT {_ROWS}", of_middle)]),
        ("review", "/review", [(_PROPOSALS, {}), (_PROPOSALS_COUNT, {})]),
        ("sessions", "/sessions", [(query, {}) for query in sessions]),
        ("numbers", "/numbers", [(_POINTS_BY_DAY, {}), (_VOTES_BY_DAY, {}), (_USES, {"key": key}), (_DAYS, {})]),
        ("projects", "/projects", [(_PROJECTS, {})]),
    ]  # fmt: skip


def _measured(
    browser: _Browser, bare: sqlite3.Connection, name: str, address: str, queries: Sequence[_Query], rounds: int
) -> tuple[str, ...]:
    statements = _statements(lambda: browser.get(address))

    def ask(asked: Sequence[tuple[str, Any]]) -> None:
        for statement, given in asked:
            bare.execute(statement, given).fetchall()

    page, plain, own, empty = alternate(
        lambda: browser.get(address),
        lambda: ask(queries),
        lambda: ask(statements),
        lambda: browser.get(browser.empty),
        rounds=rounds,
        clock=time.process_time,
    )
    least = [sql + nothing for sql, nothing in zip(plain, empty, strict=True)]
    own_told = f"{len(statements)}: {milliseconds(own)}"
    return name, milliseconds(page), milliseconds(plain), own_told, milliseconds(empty), times(ratio(page, least))


def _statements(work: Callable[[], object]) -> list[tuple[str, Any]]:
    """The SQL that *work* runs, with its values."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    work()
    event.remove(Engine, "before_cursor_execute", note)
    return found


def _empty(folder: Path, store: Store) -> str:
    """The key of a project whose playbook is empty."""
    folder.mkdir()
    project = Project.in_folder(store, str(folder))
    with store.write(project.key):
        return project.key


def _fill(project: Project, path: str, points: int, revisions: int) -> None:
    """So many points, voted on by as many sessions as there are revisions; what that took, what they were shown, and
    some proposals and jobs."""
    sandbox.fill(project, points)
    project.store.tidy()
    long_history.cast(path, revisions, a_revision=1)
    with closing(raw.connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _BESIDE:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


_BESIDE = (
    "INSERT INTO model_calls (playbook_id, id, kind, session_id, model, input_tokens, output_tokens, cached_tokens,"
    " cost_usd, duration_ms, time) SELECT 1, number, 'reflect', session_id, 'a-model', 9000, 700, 100, 0.01, 900, time"
    " FROM revisions WHERE session_id IS NOT NULL",
    "INSERT INTO showings (playbook_id, session_id, seq, source, revision, points, left_out, time, event)"
    " SELECT 1, session_id, 1, 'startup', number, '[1,2,3,4,5,6,7,8,9,10]', 0, time, 'SessionStart'"
    " FROM revisions WHERE session_id IS NOT NULL AND number % 20 = 0",
    "INSERT INTO citations (playbook_id, session_id, point_id, chunks, time)"
    " SELECT 1, session_id, 1 + number / 20 % 10, 1, time FROM showings AS i"
    " JOIN revisions USING (playbook_id, session_id, time)",
    "INSERT INTO proposals (playbook_id, id, kind, operation, evidence, trust, session_id, created_at)"
    " SELECT 1, number - 1, 'ADD', json_object('type', 'ADD', 'section', 'OTHERS', 'text', 'Advice no. ' || number),"
    " '[]', 'fetched', session_id, time FROM revisions WHERE number BETWEEN 2 AND 201",
    "INSERT INTO jobs (playbook_id, id, kind, session_id, transcript_path, state, attempts, created_at, finished_at)"
    " SELECT 1, number, 'learn', session_id, '/transcripts/' || number, CASE WHEN number % 50 = 0 THEN 'failed' ELSE"
    " 'done' END, 1, time, time FROM revisions WHERE number BETWEEN 2 AND 5000",
)
