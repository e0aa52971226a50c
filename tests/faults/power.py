"""A power failure at any moment: `python -m tests.faults.power [--cuts N] [--seed S]`.

Commands, hooks and the worker run once, with each write recorded. After any step, the unsynced bytes and names are
lost, or only the bytes, or some of both by chance. The promises must hold then.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults import cases, shim
from tests.faults.cases import Ended, Place, command
from tests.faults.disk import Disk
from tests.faults.forks import in_fork, start, warm_up
from tests.faults.shim import Step

_WHOLE = ("project/.claude/playbook.json", "home/.claude/settings.json")  # files that are replaced
_SESSIONS = 6
_ACTS = (
    "0", "init", "install", "mirror on", *(f"add {text}" for text in cases.POINTS), "1", "work",
    "apply {root}/batch.json", "2", "3", "undo", "work", "vote oth-002 helpful", "4", "backup {root}/kept.db",
    "uninstall", "retire oth-005", "5", "work",
)  # fmt: skip
_WAYS = ("all", "bytes", "by chance")  # what is lost of all that was not synced


@dataclass(frozen=True)
class Life:
    """The first disk, the steps, the playbook at each revision, and each version of the files in _WHOLE."""

    disk: Disk
    steps: list[Step]
    revisions: dict[int, str]
    versions: dict[str, set[bytes]] = field(default_factory=dict)


def record(place: Place, log: Path) -> Life:
    """Do everything once in *place*, while the shim writes *log*."""
    shutil.rmtree(place.root, ignore_errors=True)
    place.make_folders()
    (place.root / "batch.json").write_text(json.dumps(cases.FILES["batch.json"]), encoding="utf-8")
    for number in range(_SESSIONS):
        cases.write_transcript(_transcript(place, number), f"{cases.SAID} This is session {number}.")
    log.unlink(missing_ok=True)
    disk = Disk.of(place.root)
    for act in _ACTS:
        in_fork(place, lambda act=act: _do(act, place))
    last = json.loads(in_fork(place, lambda: command("log", "--json", place=place).out))[0]["revision"]
    revisions = {
        number: in_fork(place, lambda number=number: _points(command("at", str(number), "--json", place=place)))
        for number in range(last + 1)
    }
    return _with_versions(Life(disk, list(shim.read_log(log)), revisions), place)


def _transcript(place: Place, number: int) -> Path:
    return place.root / f"5e62eba9-{number:04}.jsonl"


def _do(act: str, place: Place) -> None:
    """End a session, run the worker, or run a command. The log says which session's hook has ended."""
    if act.isdigit():
        ended = cases.hook("SessionEnd", place, _transcript(place, int(act)))
    elif act == "work":
        ended = cases.work(place)
    else:
        ended = cases.run(act, place)
    assert ended.code == 0, ended
    if act.isdigit():
        shim.loaded().faults_note(act.encode())


def _points(ended: Ended) -> str:
    return json.dumps(json.loads(ended.out)["sections"], sort_keys=True) if ended.code == 0 else ended.err


def _with_versions(life: Life, place: Place) -> Life:
    disk = life.disk.copy()
    whole = {str(place.root / name) for name in _WHOLE}
    for step in life.steps:
        disk.do(step)
        path = step.other if step.kind == "r" else step.path
        if path in whole and step.kind in "rc" and path in disk.names:
            life.versions.setdefault(path, set()).add(bytes(disk.names[path].memory))
    return life


def cut(life: Life, place: Place, after: int, way: str, seed: int) -> list[list[Any]]:
    """Cut the power after that many steps. Returns the broken promises."""
    disk, kept = life.disk.copy(), []
    for step in life.steps[:after]:
        disk.do(step)
        if step.kind == "!":
            kept.append(step.path)
    disk.lose_power(place.root, random.Random(seed) if way == "by chance" else None, keeps_names=way == "bytes")
    whole = {path: Path(path).read_bytes() for path in life.versions if os.path.exists(path)}
    found = in_fork(place, lambda: _look(place))
    how = [f"db check: {found['check']}"] if found["check"] else []
    if found["revision"] and found["points"] != life.revisions.get(found["revision"]):
        how.append(f"revision {found['revision']} isn't whole: {found['points'][-700:]}")
    lost = [name for name in kept if name not in found["sessions"]]
    how += [f"the hook of session {name} had kept its end, and it is lost" for name in lost]
    how += [f"{path} is no version of it: {data!r}" for path, data in whole.items() if data not in life.versions[path]]
    return [[after, way, seed, each] for each in how]


def _look(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = {"check": cases.check(place), "revision": 0, "points": "", "sessions": []}
    log = command("log", "--json", place=place)
    if log.code == 0 and json.loads(log.out):
        found["revision"] = json.loads(log.out)[0]["revision"]
        found["points"] = _points(command("export", place=place))
    found["sessions"] = [str(int(Path(path).stem[-4:])) for path in cases.kept_jobs(place)]
    return found


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "place"
            sys.exit(start(["tests.faults.power", "--folder", folder, *sys.argv[1:]], root, Path(folder) / "log"))
    warm_up(given.folder / "warm", ("lesson", "mirror", "settings"))
    place = Place(given.folder / "place")
    life = record(place, given.folder / "log")
    chance = random.Random(given.seed)
    # Half of the cuts are just after a name changed or a hook ended, where most mistakes show.
    telling = [number for number, step in enumerate(life.steps, 1) if step.kind in "rul!"]
    places = chance.choices(range(1, len(life.steps) + 1), k=given.cuts)
    places[::2] = chance.sample(telling * len(_WAYS), len(places[::2]))
    broken: list[list[Any]] = []
    for number, after in enumerate(places):
        broken += cut(life, place, after, _WAYS[number // 2 % len(_WAYS)], given.seed + number)
    answer = {"steps": len(life.steps), "cuts": given.cuts, "broken": broken}
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    _main()
