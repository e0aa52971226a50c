"""sde-bench from conversations to what a new session sees, without a model that could hide what the product does.

Conversations become transcripts. We count which sentences reach the reflector, and which decisions of a perfect
curator become points. Then a new session in the real client gets the bug report as its prompt: we count which points
reach its model.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.end_to_end import client_runs, sde_bench, sde_sample, write_path
from benchmarks.end_to_end.client_runs import ARMS, PLAYBOOK, SessionText
from benchmarks.end_to_end.sde_bench import Conversation, Task
from benchmarks.end_to_end.write_path import Operation, World
from benchmarks.figures import Figures
from benchmarks.quality.retrieval_corpus import part_of, read_points
from tests.client.install import ClientMissingError

_LOG = "".join(
    f"2026-11-20 10:{number // 60:02}:{number % 60:02} INFO worker {number} is idle\n" for number in range(900)
)
_OTHER_WORK = [["$", f"make part-{number}", _LOG[:9_000]] for number in range(60)]
_MOST_NOTES = 12
Turns = list[list[object]]


FORMS: Mapping[str, Callable[[str], str]] = {
    "as it was said": str,
    "each of the user's texts before a pasted log of 40,000 characters": lambda text: f"{text}\n{_LOG}",
    "each behind such a log": lambda text: f"{_LOG}\n{text}",
    "each in the middle of such a log": lambda text: f"{_LOG[: len(_LOG) // 2]}\n{text}\n{_LOG[len(_LOG) // 2 :]}",
}
LONG = "between 540,000 characters of other work"


def turns_of(talk: Conversation, form: Callable[[str], str] = str) -> Turns:
    """The steps of a session in which *talk* was said, the user's texts in that *form*."""
    return [["user", form(text)] if role == "user" else ["says", text] for role, text in talk.turns]


def run(folder: Path, *, quick: bool, corpus: Path | None = None) -> Figures:
    """Count what reaches the reflector, the playbook and the model. Without a *corpus* a made-up one is used."""
    tasks = sde_bench.read(corpus or sde_sample.write(folder / "sample"))
    if quick:
        tasks = tasks[:3]
    title = f"sde-bench without a model: {len(tasks)} tasks" + ("" if corpus else " of a made-up corpus")
    rows, notes = _reaching_the_reflector(tasks, folder, quick=quick)
    figures = [_learned(tasks, folder / "quoting")]
    try:
        figures.append(_in_client(tasks, folder, quick=quick))
    except ClientMissingError as missing:
        notes.append(f"What reaches the model wasn't measured: {missing}")
    return Figures(
        title, ("what reaches the reflector", "conversations", "sentences", "decisions"), rows, notes, figures
    )


def _reaching_the_reflector(tasks: Sequence[Task], folder: Path, *, quick: bool) -> tuple[list[list[str]], list[str]]:
    """A row for each form: conversations, their sentences that arrive, and the sentences of decisions that do."""
    talks = [(task, talk) for task in tasks for talk in task.conversations]
    rows, notes = [], []
    with write_path.opened(folder / "reflector") as world:
        for name, form in FORMS.items():
            seen = [world.learn(turns_of(talk, form), ()) for _, talk in talks]
            row, lost = _kept(name, talks, seen)
            rows.append(row)
            notes += [f"{name}: lost: {each}" for each in lost[: _MOST_NOTES if form is str else 0]]
        half = len(_OTHER_WORK) // (20 if quick else 2)
        work = _OTHER_WORK[:half], _OTHER_WORK[-half:]
        seen = [world.learn([["user", "Go on."], *work[0], *turns_of(talk), *work[1]], ()) for _, talk in talks]
        rows.append(_kept(LONG, talks, seen)[0])
    return rows, notes


def _kept(name: str, talks: Sequence[tuple[Task, Conversation]], seen: Sequence[str]) -> tuple[list[str], list[str]]:
    lost, total, decisions = [], 0, 0
    for (task, talk), text in zip(talks, seen, strict=True):
        text = " ".join(text.split())
        total += len(talk.sentences())
        lost += [each for each in talk.sentences() if each not in text]
        decisions += talk.closest(task.policy, 1)[0] in text
    kept = total - len(lost)
    return [name, f"{len(talks)}", f"{kept:,} of {total:,}", f"{decisions} of {len(talks)}"], lost


def teach(world: World, tasks: Sequence[Task], *, role: str = "user") -> dict[str, str]:
    """Let *world* learn from all conversations, as a perfect curator would; the point of each place at the end.

    The evidence is quoted from what *role* said. A place whose point is there already gets it reworded.
    """
    points: dict[str, str] = {}
    for task in sorted(tasks, key=lambda task: len(task.conversations), reverse=True):
        *before, last = task.conversations
        for talk in before:
            world.learn(turns_of(talk), [_operation(points.get(task.place, ""), task.old_point, talk, role)])
            points[task.place] = task.old_point
        if points.get(task.place) != task.point:
            world.learn(turns_of(last), [_operation(points.get(task.place, ""), task.point, last, role)])
            points[task.place] = task.point
    return points


def _operation(old: str, text: str, talk: Conversation, role: str) -> Operation:
    quotes = talk.closest(text, 3, role)
    return {"type": "UPDATE" if old else "ADD", "old": [old] if old else [], "text": text, "evidence": quotes}


def _learned(tasks: Sequence[Task], folder: Path) -> Figures:
    rows = []
    for role in ("user", "assistant"):
        with write_path.opened(folder / role) as world:
            points = teach(world, tasks, role=role)
            live = world.texts()
        old = {task.old_point for task in tasks} - {""}
        there = sum(point in live for point in points.values())
        rows.append((f"quotes of the {role}", f"{there} of {len(points)}", f"{len(old & live)} of {len(old)}"))
    return Figures(
        "What a perfect curator's decisions become", ("evidence", "decisions that are points", "old ones left"), rows
    )


def _in_client(tasks: Sequence[Task], folder: Path, *, quick: bool) -> Figures:
    rows = []
    plan = [(0, ARMS)] if quick else [(0, (PLAYBOOK,)), (1_100, ARMS)]
    for size, arms in plan:
        with write_path.opened(folder / f"client-{size}", tracked={task.module: "pass\n" for task in tasks}) as world:
            points = teach(world, tasks)
            world.add([point.text for point in part_of(read_points("named"), (), size)])
            for arm in arms:
                answers = client_runs.ask_all(world, tasks, arm)
                rows.append(_row(f"{arm}, {size:,} other points", tasks, points, answers))
    return Figures(
        "What reaches the model in the real client",
        (
            "arm",
            "sessions",
            "the decision at the start",
            "or with the prompt",
            "or with the file",
            "an old decision",
            "characters",
        ),
        rows,
    )


def _row(name: str, tasks: Sequence[Task], points: Mapping[str, str], told: Iterable[SessionText]) -> tuple[str, ...]:
    told = list(told)
    both = list(zip(tasks, told, strict=True))
    early = sum(points[task.place] in each.at_start for task, each in both)
    first = sum(points[task.place] in each.with_prompt for task, each in both)
    later = sum(points[task.place] in each.with_prompt + each.with_file for task, each in both)
    old = sum(bool(task.old_point) and task.old_point in each.with_prompt + each.with_file for task, each in both)
    units = sum(len(each.added) for each in told) // max(len(told), 1)
    amended = sum(bool(task.old_point) for task in tasks)
    of = f" of {len(told)}"
    return name, f"{len(told)}", f"{early}{of}", f"{first}{of}", f"{later}{of}", f"{old} of {amended}", f"{units:,}"
