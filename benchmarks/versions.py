"""`python -m benchmarks.versions COMMIT`: the hooks and common commands of this checkout beside those of COMMIT.

Valgrind counts instructions, which a busy machine doesn't change. Each process runs once to warm up, then once more, a
hook several times (the median). Both checkouts run on this interpreter, each with a database that its own code made.
Beside them is what a bare interpreter takes, and the aim for each: times the CPU time of a bare interpreter. Exit code
1 for what costs over 1.05 times as many instructions as in COMMIT.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import cli, sandbox
from benchmarks.figures import Figures, show, times
from benchmarks.hooks import hook, prompt, reading, session_end, session_start, unfitting_prompt

POINTS = 60
LIMIT = 1.05  # times the instructions of the other commit, at most
_COMMANDS = (
    "--version", "--help", "list", "show pat-005", "render", "search cache", "log", "vote pat-005 helpful", "add TEXT",
    "edit pat-010 --text TEXT", "undo", "export", "stats", "why pat-005", "diff 1", "jobs", "status", "doctor",
    "sql QUERY", "sessions", "review", "config", "project list", "backup --list", "db path", "show nothing",
    "vote nothing helpful", "at nothing", "textconv nothing", "db check", "mcp",
)  # fmt: skip
_FILES = {  # that a session reads: their functions, and how many
    "small": ("count_item", 4), "44kB": ("count_item", 56), "small-named": ("named", 4), "44kB-named": ("named", 56),
}  # fmt: skip
_NAMED = 6  # points that name a function of the last two files
_HOOKS: Mapping[str, Callable[[str, Path], Mapping[str, Any]]] = {
    "inject": lambda session, _: session_start(session),
    "enqueue": lambda session, _: session_end(session),
    "remind": lambda session, _: prompt(session),
    "remind nothing": lambda session, _: unfitting_prompt(session),
    "tool gone": lambda session, folder: reading(session, folder, place="src/gone.py"),
    "tool small": lambda session, folder: reading(session, folder, place="src/small.py"),
    "tool 44kB": lambda session, folder: reading(session, folder, place="src/44kB.py"),
    "tool small-named": lambda session, folder: reading(session, folder, place="src/small-named.py"),
    "tool 44kB-named": lambda session, folder: reading(session, folder, place="src/44kB-named.py"),
}
_AIMS = {
    **{command: aim for commands, aim in cli.AIMS for command in commands},
    "inject": 3.0, "enqueue": 3.0, "remind": 3.0,
}  # fmt: skip
_WORDS = {"TEXT": "a text of some length", "QUERY": "SELECT count(*) FROM live_key_points"}
_HANDSHAKE = (
    """{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
 "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}}""".replace("\n", "")
    + """
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
"""
)
_BODY = "    for item in items:  # each of them\n        yield item.count\n" * 12
_PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
_COUNTED = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_HOOK_RUNS = 9  # they hash by chance, as `-I` has it: one run says too little
_PATIENTLY = """import sys
sys.path.append({root!r})
try:
    from playbook_db.claude_code.hooks import {hook}
except ImportError:  # an older version
    from playbook_db.claude_code import {hook}
{hook}.DEADLINE_S = 600.0
__file__ = {file!r}
exec(open(__file__).read())
"""  # while its instructions are counted, a hook takes longer than it may
_FILL = """
import sys
from pathlib import Path
from benchmarks import sandbox
from playbook_db.services.playbook import edit
with sandbox.opened(Path(sys.argv[1])) as (_, project):
    sandbox.fill(project, int(sys.argv[2]))
    for number in range(int(sys.argv[3])):
        edit.add(project, f"Keep `named_{number}` free of side effects: the nightly export calls it twice.")
"""


def main() -> int:
    """Compare, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("commit", help="what to compare with, as git knows it")
    parser.add_argument("commands", nargs="*", help="which commands, as one word each (default: hooks and common ones)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="playbook-versions-") as folder:
        bare = _instructions([_PYTHON, "-I", "-S", "-c", "pass"])
        with checkout(given.commit, Path(folder, "old")) as old:
            rows = [_row(name, bare, *counts) for name, *counts in _compared(Path(folder), old, given.commands)]
    notes = (
        f"one process each, {POINTS + _NAMED} points, start to end; over {LIMIT:g}x is marked",
        f"bare: {_PYTHON} -I -S -c pass, {bare / 1e6:,.1f} million",
    )
    columns = ("", given.commit, "now", "ratio", "/ bare", "aim, CPU time", "")
    print(show(Figures("Millions of instructions", columns, rows, notes)))
    return any(row[-1] for row in rows)


@contextmanager
def checkout(commit: str, folder: Path) -> Iterator[Path]:
    """The files of *commit* in *folder*, for as long as the block lasts."""
    git = ["git", "-C", str(sandbox.ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def _row(name: str, bare: int, old: int, now: int) -> tuple[str, ...]:
    counts = (f"{old / 1e6:,.0f}", f"{now / 1e6:,.0f}", times(now / old), times(now / bare))
    return name, *counts, f"{_AIMS[name]:g}x" if name in _AIMS else "", "!" if now > LIMIT * old else ""


def _compared(folder: Path, old: Path, chosen: Sequence[str]) -> list[tuple[str, int, int]]:
    """Each hook and command, with its instructions in the *old* checkout and in this one."""
    homes = {root: home(folder / f"home-{number}", root) for number, root in enumerate((old, sandbox.ROOT))}
    found = []
    for name in chosen or (*_HOOKS, *_COMMANDS):
        counts = [_count(root, *homes[root], name) for root in homes]
        print(f"{name}: {counts}", file=sys.stderr, flush=True)
        found.append((name, *counts))
    return found


def home(folder: Path, root: Path) -> tuple[Path, dict[str, str]]:
    """A home with a playbook made by the code in *root*, and its processes' variables."""
    environment = {**sandbox.environment(folder), "PYTHONPATH": str(root), "PYTHONHASHSEED": "0", "TERM": "dumb"}
    subprocess.run(
        [sys.executable, "-c", _FILL, str(folder), str(POINTS), str(_NAMED)], cwd=root, env=environment, check=True
    )
    (folder / "home" / ".claude" / "playbook").mkdir(parents=True, exist_ok=True)
    (folder / "home" / ".claude" / "playbook" / "worker.lock").touch()  # inject starts no worker then
    (sandbox.project_folder(folder) / "src").mkdir(exist_ok=True)
    for name, (function, count) in _FILES.items():
        text = "".join(f"def {function}_{number}(items):\n{_BODY}" for number in range(count))
        (sandbox.project_folder(folder) / "src" / f"{name}.py").write_text(text)
    return folder, environment


def _count(root: Path, folder: Path, environment: Mapping[str, str], name: str) -> int:
    """The instructions of the hook or command *name* of the code in *root*, once it has run before."""
    found = []
    for number in range(1 + (_HOOK_RUNS if name in _HOOKS else 1)):
        session = f"session-{number}"
        payload = json.dumps(_HOOKS[name](session, folder)) if name in _HOOKS else _HANDSHAKE * (name == "mcp")
        words = [f"{_WORDS[word]} {session}" if word == "TEXT" else _WORDS.get(word, word) for word in name.split()]
        ours = patient(name, root) if name in _HOOKS else [sys.executable, "-P", "-m", "playbook_db", *words]
        done = subprocess.run(
            [*_COUNTED, *ours] if number else ours,
            input=payload,
            env=dict(environment),
            cwd=sandbox.project_folder(folder),
            capture_output=True,
            text=True,
            check=False,
        )
        assert name != "inject" or len(done.stdout) > 1000, f"inject of {root} said {done.stdout!r}"
        found += [_read(done)] if number else []
    return int(statistics.median(found))


def _instructions(arguments: Sequence[str]) -> int:
    """The instructions of the process with *arguments*."""
    return _read(subprocess.run([*_COUNTED, *arguments], capture_output=True, text=True, check=False))


def _read(done: "subprocess.CompletedProcess[str]") -> int:
    """The instructions that valgrind has counted in a process that is *done*."""
    counted = re.search(r"I +refs: +([\d,]+)", done.stderr)
    assert counted, f"{done.args} ended with {done.returncode}: {done.stderr[-2000:]}"
    return int(counted[1].replace(",", ""))


def patient(name: str, root: Path) -> list[str]:
    """What starts the hook *name* of the checkout *root* with all the time that it needs."""
    script, *_ = name.split()
    started = hook(_PYTHON, script, root=root)
    code = _PATIENTLY.format(root=str(root), hook="remind" if script == "tool" else script, file=started[3])
    return [*started[:3], "-c", code, *started[4:]]


if __name__ == "__main__":
    sys.exit(main())
