"""What is special about a database on a PostgreSQL server."""

import functools
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url
from sqlalchemy import text as sql
from sqlalchemy.engine import URL

from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.errors import ArgumentError, OtherProgramError, SchemaError, ServerAwayError, ServerError
from playbook_db.services import maintenance
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, list_projects, read_playbook
from playbook_db.store import migrate, user_sql
from playbook_db.store.engine import open_store, retry_on_conflict
from playbook_db.store.playbook.repository import PlaybookRepository
from playbook_db.store.sqlite_open import SCHEMA
from tests import postgres
from tests.databases import empty

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fresh() -> Iterator[URL]:
    """A new database on a server."""
    postgres.require_server()
    url = postgres.new_database()
    open_store(str(url)).close()
    yield url
    postgres.drop_database(url)


@pytest.fixture
def url(fresh: URL) -> str:
    """The URL of an empty database on the server."""
    empty(fresh)
    return fresh.render_as_string(hide_password=False)


@pytest.fixture
def harbour(url: str) -> Iterator[Project]:
    """A project with one point on the server."""
    with open_store(url) as store:
        project = Project(store, "/work/harbour")
        edit.add(project, "use type hints")
        yield project


def _at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What *work* returns in each of *count* threads that start together."""
    begin = threading.Barrier(count)

    def one(number: int) -> Any:
        begin.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@pytest.mark.nightly
def test_first_writers_create_a_playbook_together(url: str) -> None:
    with open_store(url) as store:

        def add(project: Project, number: int) -> int | None:
            return edit.add(project, f"advice number {number}").revision

        for key in map(str, range(20)):
            assert sorted(_at_once(8, functools.partial(add, Project(store, key)))) == list(range(1, 9))


@pytest.mark.nightly
def test_workers_claim_each_job_once(url: str) -> None:
    """Two jobs of one playbook never run at the same time."""
    with open_store(url) as store:
        for number in range(30):
            queue.take_in(store, f"/work/{number % 10}", {"transcript_path": f"/t/{number}.jsonl"})
    running: set[str] = set()

    def work(_: int) -> list[tuple[str, int]]:
        done = []
        with open_store(url) as store:
            while job := queue.claim(store):
                assert job.key not in running
                running.add(job.key)
                done.append((job.key, job.id))
                time.sleep(0.01)
                running.remove(job.key)
                queue.finish(store, job)
        return done

    claimed = [job for done in _at_once(8, work) for job in done]

    assert sorted(claimed) == sorted({(f"/work/{number % 10}", number // 10 + 1) for number in range(30)})


def test_running_job_is_free_after_its_lease(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(url) as store:
        queue.take_in(store, "/work/harbour", {"transcript_path": "/t/1.jsonl"})
        assert queue.claim(store) is not None
        assert (queue.release_all(store), queue.claim(store)) == (0, None)
        monkeypatch.setattr(queue, "LEASE_S", -1.0)
        with store.transaction() as connection:
            connection.execute(sql("UPDATE jobs SET lease_until = '2026-01-01T00:00:00.000000+00:00'"))

        assert queue.claim(store) is not None


def test_deadlocked_use_case_runs_again(url: str) -> None:
    """The server ends one of two that wait for each other."""
    meet = threading.Barrier(2)
    begun: list[str] = []
    keys = ["/work/harbour", "/work/lighthouse"]
    with open_store(url) as store:
        for key in keys:
            edit.add(Project(store, key), "use type hints")

        @retry_on_conflict
        def write_both(first: str, second: str) -> None:
            begun.append(first)
            with store.write(first) as one:
                one.set_ignored(True)
                if len(begun) <= 2:
                    meet.wait()
                book = PlaybookRepository.open_to_write(one.connection, second)
                book.commit("edit", f"by {first}", even_if_unchanged=True)

        _at_once(2, lambda number: write_both(keys[number], keys[1 - number]))

        assert len(begun) == 3
        assert [listed.revisions for listed in list_projects(store)] == [2, 2]


def test_lost_connection_leaves_nothing(url: str, harbour: Project) -> None:
    """The next transaction gets a new connection."""

    def lose_it() -> None:
        with harbour.store.write(harbour.key) as book:
            book.draft.retire("oth-001", reason="by half")
            book.commit("edit", "half of it")
            pid = book.connection.scalar(sql("SELECT pg_backend_pid()"))
            with postgres.connected(make_url(url)) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [pid])
            book.commit("edit", "the other half", even_if_unchanged=True)

    with pytest.raises(ServerAwayError, match=r"is being shut down .* Try again|was lost .* Nothing was changed"):
        lose_it()

    assert [point.name for point in read_playbook(harbour).points] == ["oth-001"]
    assert edit.vote(harbour, "oth-001", "helpful").revision == 2


class Proxy:
    """A way to the server that ends at the COMMIT of a revision, *before* or after the server gets it."""

    def __init__(self, url: URL, *, before: bool) -> None:
        self._path = f"{url.query['host']}/.s.PGSQL.{url.port or 5432}"
        self._before = before
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.set(host="127.0.0.1", port=self.listener.getsockname()[1], query={})
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):  # the test is over
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._path)
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        has_written = False
        with client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [])
                data = ready[0].recv(65536)
                has_written = has_written or b"INSERT INTO revisions" in data
                is_end = ready[0] is client and has_written and b"COMMIT\0" in data
                if not data or (is_end and self._before):
                    return
                (server if ready[0] is client else client).sendall(data)
                if is_end:
                    server.recv(65536)
                    return


def test_no_statement_is_prepared(harbour: Project) -> None:
    """Behind a pooler, another client may have prepared a statement of the same name."""
    for _ in range(10):
        edit.vote(harbour, "oth-001", "helpful")

    with harbour.store.snapshot() as connection:
        assert connection.scalar(sql("SELECT count(*) FROM pg_prepared_statements")) == 0


@pytest.mark.usefixtures("socket_enabled")
@pytest.mark.parametrize("is_kept", [True, False])
def test_loss_during_a_commit_is_explained(url: str, harbour: Project, is_kept: bool) -> None:
    """Only the server knows whether the vote was kept. A retry could count it twice."""
    if postgres.GIVEN:
        pytest.skip("the server is somebody's own, and listens where it likes")
    proxy = Proxy(make_url(url), before=not is_kept)

    with (
        open_store(str(proxy.url)) as store,
        pytest.raises(ServerAwayError, match=r"lost during the commit, .* playbook log$"),
    ):
        edit.vote(Project(store, harbour.key), "oth-001", "helpful")

    proxy.listener.close()
    assert [point.helpful for point in read_playbook(harbour).points] == [int(is_kept)]


def test_read_only_server_can_be_read(url: str, harbour: Project) -> None:
    if postgres.GIVEN:
        pytest.skip("the server is somebody's own; its users are not ours to make")
    with postgres.connected(make_url(url)) as owner:
        owner.execute("CREATE ROLE looker SUPERUSER LOGIN")
        owner.execute("ALTER ROLE looker SET default_transaction_read_only = on")

        with open_store(str(make_url(url).set(username="looker"))) as store:
            project = Project(store, harbour.key)
            assert len(read_playbook(project).points) == 1
            with pytest.raises(ServerError, match="can only be read: its server is a standby, or read-only"):
                edit.vote(project, "oth-001", "helpful")

        owner.execute("DROP ROLE looker")


def test_long_statement_is_ended(harbour: Project) -> None:
    def sleep() -> None:
        with harbour.store.write(harbour.key) as book:
            assert book.connection.scalar(sql("SHOW statement_timeout")) == "5min"
            book.connection.execute(sql("SET LOCAL statement_timeout = 50"))
            book.connection.execute(sql("SELECT pg_sleep(60)"))

    with pytest.raises(ServerError, match=r"ended a statement that took too long .* Nothing was changed"):
        sleep()


@pytest.mark.parametrize("text", ["\0", "a\0b\ufdd0c", "\ufdd00\0"])
def test_nul_comes_back_from_the_server(url: str, text: str) -> None:
    """PostgreSQL refuses only this character."""
    with open_store(url) as store:
        project = Project(store, "/work/harbour")
        edit.add(project, f"x{text}y")

        assert [point.text for point in read_playbook(project).points] == [f"x{text}y"]
        assert maintenance.check(store) == []


@pytest.mark.parametrize(
    ("change", "message", "is_away"),
    [
        ({"host": "/proc/nowhere"}, r"can't be reached \(.*No such file.*\)\. Check the address", True),
        ({"database": "nix"}, r"the server has no such database\. Ask for one, or create it: createdb", False),
        ({"username": "locked", "password": "h0rse-battery"}, r"refuses this user and password .*\(password", False),
        ({"username": "guest"}, r"your user may not do this \(permission denied for (database|schema|table)", False),
        ({"query": {"colour": "red"}}, r"The URL of .* can\'t be used as it is \(invalid connection option", False),
        ({"username": "crowd"}, r"accepts no more connections \(too many connections .*\)\. Try again later", True),
    ],
    ids=str,
)
def test_server_errors_are_one_line_without_password(
    url: str, change: dict[str, Any], message: str, is_away: bool
) -> None:
    if postgres.GIVEN:
        pytest.skip("the server is somebody's own; its users are not ours to make")
    made = make_url(url)
    with postgres.making_roles(), postgres.connected(made) as owner:
        for user in ("locked PASSWORD 'right'", "guest", "crowd CONNECTION LIMIT 0"):
            name = user.split()[0]
            if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
                owner.execute(f"CREATE ROLE {user.replace(name, name + ' LOGIN', 1)}".encode())
        postgres.ask_for_password(owner, "locked")
    query = {**made.query, **change.pop("query", {})} if "host" not in change else {"host": change.pop("host")}
    wrong = made.set(**change, query=query).render_as_string(hide_password=False)

    def use() -> None:
        with open_store(wrong) as store:
            edit.add(Project(store, "/work/harbour"), "use type hints")

    with pytest.raises(ServerError, match=message) as error:
        use()

    assert isinstance(error.value, ServerAwayError) == is_away
    assert "h0rse-battery" not in str(error.value)
    assert "\n" not in str(error.value)


def test_server_is_never_migrated_on_its_own(url: str) -> None:
    """Members may still have an older version."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "SCHEMA", SCHEMA + 1)
        with pytest.raises(SchemaError, match=r"Its owner backs it up .* then runs: playbook --db URL db upgrade"):
            open_store(url)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "SCHEMA", SCHEMA - 1)
        with pytest.raises(SchemaError, match=r"is at schema \d{4}; this playbook-db knows"):
            open_store(url)


def test_other_programs_tables_are_untouched() -> None:
    postgres.require_server()
    theirs = postgres.new_database()
    with postgres.connected(theirs) as owner:
        owner.execute("CREATE TABLE jobs (id integer)")

    with pytest.raises(OtherProgramError):
        open_store(str(theirs))

    postgres.drop_database(theirs)


def test_export_is_the_same_from_both_databases(url: str, tmp_path: Path) -> None:
    """The server's language doesn't change the order."""
    names = ["b", "a", "\u00e4", "z", "Z", "\U0001f98a", "-"]
    texts = []
    for database in (url, f"sqlite:///{tmp_path / 'playbook.db'}"):
        with open_store(database) as store:
            project = Project(store, "/work/harbour")
            now = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)
            for number, name in enumerate(names):
                with store.write(project.key, now=now + timedelta(seconds=number)) as book:
                    book.draft.add(KeyPoint(f"oth-{name}", f"{name} is advice \0", OTHERS, helpful=number))
                    book.commit("edit", "another")
            texts.append(import_export.export_playbook(project))

    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "question",
    ["SELECT pg_read_file('PG_VERSION')", "SELECT pg_reload_conf()", "SELECT lo_import('/etc/passwd')"],
)
def test_superusers_query_can_not_read_files(url: str, harbour: Project, question: str) -> None:
    with user_sql.ask(url, "TABLE live_key_points", project_key="") as answer:
        assert [row[1] for row in answer.rows] == ["oth-001"]
    with pytest.raises(ArgumentError, match="permission denied"), user_sql.ask(url, question, project_key=""):
        pytest.fail("it was answered")


def test_query_with_many_short_steps_is_ended(url: str) -> None:
    """The server measures the time of each step alone."""
    open_store(url).close()
    slow = "SELECT n, pg_sleep(0.0007) FROM generate_series(1, 100000) AS n"

    slow_answer = user_sql.ask(url, slow, project_key="", timeout_s=1.0)
    with pytest.raises(ArgumentError, match="took longer"), slow_answer as answer:
        list(answer.rows)
