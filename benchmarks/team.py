"""A team's server with few and with many playbooks: what a member's replica, a lesson and a vote cost there.

In each database all playbooks are alike: our services created one, and the others are copies of its rows.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from sqlalchemy import func, select

from benchmarks import samples, sandbox
from benchmarks.figures import Figures, alternate, milliseconds, ratio, times
from playbook_db.domain.trust.evidence import Place
from playbook_db.llm.model import Prompt, Reply, Usage
from playbook_db.services.learning import learn
from playbook_db.services.learning.asking import Chunk
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, TeamProject
from playbook_db.store import migrate
from playbook_db.store.dialect import dialect_of
from playbook_db.store.engine import Store, open_store
from playbook_db.store.tables import metadata, playbooks
from playbook_db.store.team import memberships, replica
from tests import postgres

POINTS, LESSONS = 60, 20  # of each playbook
COUNTS = (10, 100, 1_000, 10_000)  # playbooks
AIM = 1.3  # at most so many times what it takes with the fewest playbooks
_NAMES = [point.name for point in samples.playbook(POINTS).points]
_DEADLINE_S = 600
_CITED = 5  # points in a session
_SAID = "the user was pleased"
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class AtOnce:
    """A model that answers at once: a helpful vote for each of some points, and one point to add."""

    names: tuple[str, ...]

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The votes, and the operation."""
        vote = {"tag": "helpful", "rationale": "it kept the tests small", "evidence": [_SAID]}
        tags = [{"name": name, **vote} for name in self.names]
        text = f"{next(_numbers)}: {'always check the file ' * 5}"
        added = {"type": "ADD", "section": "OTHERS", "text": text, "evidence": [_SAID]}
        answer = {"analysis": "what went well " * 20, "bullet_tags": tags, "reasoning": "new", "operations": [added]}
        return Reply(json.dumps(answer), answer, False, Usage(1, 1, 0, None), "at once", 0)


@dataclass(frozen=True, slots=True)
class Team:
    """A database on the server with `count` playbooks, and what a member does in one of them, another each time."""

    store: Store
    here: Store
    count: int
    chosen: random.Random

    def look(self) -> None:
        """Whether the replica is behind, ten times: one alone is over in a millisecond."""
        for _ in range(10):
            assert not replica.is_current(self.store, self._one().key, None)

    def refresh(self) -> None:
        """All that a new replica holds."""
        rows = replica.read(self.store, self._one().key)
        assert len(rows[metadata.tables["key_points"]]) >= POINTS

    def vote(self) -> None:
        """One vote, one revision."""
        edit.vote(self._one(), self.chosen.choice(_NAMES), "helpful")

    def learn(self) -> None:
        """One lesson: what the reflector said, two votes, a point, a revision and the cursor."""
        path, names = f"/transcripts/{next(_numbers)}.jsonl", tuple(self.chosen.sample(_NAMES, _CITED))
        places = (Place("user", "the user", _SAID),)
        chunk = Chunk(path, 0, 7_000, _SAID, names, path, "last", "first", places)
        done = learn.learn(self._one(), chunk, AtOnce(names[:2]), deadline=monotonic() + _DEADLINE_S)
        assert done.revision

    def show(self) -> None:
        """What a session was shown, as the worker brings it."""
        with self.store.write(self._one().key) as book:
            of_points = ", ".join(map(str, range(1, POINTS + 1)))
            given = book.now, "startup", 1, f"[{of_points}]", 0, "SessionStart"
            showing = memberships.Showing(f"session {next(_numbers)}", *given)
            memberships.add_showings(book, [showing])

    def _one(self) -> Project:
        key = _key(self.chosen.randint(1, self.count))
        return TeamProject(self.store, key, key, own=Project(self.here, key))

    def held(self) -> dict[str, tuple[int, int]]:
        """How many rows each table has, and how many bytes with its indexes."""
        with self.store.snapshot() as connection:
            _, sizes = dialect_of(connection).sizes(connection)
            rows = {name: select(func.count()).select_from(each) for name, each in metadata.tables.items()}
            return {name: (connection.scalar(query) or 0, sizes.get(name, 0)) for name, query in rows.items()}


def run(folder: Path, *, quick: bool) -> Figures:
    """Looks, refreshes, votes and lessons in databases of 10 to 10,000 playbooks, in turns."""
    counts, rounds = ((2, 4), 2) if quick else (COUNTS, 100)
    with ExitStack() as stack:
        server = postgres.Server()
        stack.callback(server.remove)
        here = stack.enter_context(sandbox.opened(folder))[0]
        teams = [Team(store, here, count, random.Random(count)) for count, store in _stores(server, counts, stack)]
        rows = []
        for what, work in (
            ("is the replica behind? (10 times)", Team.look),
            ("what a new replica holds", Team.refresh),
            ("what a session was shown", Team.show),
            ("a vote", Team.vote),
        ):
            rows.append(_row(what, work, teams, rounds))
        before = sum(count for count, _ in teams[-1].held().values())
        rows.append(_row("a lesson", Team.learn, teams, rounds))
        held = teams[-1].held()
        bytes_a_row = {name: size / count for name, (count, size) in held.items() if count > rounds / 2}
    return Figures(
        f"A team's server with few and with many playbooks of {POINTS} points and {LESSONS} lessons",
        ("", f"{counts[0]} playbooks", *(f"{count:,}" for count in counts[1:]), "most"),
        rows,
        (
            f"the first in time, the others as its multiples; aim: at most {AIM:g}x; medians of {rounds} rounds in "
            "turns, in another playbook each time",
            f"a lesson is {(sum(count for count, _ in held.values()) - before) / rounds:.0f} rows; bytes a row, with "
            f"what it takes of the indexes: {', '.join(f'{name} {each:,.0f}' for name, each in bytes_a_row.items())}",
        ),
    )


def _row(what: str, work: Callable[[Team], None], teams: list[Team], rounds: int) -> tuple[str, ...]:
    taken = alternate(*(lambda team=team: work(team) for team in teams), rounds=rounds)  # type: ignore[misc]
    ratios = [ratio(seconds, taken[0]) for seconds in taken[1:]]
    return what, milliseconds(taken[0]), *map(times, ratios), times(max(ratios))


def _stores(server: postgres.Server, counts: tuple[int, ...], stack: ExitStack) -> Iterator[tuple[int, Store]]:
    for count in counts:
        url = postgres.new_database(server=server.url)
        migrate.migrate(url.render_as_string(hide_password=False))
        store = stack.enter_context(open_store(url.render_as_string(hide_password=False)))
        with sandbox.living_in({}):
            _fill_one(store)
        with postgres.connected(url) as connection:
            connection.execute("SET session_replication_role = replica")  # the rows were let through once
            for table in metadata.sorted_tables:
                if "playbook_id" in table.columns or table is playbooks:
                    connection.execute(_again(table.name, [column.name for column in table.columns]), [count])
            connection.execute(f"SELECT setval('playbooks_id_seq', {count:d})")
            connection.execute("VACUUM ANALYZE")
        yield count, store


def _fill_one(store: Store) -> None:
    project = Project(store, _key(1))
    sandbox.fill(project, POINTS)
    team = Team(store, store, 1, random.Random(0))
    for _ in range(LESSONS):
        team.learn()


def _again(table: str, columns: list[str]) -> bytes:
    """A statement that makes the rows of the first playbook those of so many others."""
    new = {"playbook_id": "n", "id": "n" if table == "playbooks" else "id", "key": "replace(key, '/1', '/' || n)"}
    names, values = (
        ", ".join(f'"{each}"' for each in columns),
        ", ".join(new.get(each, f'"{each}"') for each in columns),
    )
    owner = "id" if table == "playbooks" else "playbook_id"
    return (
        f"INSERT INTO {table} ({names}) SELECT {values} FROM {table}, generate_series(2, %s) AS n WHERE {owner} = 1"
    ).encode()


def _key(number: int) -> str:
    return f"example.org/team/{number}"
