"""Does the playbook do harm? Cases whose right answer is known, from transcripts to what a session is shown.

Each case is of one kind. *Absent*: no point says what the prompt asks for. *Superseded*: a later session changes the
rule. *Contradictory*: two sessions say opposite things, and nothing tells which holds. *Adjacent*: a true rule about
something near. The curator is perfect, so the figures judge everything but the model.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.end_to_end import write_path
from benchmarks.end_to_end.write_path import Operation, World
from benchmarks.figures import Figures
from benchmarks.quality import retrieval_corpus

CASES = Path(__file__).with_name("harm_cases.json")
KINDS = ("absent", "superseded", "contradictory", "adjacent")
JOINED = "contradictory, in one point"
OTHERS = (0, 60)  # other points in the playbook
START = "the start"


@dataclass(frozen=True, slots=True)
class Session:
    """A session's `turns`, and the `operations` of a perfect curator. If it contradicts an earlier one, `joined` are
    the operations that put both sides into one point."""

    turns: Sequence[Sequence[Any]]
    operations: Sequence[Operation]
    joined: Sequence[Operation] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """Sessions in their order, and the moments at which a later session may be shown something.

    `shown` are the texts that hold at the end, `never` those that no longer do. `tracked` are files in git.
    """

    id: str
    kind: str
    about: str
    sessions: Sequence[Session]
    asks: Sequence[Mapping[str, str]]
    shown: Sequence[str] = ()
    never: Sequence[str] = ()
    tracked: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to: whether all that holds is a point, in how many `moments` something was asked, at how many
    the right point came (`helped`), and what was wrong."""

    case: Case
    is_learned: bool
    moments: int
    helped: int
    faults: Sequence[str]


def read_cases(path: Path = CASES) -> list[Case]:
    """Our own cases. A contradiction comes twice: its sides as two points, and joined in one."""
    cases = []
    for row in json.loads(path.read_text("utf-8")):
        sessions = [
            Session(each["turns"], each["operations"], [each["joined"]] if "joined" in each else [])
            for each in row.pop("sessions")
        ]
        cases += with_both_forms(Case(**row, sessions=sessions))
    return cases


def with_both_forms(case: Case) -> list[Case]:
    """*case* with the texts that hold at its end; if it is a contradiction, joined in one point, too."""
    if case.kind == "superseded":
        return [case]
    added = [each["text"] for session in case.sessions for each in session.operations]
    cases = [_with(case, case.kind, case.sessions, added, ())]
    if joined := [each["text"] for session in case.sessions for each in session.joined]:
        sessions = [Session(each.turns, each.joined or each.operations) for each in case.sessions]
        cases.append(_with(case, JOINED, sessions, joined, added))
    return cases


def _with(case: Case, kind: str, sessions: Sequence[Session], shown: Sequence[str], never: Sequence[str]) -> Case:
    return Case(case.id, kind, case.about, sessions, case.asks, shown, never, case.tracked)


def play(case: Case, folder: Path, *, others: Sequence[str]) -> Outcome:
    """Let a project in *folder*, with *others* in its playbook, learn from the case's sessions; then ask."""
    with write_path.opened(folder, tracked=case.tracked, others=others) as world:
        for session in case.sessions:
            world.learn(session.turns, session.operations)
        return _judge(case, world)


def _judge(case: Case, world: World) -> Outcome:
    live = world.texts()
    faults = [f"no point says: {text}" for text in case.shown if text not in live]
    faults += [f"still a point: {text}" for text in case.never if text in live]
    helped = 0
    for ask in ({START: ""}, *case.asks):
        moment = next(iter(ask))
        told = _told(world, ask)
        if moment != START:
            helped += case.kind not in ("absent", "adjacent") and all(text in told for text in case.shown)
        faults += [f"{moment}: {fault}" for fault in _faults(case, told, is_start=moment == START)]
    return Outcome(case, set(case.shown) <= live, len(case.asks), helped, faults)


def _told(world: World, ask: Mapping[str, str]) -> str:
    if START in ask:
        return world.at_start()
    if "prompt" in ask:
        return world.at_prompt(ask["prompt"])
    return world.at_file(ask["file"]) if "file" in ask else world.at_error(ask["command"], ask["error"])


def _faults(case: Case, told: str, *, is_start: bool) -> Iterable[str]:
    """What is wrong with *told*. At its start a session is shown whatever has room, so there nothing is out of place
    but what no longer holds, and half of a contradiction."""
    if case.kind in ("absent", "adjacent"):
        if told and not is_start:
            yield told.partition("\n")[2]
    elif case.kind == "contradictory" and len({text in told for text in case.shown}) > 1:
        yield "one side alone"
    yield from (f"no longer holds: {text}" for text in case.never if text in told)


def others(count: int) -> list[str]:
    """So many points about other things."""
    return [point.text for point in retrieval_corpus.part_of(retrieval_corpus.read_points("named"), (), count)]


def run(folder: Path, *, quick: bool) -> Figures:
    """Each kind of cases, in playbooks with and without other points."""
    cases = read_cases()
    if quick:
        cases = [next(case for case in cases if case.kind == kind) for kind in (*KINDS, JOINED)]
    rows, notes = [], []
    for size in OTHERS[-1:] if quick else OTHERS:
        outcomes = [play(case, folder / f"{size}-{place}", others=others(size)) for place, case in enumerate(cases)]
        for kind in dict.fromkeys(case.kind for case in cases):
            of_kind = [each for each in outcomes if each.case.kind == kind]
            rows.append(_row(f"{kind}, {size} other points", of_kind))
            notes += [f"{each.case.id} ({size}): {fault}" for each in of_kind for fault in each.faults]
    columns = ("", "cases", "the fact is a point", "moments", "it comes", "cases with harm")
    return Figures("Harm: our own cases", columns, rows, notes)


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    harmed = sum(bool(each.faults) for each in outcomes)
    learned = sum(each.is_learned for each in outcomes)
    moments, helped = sum(each.moments for each in outcomes), sum(each.helped for each in outcomes)
    return name, f"{len(outcomes)}", f"{learned}", f"{moments}", f"{helped}", f"{harmed}"
