"""Members of a team learn into one playbook on a server: workers and commands are killed, the server is restarted in
between, connections are cut; a member's SQL goes round the history. Afterwards each lesson and each command is there
once, none by half."""

import contextlib
import io
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.torture import groups, learning
from benchmarks.torture.learning import LIMIT_S, NURSERY
from benchmarks.torture.promises import promise
from playbook_db.cli.main import main as playbook
from playbook_db.contract import load_playbook
from playbook_db.services import maintenance
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit, forget
from playbook_db.services.project import Project
from playbook_db.services.sharing import joining
from playbook_db.store import migrate
from playbook_db.store.engine import open_store
from tests import postgres
from tests.messages_api import MessagesApi

NAME = "github.com/org/shop"
_BALLOT, _BALLOT_TEXT = "pat-003", "the ballot of commands"  # which commands vote on; the lessons have their own
_MEMBERS, _JOBS, _CHUNKS = 2, 4, 2  # of a life; the jobs are those of each member
_KILLS_A_LIFE = 10
_LONGEST_LIFE_S = 1.2  # of those that are killed, their start included
_CUTS = 0.2  # of the times that something is killed: so often a connection is cut before that
_GROUP = 5  # points that one command adds together
_COMMAND_ENDS = (0, 1)  # 1: it told that the server was away
_GONE = (0, -signal.SIGKILL)
_REFUSED_S = 0.1  # after that who was refused tries anew
# What a member says to the server in SQL: points other than their history, and a history of somebody else's making.
_FORGERIES = (
    "UPDATE key_points SET text = 'owned' WHERE name = '{ballot}'",
    "UPDATE key_points SET helpful = helpful + 1, harmful = 7",
    "UPDATE key_points SET section = 'mis' WHERE id = 1",
    "UPDATE key_points SET retired_in = 1, retired_reason = 'owned' WHERE name = '{ballot}'",
    "INSERT INTO key_points (playbook_id, id, name, section, position, text, created_in)"
    " SELECT playbook_id, 9999, 'pat-9999', 'pat', 9999, 'owned', 1 FROM heads",
    "INSERT INTO changes (playbook_id, revision, seq, point_id, kind, section, position, helpful, harmful, text)"
    " SELECT playbook_id, max(number), 99, 1, 'edit', 'pat', 1, 7, 0, 'owned' FROM revisions GROUP BY 1;"
    " UPDATE key_points SET section = 'pat', position = 1, helpful = 7, harmful = 0, text = 'owned' WHERE id = 1",
    "INSERT INTO votes (playbook_id, revision, seq, point_id, tag)"
    " SELECT playbook_id, max(number), 99, 1, 'helpful' FROM revisions GROUP BY 1",
    "UPDATE changes SET text = 'owned' WHERE text IS NOT NULL",
    "UPDATE revisions SET role = 'another'",
)
_BUGS = ("Traceback", "psycopg.", "sqlalchemy", "IntegrityError", "OperationalError")


@dataclass(slots=True)
class Team:
    """What was tried: kills of workers and of commands, restarts of the server by their mode, connections cut; what
    was done all the same; then the crowd of members whose sessions end at once."""

    workers_killed: int = 0
    commands_killed: int = 0
    restarts: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    forgeries: int = 0  # that a member tried in SQL
    lives: int = 0
    commands_done: int = 0
    commands_refused: int = 0  # for the server was away
    commands_unknown: int = 0  # those that were killed in the middle
    chunks: int = 0
    last_workers: int = 0  # that it took to end the work
    reads_after_forgetting: int = 0
    crowd: int = 0  # sessions
    crowd_s: float = 0.0


@dataclass(slots=True)
class _Life:
    """A playbook on the server, its members' folders, and what became of their commands."""

    server: postgres.Server
    url: str
    api: MessagesApi
    members: list[Path]
    chunks: set[str]
    done: list[tuple[str, str]] = field(default_factory=list)  # the kind and the tag of each command
    unknown: list[tuple[str, str]] = field(default_factory=list)  # that may have been done, or not
    tags: int = 0

    def environment(self, member: Path) -> dict[str, str]:
        """The variables of a process of *member*."""
        return learning.environment_of(member, self.api) | {"PLAYBOOK_ACTOR": member.name, "USER": member.name}

    def logs(self) -> str:
        """What the members' workers left in their logs."""
        files = [member / "home/.claude/playbook/logs/worker.log" for member in self.members]
        return "".join(file.read_text(encoding="utf-8") for file in files if file.exists())


def run(folder: Path, *, kills: int, restarts: int, members: int, sessions: int, seed: int) -> Team:
    """Kill workers and commands *kills* times, with so many *restarts* of the server in between; then let *sessions*
    of each of so many *members* be learned from at once. Raises AssertionError where a promise is broken."""
    found, rng = Team(), random.Random(seed)
    server = postgres.Server()
    try:
        while (killed := found.workers_killed + found.commands_killed) < kills:
            with _life(folder / f"life-{found.lives}", server, _MEMBERS, _JOBS, _CHUNKS, seed=killed) as life:
                until = min(kills, killed + _KILLS_A_LIFE)
                _told(life, seed, lambda life=life, until=until: _disturb(life, until, kills, restarts, rng, found))
                _told(life, seed, lambda life=life: _end_and_check(life, found))
                _told(life, seed, lambda life=life: _read_after_forgetting(life, found))
            found.lives += 1
        if sessions:
            with _life(folder / "crowd", server, members, sessions, 1, seed=seed) as life:
                began = time.monotonic()
                _told(life, seed, lambda: _end_and_check(life, Team()))
                found.crowd, found.crowd_s = members * sessions, time.monotonic() - began
    finally:
        server.remove()
    return found


def _told(life: _Life, seed: int, work: Callable[[], object]) -> None:
    try:
        work()
    except AssertionError as broken:
        told = f"seed {seed}, in {life.members[0].parent}"
        raise AssertionError(f"{broken}\n({told}; the logs:\n{life.logs()[-3000:]})") from None


@contextlib.contextmanager
def _life(folder: Path, server: postgres.Server, members: int, jobs: int, chunks: int, *, seed: int) -> Iterator[_Life]:
    """A new playbook on the server, with so many members who have joined it, each with jobs of so many chunks."""
    url = postgres.new_database(server=server.url).render_as_string(hide_password=False)
    migrate.migrate(url)
    homes = [folder / f"member-{number}" for number in range(1, members + 1)]
    of_each = {home: range(1000 * number, 1000 * number + jobs) for number, home in enumerate(homes, 1)}
    names = {f"{job}.{chunk}" for jobs_of_one in of_each.values() for job in jobs_of_one for chunk in range(chunks)}
    with open_store(url) as store:
        learning.fill(Project(store, NAME), sorted(names))
        edit.add(Project(store, NAME), _BALLOT_TEXT, section="PATTERNS & APPROACHES")
    with MessagesApi(*learning.model(random.Random(seed))) as api:
        life = _Life(server, url, api, homes, names)
        for home, numbers in of_each.items():
            with sandbox.opened(home) as (store, own), sandbox.living_in(life.environment(home)):
                with joining.joining(own, url, NAME) as begun:
                    begun.finish()
                learning.end_sessions(home, numbers, chunks)
                for number in numbers:
                    queue.take_in(store, own.key, learning.end_of(home, number))
        yield life


def _disturb(life: _Life, until: int, kills: int, restarts: int, rng: random.Random, found: Team) -> None:
    """Kill until so many have been killed of all; each time that a restart is due, there is one before the kill."""
    while (killed := found.workers_killed + found.commands_killed) < until:
        workers = [NURSERY.Process(target=learning.work, args=(life.environment(member),)) for member in life.members]
        commander = _Commander(life, rng)
        for process in (*workers, commander.process):
            process.start()
        commander.hear(rng.randrange(6))  # on a busy machine he would be killed before his first command
        time.sleep(rng.uniform(0, _LONGEST_LIFE_S))
        if rng.random() < _CUTS:
            found.cut += _cut(life, rng)
        found.forgeries += _forge(life, rng)
        if found.restarts.total() * kills < restarts * (killed + 1):
            mode = rng.choice(("immediate", "fast"))
            life.server.stop(mode)
            time.sleep(rng.choice((0, rng.uniform(0, 0.5))))  # so long it is away
            life.server.start()
            found.restarts[mode] += 1
            time.sleep(rng.uniform(0, _LONGEST_LIFE_S / 2))
        for process in workers:
            found.workers_killed += _kill(process)
        found.commands_killed += _kill(commander.process)
        commander.listen(found)
        _check(life)


def _kill(process: Any) -> bool:
    """Kill *process*; False where it had ended by itself, as it may."""
    is_alive = process.is_alive()
    process.kill()
    process.join()
    promise(process.exitcode in _GONE, f"a process ended by itself with {process.exitcode}")
    return is_alive and process.exitcode == -signal.SIGKILL


def _cut(life: _Life, rng: random.Random) -> int:
    """End one connection to the playbook's database from the server's side; how many there were to choose from."""
    with _connected(life) as connection:
        there = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " ORDER BY xact_start NULLS LAST"
        ).fetchall()
        if there:
            connection.execute("SELECT pg_terminate_backend(%s)", rng.choice(there[:2]))
    return bool(there)


def _forge(life: _Life, rng: random.Random) -> int:
    """Go round the history in SQL, in one transaction, as any user of the server may try; 1, once that was refused."""
    said = ""
    with contextlib.suppress(postgres.psycopg.OperationalError), _connected(life) as connection:
        try:
            connection.execute(rng.choice(_FORGERIES).format(ballot=_BALLOT))
        except postgres.psycopg.IntegrityError as refused:
            said = str(refused)
        promise(bool(said), "the server took a point, or a part of a history, that no revision tells of")
    return bool(said)


class _Commander:
    """A member who gives commands that write, one after the other, until he is killed."""

    def __init__(self, life: _Life, rng: random.Random) -> None:
        self._life = life
        life.tags += 1
        self._ears, mouth = NURSERY.Pipe(duplex=False)
        self._mouth = mouth
        self._told: list[tuple[str, str, str]] = []
        member = rng.choice(life.members)
        arguments = life.environment(member), str(member), f"c{life.tags}", rng.random(), mouth
        self.process = NURSERY.Process(target=_command_forever, args=arguments)

    def hear(self, count: int) -> None:
        """Wait until he has told *count* things: what he begins, and what is done."""
        while len(self._told) < count and self._ears.poll(LIMIT_S):
            self._told.append(self._ears.recv())

    def listen(self, found: Team) -> None:
        """Note what he told until he died."""
        self._mouth.close()
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._told.append(self._ears.recv())
        under_way: tuple[str, str] | None = None
        for what, kind, tag in self._told:
            if what == "begin":
                under_way = kind, tag
                continue
            under_way = None
            found.commands_done += what == "done"
            found.commands_refused += what == "refused"
            (self._life.done if what == "done" else self._life.unknown).append((kind, tag))
            promise(what in ("done", "refused"), f"`playbook {kind}` ended otherwise: {tag}")
        if under_way is not None:
            found.commands_unknown += 1
            self._life.unknown.append(under_way)


def _command_forever(environment: dict[str, str], folder: str, tag: str, seed: float, mouth: Connection) -> None:
    """Vote, add and apply batches as the command does, and tell what is begun and what is done."""
    os.environ.clear()
    os.environ.update(environment)
    rng, number = random.Random(seed), 0
    while True:
        number += 1
        kind, one = rng.choice(("vote", "add", "apply")), f"{tag}.{number}"
        file = Path(folder, "batch.json")
        operations = [{"type": "ADD", "text": text, "section": "OTHERS"} for text in groups.texts(one, _GROUP)]
        file.write_text(json.dumps({"operations": operations}), encoding="utf-8")
        arguments = {
            "vote": ["vote", _BALLOT, "helpful"],
            "add": ["add", f"added by {one}"],
            "apply": ["apply", str(file)],
        }
        mouth.send(("begin", kind, one))
        told = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
            code = playbook(arguments[kind])
        time.sleep(_REFUSED_S if code else 0)
        bug = code not in _COMMAND_ENDS or any(word in told.getvalue() for word in _BUGS)
        mouth.send(("bug" if bug else "refused" if code else "done", kind, f"{one}: {told.getvalue()}" if bug else one))


def _end_and_check(life: _Life, found: Team) -> None:
    """Let the members' workers do what is left, all at once, and check that all was learned from."""
    deadline = time.monotonic() + LIMIT_S + len(life.chunks)
    while (left := life.chunks - _check(life)) or _unfinished(life):
        promise(time.monotonic() < deadline, f"not learned from in time: {sorted(left)[:5]}")
        workers = [NURSERY.Process(target=learning.work, args=(life.environment(member),)) for member in life.members]
        for process in workers:
            process.start()
        for process in workers:
            process.join(max(0.0, deadline - time.monotonic()))
            _kill(process)
        found.last_workers += len(workers)
        for member in life.members:  # of a server that was away and of a worker that was killed too often
            with sandbox.opened(member) as (store, _):
                queue.retry_all(store)
    found.chunks += len(life.chunks)
    bugs = [line for line in life.logs().splitlines() if any(word in line for word in _BUGS)]
    promise(not bugs, f"a worker's log tells: {bugs[:3]}")


def _read_after_forgetting(life: _Life, found: Team) -> None:
    """Let another machine forget a point: a member's command and program change no file here, then his worker does."""
    for member in life.members:
        with sandbox.opened(member) as (_, own):
            edit.add(own, _BALLOT_TEXT)
    with open_store(life.url) as store:
        forget.forget(Project(store, NAME), forget.Request(_BALLOT))
    for member in life.members:
        before = _files(member)
        with sandbox.living_in(life.environment(member)), contextlib.redirect_stdout(io.StringIO()) as told:
            promise(playbook(["list"]) == 0, "`playbook list` failed")
            print(load_playbook())
        promise(_BALLOT_TEXT not in told.getvalue(), "a read shows what the team has forgotten")
        promise(_files(member) == before, "a read changed files of a member")
        process = NURSERY.Process(target=learning.work, args=(life.environment(member),))
        process.start()
        process.join(LIMIT_S)
        _kill(process)
        left = [path for path, content in _files(member).items() if _BALLOT_TEXT.encode() in content]
        promise(not left, f"after the worker these still hold what the team has forgotten: {left}")
        found.reads_after_forgetting += 2


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _unfinished(life: _Life) -> list[str]:
    """The jobs that aren't done."""
    states = []
    for member in life.members:
        with sandbox.opened(member) as (store, _):
            states += [job.state for job in queue.list_jobs(store)]
    return [state for state in states if state != "done"]


def _check(life: _Life) -> set[str]:
    """Check all that must hold at any moment, in one state of the server's database; the chunks that were learned
    from."""
    with open_store(life.url) as store:
        problems = maintenance.check(store)
        promise(not problems, f"the database is not sound: {problems}")
        with store.snapshot() as connection:
            ask = partial(_rows, connection)
            learned = learning.check_counts(ask)
            points = [(name, text) for name, text in ask("SELECT name, text FROM key_points")]
            ((votes,),) = ask(f"SELECT helpful FROM key_points WHERE name = '{_BALLOT}'")
    halves = groups.halves(points, [])
    promise(not halves, f"half a batch: {halves}")
    there = Counter(_tag_of(text) for _, text in points)
    for kind, size in (("add", 1), ("apply", _GROUP)):
        done, unknown = ({tag for what, tag in told if what == kind} for told in (life.done, life.unknown))
        lost = [tag for tag in done if not there[kind, tag]]
        double = [tag for tag in done | unknown if there[kind, tag] not in (0, size)]
        promise(not lost and not double, f"{kind}: lost {lost[:5]}, double {double[:5]}")
    least = sum(kind == "vote" for kind, _ in life.done)
    most = least + sum(kind == "vote" for kind, _ in life.unknown)
    promise(least <= votes <= most, f"{_BALLOT} has {votes} votes, not {least} to {most}")
    return learned


def _rows(connection: Any, query: str) -> list[Any]:
    return [tuple(row) for row in connection.exec_driver_sql(query)]


def _tag_of(text: str) -> tuple[str, str]:
    """The kind and the tag of the command that added a point of this *text*; of another's, blanks."""
    group = groups.group_of(text)
    if group is not None:
        return "apply", group.partition("/")[0]
    return ("add", text.removeprefix("added by ")) if text.startswith("added by ") else ("", "")


@contextlib.contextmanager
def _connected(life: _Life) -> Iterator[Any]:
    connection = postgres.connected(postgres.make_url(life.url))
    try:
        yield connection
    finally:
        connection.close()
