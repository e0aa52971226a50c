"""A disk that is full from any step on, and sessions that are killed: each is learned from once, or its user was told
at its start that it may not be.

In a mount namespace of its own, so that a small disk can be mounted and filled.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.torture.promises import promise
from tests import small_disks
from tests.claude_code import full_disk, running

_FULL_FROM = ("the install", "the starts", "the ends", "nowhere")
_MOST_SESSIONS = 5


@dataclass(slots=True)
class FullDisk:
    """How many lives there were and their sessions, how many of these were killed, learned from, and told that the disk
    was full; from which step on it was."""

    lives: int = 0
    sessions: int = 0
    killed: int = 0
    learned: int = 0
    told: int = 0
    full_from: dict[str, int] = field(default_factory=dict)


def run(folder: Path, *, lives: int, seed: int) -> FullDisk:
    """Play so many *lives*; none where nothing can be mounted. Raises AssertionError where a session is lost or learned
    from twice."""
    printed = small_disks.run_module(__name__, str(folder), str(lives), str(seed))
    if printed is None:
        return FullDisk()
    return FullDisk(**json.loads(printed))


def _play(folder: Path, number: int, dice: random.Random, found: FullDisk) -> None:
    """One life: an install, starts and ends of sessions with a full disk from some step on, then room and a worker."""
    home = folder / f"life-{number}"
    client = running.Client(home / "project", home / ".claude" / "playbook" / "playbook.db", home, is_patient=True)
    client.folder.mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "PLAYBOOK", "ANTHROPIC"))]:
        del os.environ[name]
    os.environ["HOME"] = str(home)
    small_disks.mount(home / ".claude")
    running.write_worker(client)
    full_from = _FULL_FROM[number % len(_FULL_FROM)]
    sessions = [f"s-{each}" for each in range(dice.randint(1, _MOST_SESSIONS))]
    events = {name: full_disk.session(client, name) for name in sessions}
    killed = {name for name in sessions if dice.random() < 0.4}
    what = f"life {number}, full from {full_from}, {len(sessions)} sessions, killed {sorted(killed)}"

    if full_from == "the install":
        small_disks.fill(home / ".claude")
    command = [sys.executable, "-m", "playbook_db", "install"]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    promise(installed.returncode == int(full_from == "the install"), f"{what}: the install said {installed.stderr}")
    if full_from == "the starts":
        small_disks.fill(home / ".claude")
    told = {name for name in sessions if "is full" in client.inject(client.start(**events[name])).message}
    if full_from == "the ends":
        small_disks.fill(home / ".claude")
    for name in set(sessions) - killed:
        client.enqueue(client.end(**events[name]))
    (home / ".claude" / "filler").unlink(missing_ok=True)

    learned = Counter(full_disk.learn().sessions) + Counter(full_disk.learn().sessions)
    promise(not told or full_from == "the install", f"{what}: the full disk was told though there was a reserve")
    promise(set(learned) | told == set(sessions), f"{what}: lost {set(sessions) - set(learned) - told}")
    promise(max(learned.values(), default=1) == 1, f"{what}: learned from more than once: {learned}")
    subprocess.run(["umount", "-l", str(home / ".claude")], check=True)
    found.lives += 1
    found.sessions += len(sessions)
    found.killed += len(killed)
    found.learned += len(learned)
    found.told += len(told)
    found.full_from[full_from] = found.full_from.get(full_from, 0) + 1


if __name__ == "__main__":
    folder, lives, seed = sys.argv[1:]
    found, dice = FullDisk(), random.Random(int(seed))
    for number in range(int(lives)):
        _play(Path(folder), number, dice, found)
    sys.stdout.write(json.dumps(asdict(found)))
