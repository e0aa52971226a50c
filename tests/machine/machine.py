"""Random steps change a playbook, which must agree with the model after each step.

Hypothesis chooses the steps, and shortens a history that fails. Two worlds, a file and a server, must answer equally.
"""

import difflib
import hashlib
import json
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from playbook_db import contract
from playbook_db.errors import PlaybookError
from playbook_db.services import opening
from playbook_db.services import project as project_service
from playbook_db.services.playbook import edit
from playbook_db.services.reading import sql as sql_service
from tests import databases
from tests.faults.cases import Ended, ScriptedModel
from tests.machine import program
from tests.machine.model import SLUGS, TITLES, Model, Point, State, live
from tests.machine.world import Clock, World, ask_scripted

_CHECK_EVERY = 25
_SLUGS_OF_TITLES = {title: slug for slug, title in TITLES.items()}
_QUESTIONS = sql_service.parse_questions((Path(__file__).parents[2] / "docs" / "sql.md").read_text("utf-8"))
_OLDER = Path(__file__).parents[1] / "frozen" / "0008.db"
_POINTS = """
SELECT name, section, text, helpful, harmful, retired_in IS NULL, forgotten FROM key_points WHERE playbook_id = 1
"""
# Commands that only read; ONE is a point's name.
_LOOKS = (
    ("list",), ("list", "--retired"), ("list", "--proposed"), ("list", "--sort", "votes"), ("list", "--sort", "age"),
    ("show", "ONE"), ("why", "ONE"), ("log",), ("log", "ONE"), ("stats",), ("sessions",), ("jobs", "--all"),
    ("review",), ("dedup",), ("diff", "1"), ("search", "rule", "says"), ("render",), ("undo", "--dry-run"),
    ("prune", "--dry-run"), ("status",), ("restore", "--at", "1", "--dry-run"),
)  # fmt: skip

_USER = ((), ("--user",))  # for the user's own playbook
_TEXTS = st.integers(1, 40).map(lambda number: f"rule w{number}x says so")  # few, so that some repeat
_SLUGS = st.sampled_from(SLUGS)
_TAGS = st.sampled_from(("helpful", "harmful", "harmful", "neutral"))
_PICK = st.integers(0, 10_000)  # which of the existing points
_ANYONES = st.sampled_from((False, False, True))  # whether it is the user's own playbook
_WAYS = st.sampled_from(("command", "service"))


def has_points(machine: "PlaybookMachine") -> bool:
    return bool(machine.project.names())


class PlaybookMachine(RuleBasedStateMachine):
    """A project's playbook and the user's own, in one world or in two."""

    total = 0  # steps of all histories
    digest = hashlib.sha256()  # of all commands and their answers
    server: Callable[[], str] | None = None  # creates an empty database on a server
    twins = False  # whether there are two worlds

    def __init__(self) -> None:
        super().__init__()
        self.worlds = [World()]
        if self.twins:
            assert self.server is not None
            self.worlds.append(World(type(self).server()))  # type: ignore[misc]
        self.patch = pytest.MonkeyPatch()
        self.clock = Clock()
        self.clock.set_in(self.patch)
        ask_scripted(self.patch, lambda: self.script)
        self.script = ScriptedModel()
        self.project, self.own = Model(), Model(prefix="u")
        self.steps = 0
        self.own_head = 0  # of the user's own playbook, at the last comparison
        self.old: tuple[list[Any], State] | None = None  # what another program has read, and the state then
        self.backup: tuple[Model, Model] | None = None
        self.moved: set[str] = set()  # points that moved between the playbooks

    def teardown(self) -> None:
        self.patch.undo()
        for world in self.worlds:
            world.close()

    # The worlds.

    def run(self, *arguments: str) -> Ended:
        """Run `playbook ARGUMENT ...` in each world, with equal answers."""
        answers = [world.run(*arguments) for world in self.worlds]
        PlaybookMachine.digest.update(repr((arguments, answers[0])).encode())
        for answer in answers[1:]:
            assert answer == answers[0], "\n".join((*arguments, *difflib.unified_diff(*map(_lines, answers), n=1)))
        return answers[0]

    def succeed(self, *arguments: str) -> Ended:
        answer = self.run(*arguments)
        assert answer.code == 0, (arguments, answer)
        return answer

    def answer(self, *arguments: str) -> Any:
        """The JSON document that a command prints."""
        return json.loads(self.succeed(*arguments).out)

    def do(self, work: Callable[[World], Any]) -> list[Any]:
        return [world.do(partial(work, world)) for world in self.worlds]

    def write(self, name: str, content: object) -> str:
        """Write a JSON file in each world. Returns its path as an argument."""
        for world in self.worlds:
            (world.root / name).write_text(json.dumps(content), encoding="utf-8")
        return f"ROOT/{name}"

    # The model.

    def model(self, *, is_users: bool) -> Model:
        return self.own if is_users else self.project

    def change(self, change: Callable[[Model], object], *arguments: str, is_users: bool = False) -> None:
        """Run a command that makes this *change*, or is refused as in the model."""
        self.by(change, lambda: self.run(*_USER[is_users], *arguments), is_users=is_users)

    def by(self, change: Callable[[Model], object], act: Callable[[], object], *, is_users: bool = False) -> None:
        """Do something that makes this *change* in one revision, or nothing if the model refuses."""
        model = self.model(is_users=is_users)
        is_done = model.attempt(change)
        answer = act()
        revisions = self.head(is_users=is_users) - model.head
        if isinstance(answer, Ended):
            assert answer.code in (0, 1), answer
        if model.points != model.states[-1]:
            assert revisions == 1, (revisions, answer)
        else:  # a neutral vote or another order, which the model doesn't know, may be a revision
            assert revisions in ((0, 1) if is_done else (0,)), (is_done, revisions, answer)
        if revisions:
            model.commit()

    def head(self, *, is_users: bool) -> int:
        log = self.answer(*_USER[is_users], "log", "-n", "1", "--json")
        return int(log[0]["revision"]) if log else 0

    def pick(self, number: int, *, is_users: bool = False, live: bool = True) -> str:
        """The name of a point, if there is any."""
        names = self.model(is_users=is_users).names(live=live)
        return names[number % len(names)] if names else ""

    # The steps.

    @initialize(slug=_SLUGS, is_old=st.booleans())
    def begin(self, slug: str, is_old: bool) -> None:
        """Empty, or with the database of an older version, which an older program has open."""
        if is_old:
            self.upgrade()
        self.succeed("init")
        self.succeed("mirror", "on")
        self.add("the first of all", slug, is_users=False, way="command")
        self.add("the first of mine", slug, is_users=True, way="command")

    def upgrade(self) -> None:
        """Use the playbook of an older database. A program that has it open can go on reading."""
        source = World()
        databases.put_database(source.path, _OLDER.read_bytes())
        with closing(sqlite3.connect(source.path)) as older:
            older.execute("PRAGMA journal_mode = WAL")
            older.execute("BEGIN")
            rows = older.execute(_POINTS).fetchall()
            (self.project.base,) = older.execute("SELECT max(number) FROM revisions WHERE playbook_id = 1").fetchone()
            source.succeed("db", "upgrade")
            older.execute("COMMIT")
            assert older.execute(_POINTS).fetchall() == rows
        for name, section, text, helpful, harmful, is_live, is_forgotten in rows:
            slug, number = name.split("-")
            self.project.points[name] = Point(section, text, helpful, harmful, bool(is_live))
            self.project.highest[slug] = max(self.project.highest[slug], int(number))
            self.project.forgotten |= {name} if is_forgotten else set()
        self.project.states = [{}] * self.project.base + [dict(self.project.points)]
        for world in self.worlds:
            world.succeed("db", "transfer", source.url, world.url)
            world.succeed("project", "move", "/work/harbour")
        source.close()

    @rule(seconds=st.sampled_from((1, 3600, 86_400, 20 * 86_400, -5, -7200, -3 * 86_400)))
    def move_the_clock(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule(text=_TEXTS, slug=_SLUGS, is_users=_ANYONES, way=_WAYS)
    def add(self, text: str, slug: str, is_users: bool, way: str) -> None:
        act = ("add", text, "--section", slug), lambda project: edit.add(project, text, section=TITLES[slug])
        self.one_way(way, lambda model: model.add(text, slug), *act, is_users=is_users)

    @rule(pick=_PICK, tag=_TAGS, times=st.sampled_from((1, 1, 3)), is_users=_ANYONES, way=_WAYS)
    def vote(self, pick: int, tag: str, times: int, is_users: bool, way: str) -> None:
        """Perhaps three times, so that pruning has something to do."""
        name = self.pick(pick, is_users=is_users)
        act = ("vote", name, tag), lambda project: edit.vote(project, name, tag)
        for _ in range(times if name else 0):
            self.one_way(way, lambda model: model.vote(name, tag), *act, is_users=is_users)

    def one_way(
        self,
        way: str,
        change: Callable[[Model], object],
        command: tuple[str, ...],
        serve: Callable[[project_service.Project], object],
        *,
        is_users: bool,
    ) -> None:
        """Make a *change* by a command, or by the service that it calls."""

        def call(world: World) -> object:
            with opening.open_project(world.url, str(world.folder), notify=lambda line: None) as project:
                try:
                    return serve(project_service.Project.of_user(project.store) if is_users else project)
                except PlaybookError as error:
                    return str(error)

        if way == "command":
            self.change(change, *command, is_users=is_users)
        else:
            self.by(change, lambda: self.do(call), is_users=is_users)

    @rule(pick=_PICK, text=_TEXTS, is_users=_ANYONES)
    def reword(self, pick: int, text: str, is_users: bool) -> None:
        if name := self.pick(pick, is_users=is_users):
            self.change(lambda model: model.reword(name, text), "edit", name, "--text", text, is_users=is_users)

    @rule(pick=_PICK, slug=_SLUGS, is_users=_ANYONES)
    def move_to_a_section(self, pick: int, slug: str, is_users: bool) -> None:
        if name := self.pick(pick, is_users=is_users):
            text = self.model(is_users=is_users).points[name].text
            change = ("edit", name, "--text", text, "--section", slug)
            self.change(lambda model: model.change(name, slug=slug), *change, is_users=is_users)

    @rule(pick=_PICK, is_users=_ANYONES)
    def retire(self, pick: int, is_users: bool) -> None:
        if name := self.pick(pick, is_users=is_users):
            self.change(lambda model: model.retire(name), "retire", name, is_users=is_users)

    @rule(pick=_PICK, is_users=_ANYONES)
    def restore(self, pick: int, is_users: bool) -> None:
        if name := self.pick(pick, is_users=is_users, live=False):
            self.change(lambda model: model.restore(name), "restore", name, is_users=is_users)

    @rule(is_users=_ANYONES)
    def prune(self, is_users: bool) -> None:
        self.change(Model.prune, "prune", is_users=is_users)

    @rule(pick=_PICK, length=st.integers(1, 4), is_users=_ANYONES)
    def undo(self, pick: int, length: int, is_users: bool) -> None:
        """Any revisions, also undos, and several at once."""
        model = self.model(is_users=is_users)
        if model.head == model.base:
            return
        first = model.base + 1 + pick % (model.head - model.base)
        last = min(first + length - 1, model.head)
        self.reverse(first, last, "undo", f"{first}..{last}", is_users=is_users)

    @rule(is_users=_ANYONES)
    def undo_the_last(self, is_users: bool) -> None:
        head = self.model(is_users=is_users).head
        self.reverse(head, head, "undo", is_users=is_users)

    @rule(pick=_PICK, is_users=_ANYONES)
    def go_back(self, pick: int, is_users: bool) -> None:
        """To a revision: all later ones are undone."""
        model = self.model(is_users=is_users)
        number = model.base + 1 + pick % max(1, model.head - model.base)
        if number < model.head:
            self.reverse(number + 1, model.head, "restore", "--at", str(number), is_users=is_users)

    def reverse(self, first: int, last: int, *arguments: str, is_users: bool) -> None:
        model = self.model(is_users=is_users)
        before = model.head
        self.change(lambda model: model.undo(first, last), *arguments, is_users=is_users)
        if model.head > before:
            model.undos[model.head] = range(first, last + 1)

    @precondition(has_points)
    @rule(picks=st.tuples(_PICK, _PICK), texts=st.tuples(_TEXTS, _TEXTS, _TEXTS), slug=_SLUGS)
    def batch(self, picks: tuple[int, int], texts: tuple[str, str, str], slug: str) -> None:
        """A curator's operations, of which some are skipped."""
        names = list(dict.fromkeys(self.pick(pick) for pick in picks))
        operations: list[dict[str, Any]] = [
            {"type": "ADD", "text": texts[0], "section": TITLES[slug]},
            {"type": "UPDATE", "target_id": names[0], "text": texts[1]},
            {"type": "MERGE", "source_ids": names, "merged_text": texts[2]}
            if len(names) == 2
            else {"type": "DELETE", "target_id": names[0]},
            {"type": "DELETE", "target_id": "pat-999"},
        ]
        steps: list[Callable[[Model], object]] = [
            lambda model: model.add(texts[0], slug),
            lambda model: model.reword(names[0], texts[1]),
            lambda model: model.merge(names, texts[2]) if len(names) == 2 else model.retire(names[0]),
        ]
        self.change(partial(_each_that_can, steps), "apply", self.write("batch.json", operations))

    @precondition(has_points)
    @rule(pick=_PICK, votes=st.integers(0, 5), text=_TEXTS, slug=_SLUGS)
    def import_a_file(self, pick: int, votes: int, text: str, slug: str) -> None:
        """With other votes on a point, of which the higher count wins, and a new point."""
        name, new = self.pick(pick), self.project.next_name(slug)
        point = self.project.points[name]
        if text == point.text or len(self.project.saying(text)) > 1:
            return
        entries = {each: [] for each in TITLES.values()}  # type: dict[str, list[Any]]
        entries[TITLES[point.slug]].append({"name": name, "text": point.text, "helpful": votes, "harmful": 0})
        entries[TITLES[slug]].append({"name": new, "text": text, "helpful": 1, "harmful": 0})

        def change(model: Model) -> None:
            model.change(name, helpful=max(votes, point.helpful))
            for same in model.saying(text):
                model.change(same, helpful=max(1, model.points[same].helpful))
            earlier = {each.text for state in (*model.states, model.points) for each in state.values()}
            if not model.saying(text) and text not in earlier:  # a retired or reworded text stays so
                model.add(text, slug, helpful=1)

        self.change(change, "import", self.write("import.json", {"version": "1.0", "sections": entries}))

    @precondition(has_points)
    @rule(pick=_PICK, votes=st.integers(0, 5), text=_TEXTS)
    def replace_by_a_file(self, pick: int, votes: int, text: str) -> None:
        """By one without one of the points, with other votes, and with a new point."""
        content = self.answer("export")
        dropped = self.pick(pick)
        for entries in content["sections"].values():
            entries[:] = [{**entry, "helpful": votes} for entry in entries if entry["name"] != dropped]
        wanted = _state(content)
        if not any(point.text == text for point in wanted.values()):
            name = self.project.next_name("oth")
            content["sections"]["OTHERS"].append({"name": name, "text": text, "helpful": 1, "harmful": 0})
            wanted[name] = Point("oth", text, 1, 0)
        file = self.write("replacement.json", content)
        self.change(lambda model: model.become(wanted), "import", file, "--replace")

    @rule(pick=_PICK, is_users=_ANYONES)
    def forget(self, pick: int, is_users: bool) -> None:
        if name := self.pick(pick, is_users=is_users, live=pick % 2 == 0):
            self.change(lambda model: model.forget(name), "forget", name, "--yes", is_users=is_users)
            self.backup = self.old = None  # they still have its words

    @rule(pick=_PICK, is_users=_ANYONES)
    def move_to_the_other_playbook(self, pick: int, is_users: bool) -> None:
        """Promote a point into the user's own playbook, or demote it into the project's."""
        name = self.pick(pick, is_users=is_users)
        if not name or name in self.moved:
            return
        source, target = self.model(is_users=is_users), self.model(is_users=not is_users)
        point = source.points[name]
        saying = target.saying(point.text)
        if len(saying) > 1:
            return
        if saying:
            (same,) = saying
            helpful, harmful = target.points[same].helpful, target.points[same].harmful
            target.change(same, helpful=max(helpful, point.helpful), harmful=max(harmful, point.harmful))
        else:
            same = target.give(point)
        source.retire(name)
        self.moved |= {name, same}
        answer = self.succeed("demote" if is_users else "promote", name)
        for is_, model in ((is_users, source), (not is_users, target)):
            revisions = self.head(is_users=is_) - model.head
            assert revisions == (model.points != model.states[-1]), answer
            if revisions:
                model.commit()

    # Sessions.

    @precondition(has_points)
    @rule(pick=_PICK, tag=_TAGS, text=_TEXTS, is_queued=st.booleans())
    def learn(self, pick: int, tag: str, text: str, is_queued: bool) -> None:
        """From a session in which the user says it, at once or by the worker."""
        name = self.pick(pick)
        said = f"Please know: {text}. It is about: {self.project.points[name].text}"
        self.script = ScriptedModel(name, tag, text=text, said=said)
        for world in self.worlds:
            path = world.session(said, cites=name)
            if is_queued:
                world.queue(path)
        steps: list[Callable[[Model], object]] = [
            lambda model: model.vote(name, tag), lambda model: model.add(text, "oth"), Model.prune,
        ]  # fmt: skip
        command = ("work",) if is_queued else ("learn", f"ROOT/{path}")
        self.change(partial(_each_that_can, steps), *command)

    @rule(number=st.integers(1, 20))
    def propose(self, number: int) -> None:
        """A session's tool proposes a point, which changes nothing."""
        text = f"proposal v{number}v waits"
        said = self.do(lambda world: world.tool("add", text=text))
        expected = "proposed as "
        if text in self.project.rejected:
            expected = "The user has rejected this before"
        elif self.project.saying(text):
            expected = "the playbook says this already"
        else:
            self.project.proposed.add(text)
        assert len({*said}) == 1, said
        assert expected in said[0], said

    @precondition(lambda self: self.project.proposed)
    @rule(pick=_PICK, accepts=st.booleans())
    def decide(self, pick: int, accepts: bool) -> None:
        waiting = {each["text"]: each["id"] for each in self.answer("review", "--json")}
        assert waiting.keys() == self.project.proposed, waiting
        text = sorted(waiting)[pick % len(waiting)]
        self.project.proposed.remove(text)
        if not accepts:
            self.project.rejected.add(text)

        def accept(model: Model) -> None:
            model.add(text, "oth")
            model.prune()  # as after each batch

        option = "--accept" if accepts else "--reject"
        self.change(accept if accepts else lambda model: None, "review", option, str(waiting[text]))

    # Files.

    @precondition(has_points)
    @rule(pick=_PICK, text=_TEXTS)
    def edit_the_mirror(self, pick: int, text: str) -> None:
        """The next command reads it."""
        name = self.pick(pick)
        if self.project.saying(text):
            return
        title = TITLES[self.project.points[name].slug]
        for world in self.worlds:
            content = json.loads(world.mirror.read_bytes())
            next(each for each in content["sections"][title] if each["name"] == name)["text"] = text
            world.mirror.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        self.change(lambda model: model.reword(name, text), "list")

    @rule()
    def read_by_a_program(self) -> None:
        self.old = self.do(lambda world: contract.load_playbook()), dict(self.project.live)

    @precondition(lambda self: self.old)
    @rule(pick=_PICK, tag=_TAGS, text=_TEXTS)
    def save_by_a_program(self, pick: int, tag: str, text: str) -> None:
        """It votes and adds a point in its old dict. Changes by others stay. Sometimes it is a second process."""
        assert self.old is not None
        contents, then = self.old
        self.old = None
        names = sorted(name for name in then if name in self.project.live)
        if not names or any(point.text == text for point in then.values()):
            return
        name = names[pick % len(names)]
        # A vote counts for the point that has the text now, or else the name.
        counted = self.project.saying(then[name].text) or [name]
        if len(counted) > 1:
            return

        def save(world: World) -> None:
            content = contents[self.worlds.index(world)]
            if pick % 4 == 0:
                given = json.dumps((self.clock.now.timestamp(), content, name, tag, text))
                command = [sys.executable, program.__file__]
                subprocess.run(command, input=given, text=True, check=True, capture_output=True)
            else:
                program.vote_and_add(content, name, tag, text)

        steps: list[Callable[[Model], object]] = [
            lambda model: model.vote(*counted, tag), lambda model: model.add(text, "oth"),
        ]  # fmt: skip
        self.by(partial(_each_that_can, steps), lambda: self.do(save))

    @precondition(lambda self: not self.twins)
    @rule()
    def back_up(self) -> None:
        (self.worlds[0].root / "kept.db").unlink(missing_ok=True)
        self.succeed("backup", "ROOT/kept.db")
        self.backup = self.project.copy(), self.own.copy()

    @precondition(lambda self: self.backup)
    @rule()
    def go_back_to_the_backup(self) -> None:
        assert self.backup is not None
        self.succeed("restore-backup", "ROOT/kept.db", "--yes")
        (self.project, self.own), self.old, self.backup = self.backup, None, None

    @precondition(lambda self: not self.twins)
    @rule(uses_server=st.booleans())
    def transfer(self, uses_server: bool) -> None:
        """To another database, perhaps on a server, and back into a file."""
        world = self.worlds[0]
        there = f"sqlite:///{world.root / 'there.db'}"
        if uses_server and self.server is not None:
            there = type(self).server()  # type: ignore[misc]
        back = f"sqlite:///{world.root / f'back-{self.steps}.db'}"
        for source, target in ((world.url, there), (there, back)):
            world.succeed("db", "transfer", source, target)
        world.url = back
        (world.root / "there.db").unlink(missing_ok=True)

    @rule(pick=_PICK, look=st.sampled_from(_LOOKS), is_users=_ANYONES)
    def look(self, pick: int, look: tuple[str, ...], is_users: bool) -> None:
        """Reading changes nothing."""
        if self.twins and look[0] == "status":  # it reports files that only hooks read
            return
        name = self.pick(pick, is_users=is_users, live=pick % 2 == 0) or "pat-001"
        arguments = [name if argument == "ONE" else argument for argument in look]
        arguments += [] if arguments[0] == "render" else ["--json"]
        has_user = arguments[0] not in ("sessions", "jobs", "status")
        self.change(lambda model: None, *arguments, is_users=is_users and has_user)

    # What must agree.

    @invariant()
    def agrees(self) -> None:
        if not self.project.head:
            return
        self.steps += 1
        PlaybookMachine.total += 1
        chance = random.Random(self.steps)
        exported = self.agrees_on(self.project, chance, at=3)
        assert {world.mirror.read_text("utf-8") for world in self.worlds} == {exported}
        if self.own.head != self.own_head or self.steps % 4 == 0:
            self.agrees_on(self.own, chance, at=1, is_users=True)
            self.own_head = self.own.head
        if self.steps % _CHECK_EVERY == 0:
            for world in self.worlds:
                world.succeed("db", "check")
            for question in _QUESTIONS if self.twins else ():
                self.run("sql", "--json", re.sub(r"'now'", "'2026-03-05'", question.sql))

    def agrees_on(self, model: Model, chance: random.Random, *, at: int, is_users: bool = False) -> str:
        """Compare a playbook's points, history, state after *at* revisions, and index. Returns the export."""
        option = _USER[is_users]
        exported = self.run(*option, "export").out
        assert _state(json.loads(exported)) == model.live, exported
        assert self.head(is_users=is_users) == model.head
        for number in sorted({chance.randint(model.base + 1, model.head) for _ in range(at)}):
            then = _state(self.answer(*option, "at", str(number), "--json"))
            assert then == live(model.states[number]), number
        name = chance.choice(model.names() or [""])
        for word in re.findall(r"\b[vw]\d+\w\b", model.points[name].text if name else ""):
            found = self.answer(*option, "search", word, "--json", "-n", "100")
            assert name in [each["name"] for each in found], (word, found)
        return exported


def _lines(answer: Ended) -> list[str]:
    return [str(answer.code), *answer.out.splitlines(), *answer.err.splitlines()]


def _each_that_can(steps: list[Callable[[Model], object]], model: Model) -> None:
    for step in steps:
        model.attempt(step)


def _state(content: dict[str, Any]) -> State:
    """The points of an exported playbook."""
    return {
        entry["name"]: Point(_SLUGS_OF_TITLES[title], entry["text"], entry["helpful"], entry["harmful"])
        for title, entries in content["sections"].items()
        for entry in entries
    }


def seeds() -> Iterator[tuple[int, int, bool]]:
    """Seeds that failed once: the number, the steps, and whether there were two worlds."""
    for line in Path(__file__).with_name("seeds.txt").read_text("utf-8").splitlines():
        number, steps, *twins = line.split()
        yield int(number), int(steps), twins == ["twins"]
