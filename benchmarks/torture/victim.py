"""The process that is killed: commands of every kind on one project, one after the other, without end.

It prints each start and end of a command for its parent; finished work must survive. `place` names a line
of our code at which it kills itself, so that every step is tried, the short ones too.
"""

import argparse
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks import samples
from benchmarks.sandbox import project_folder
from benchmarks.torture import groups
from playbook_db import settings
from playbook_db.cli.main import main as playbook
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import open_store

BASE_POINTS = 30
BALLOT = samples.playbook(BASE_POINTS).points[0].name  # the point that is voted on
_LIVE_GROUPS = 6  # more than these are retired again, so that the playbook stays small


def live_forever(folder: Path, tag: str, rng: random.Random, say: Callable[[str], None]) -> None:
    """Run commands on the project of *folder*; *tag* marks the points of this process."""
    base = folder / "base.json"
    base.write_text(samples.file_text(BASE_POINTS), encoding="utf-8")
    _do(say, "start", "-", ["mirror", "on"])
    _do(say, "start", "-", ["import", str(base)])
    number = 0
    while True:
        number += 1
        kind, arguments = _command(folder, f"{tag}.{number}", rng)
        _do(say, kind, f"{tag}.{number}", arguments)


def _do(say: Callable[[str], None], kind: str, tag: str, arguments: list[str]) -> None:
    say(f"begin {kind} {tag}")
    code = playbook(arguments)
    if code:
        say(f"failed {kind} {tag} with exit code {code}: playbook {' '.join(arguments)}")
        sys.exit(1)
    say(f"done {kind} {tag}")


def _command(folder: Path, tag: str, rng: random.Random) -> tuple[str, list[str]]:
    """A command, as its kind and its arguments; its file is written."""
    file = folder / "input.json"
    with open_store(settings.database_url()) as store:
        playbook_now = read_playbook(Project.in_folder(store, str(project_folder(folder))))
    live = groups.members((point.name, point.text) for point in playbook_now.points)
    kind = rng.choice(["import", "add", "reword", "merge", "retire", "vote", "vote"])
    if not live and kind in ("reword", "merge", "retire"):
        kind = "add"
    if len(live) > _LIVE_GROUPS:
        kind = "retire"
    if kind == "vote":
        return kind, ["vote", BALLOT, "helpful"]
    content: dict[str, Any]
    if kind == "import":
        content = {"version": "1.0", "last_updated": None, "sections": {"OTHERS": groups.texts(tag, 10)}}
    else:
        content = {"operations": _operations(kind, tag, live, rng)}
    file.write_text(json.dumps(content), encoding="utf-8")
    return kind, ["import" if kind == "import" else "apply", str(file)]


def _operations(kind: str, tag: str, live: dict[str, list[str]], rng: random.Random) -> list[dict[str, Any]]:
    if kind == "add":
        return [{"type": "ADD", "text": text, "section": "OTHERS"} for text in groups.texts(tag, 5)]
    names = live[rng.choice(sorted(live))]
    if kind == "reword":
        new = groups.texts(tag, len(names))
        return [{"type": "UPDATE", "target_id": name, "text": text} for name, text in zip(names, new, strict=True)]
    if kind == "merge" and len(names) > 1:
        return [{"type": "MERGE", "source_ids": names, "merged_text": groups.texts(tag, 1)[0]}]
    return [{"type": "DELETE", "target_id": name} for name in names]


def die_at(file: str, line: int, occurrence: int) -> None:
    """Kill this process the *occurrence*-th time that it is about to run *line* of *file*."""
    left = occurrence

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if event == "line" and frame.f_lineno == line:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return at_line

    sys.settrace(lambda frame, _event, _arg: at_line if frame.f_code.co_filename == file else None)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("tag")
    parser.add_argument("seed")
    parser.add_argument("--place", nargs=3, metavar=("FILE", "LINE", "OCCURRENCE"))
    given = parser.parse_args()
    parent = os.dup(sys.stdout.fileno())
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - what the commands print is of no interest

    def say(line: str) -> None:
        os.write(parent, f"{line}\n".encode())

    say("ready")
    if given.place:
        die_at(given.place[0], int(given.place[1]), int(given.place[2]))
    live_forever(given.folder, given.tag, random.Random(given.seed), say)


if __name__ == "__main__":
    _main()
