"""What members of a team wait for where their server, or the way to it, isn't well: commands, hooks, and what is said.

Five members take turns; each command is a process of its own.
"""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import URL

from benchmarks import sandbox
from benchmarks.figures import Figures, alternate, ratio, times
from playbook_db.services.project import Project
from playbook_db.services.sharing import joining
from playbook_db.store import migrate
from playbook_db.store.engine import open_store
from tests import postgres
from tests.link import Link

NAME = "github.com/org/shop"
MEMBERS, POINTS, ROUNDS = 5, 60, 12
AIM = 1.25  # times what a hook takes where all is well, at most
COMMANDS = (
    "list", "search tests", "show oth-014", "render", "vote oth-014 helpful", "log", "stats", "team status",
    "status",
)  # fmt: skip
HOOKS = (
    ("inject", {"hook_event_name": "SessionStart", "source": "startup"}),
    ("remind", {"hook_event_name": "UserPromptSubmit", "prompt": "run the tests of the parser"}),
    ("enqueue", {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"}),
)
Trouble = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Ended:
    """How long a command took, and what it said: how it ended, and where that came from."""

    took_s: float
    said: str


def run(folder: Path, *, quick: bool) -> Figures:
    """Each command in each kind of trouble; then the hooks, beside those of a member whose server is well."""
    server = postgres.Server()
    with ExitStack() as stack:
        stack.callback(server.remove)
        url = postgres.new_database(server=server.url)
        migrate.migrate(url.render_as_string(hide_password=False))
        link = stack.enter_context(Link(url))
        homes = [folder / f"member-{number}" for number in range(MEMBERS)]
        for home in homes:
            _join(home, link)
        members = itertools.cycle(homes)
        troubles = dict(_troubles(server, url, link))
        if quick:
            troubles = {name: troubles[name] for name in ("well", "cut")}
        ended: dict[str, list[Ended]] = {command: [] for command in COMMANDS}
        for trouble in troubles.values():
            with trouble():
                for command in COMMANDS:
                    ended[command].append(_run(next(members), command))
        hooks = _hooks(homes, link, 2 if quick else ROUNDS)
    rows = [(command, *(f"{each.took_s:.1f} s, {each.said}" for each in ended[command])) for command in COMMANDS]
    return Figures(
        f"Commands of {MEMBERS} members whose server isn't well",
        ("", *troubles),
        rows,
        (
            "replica: the points of this machine's replica, with its age on stderr; else the message's beginning",
            *(f"hook {name}, with the link cut: {times(value)} of well (aim: {AIM:g}x)" for name, value in hooks),
        ),
    )


def _join(home: Path, link: Link) -> None:
    with sandbox.opened(home) as (_, own), joining.joining(own, link.text, NAME) as begun:
        if begun.preview().is_new:
            with open_store(link.text) as store:
                sandbox.fill(Project(store, NAME), POINTS)
        begun.finish()


def _troubles(server: postgres.Server, url: URL, link: Link) -> Iterator[tuple[str, Trouble]]:
    @contextmanager
    def stopped() -> Iterator[None]:
        server.stop("immediate")
        try:
            yield
        finally:
            server.start()

    @contextmanager
    def frozen() -> Iterator[None]:
        link.silent_from = b"BEGIN"  # of each connection anew: what it says after the log-in
        try:
            yield
        finally:
            link.silent_from = None

    @contextmanager
    def locked() -> Iterator[None]:
        with postgres.connected(url) as other:
            other.execute("BEGIN")
            other.execute("LOCK TABLE key_points, heads, revisions IN ACCESS EXCLUSIVE MODE")
            yield
            other.execute("ROLLBACK")

    @contextmanager
    def cut() -> Iterator[None]:
        link.set("silent")  # packets are lost without a word
        yield
        link.set("open")

    @contextmanager
    def slow(delay_s: float, loss: float = 0.0) -> Iterator[None]:
        link.delay_s, link.loss = delay_s, loss
        yield
        link.delay_s, link.loss = 0.0, 0.0

    yield "well", nullcontext
    yield "stopped", stopped
    yield "frozen", frozen
    yield "locked", locked
    yield "cut", cut
    for trip_s in (0.02, 0.08, 2.0):
        yield f"{trip_s * 1000:g} ms", lambda trip_s=trip_s: slow(trip_s / 2)  # type: ignore[misc]
    yield "30 % lost", lambda: slow(0.01, 0.3)


def _run(home: Path, command: str) -> Ended:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "playbook_db", *command.split()],
        env=sandbox.environment(home), cwd=sandbox.project_folder(home), capture_output=True, text=True,
    )  # fmt: skip
    took_s = time.monotonic() - began
    if done.returncode == 0:
        return Ended(took_s, "replica" if "this machine's replica" in done.stderr else "well")
    return Ended(took_s, " ".join(done.stderr.split())[:160])


def _hooks(homes: list[Path], link: Link, rounds: int) -> list[tuple[str, float]]:
    """How many times as long each hook takes with the link cut."""

    def run(name: str, event: object, state: str) -> Callable[[], object]:
        def once() -> None:
            link.set(state)  # type: ignore[arg-type]
            subprocess.run(
                [sys.executable, "-I", "-S", str(sandbox.ROOT / "hooks" / f"{name}.py"), "user", "/bin/true"],
                input=json.dumps(event), env=sandbox.environment(homes[0]) | {"PLAYBOOK_NO_SETUP": "1"},
                cwd=sandbox.project_folder(homes[0]), capture_output=True, text=True, check=True,
            )  # fmt: skip

        return once

    found = []
    for name, fields in HOOKS:
        event = {"session_id": "s-1", "transcript_path": "/x.jsonl", "cwd": str(homes[0] / "project"), **fields}
        healthy, away = alternate(run(name, event, "open"), run(name, event, "cut"), rounds=rounds)
        found.append((name, ratio(away, healthy)))
    link.set("open")
    return found
