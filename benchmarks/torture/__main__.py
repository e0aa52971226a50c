"""`python -m benchmarks.torture`: kill, crowd and mutate, and say what was found. Exit code 1 for a broken promise."""

import argparse
import dataclasses
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.torture import damage, git_baits, hooks, kills, learning, mutations, processes

KINDS = ("kills", "processes", "mutations", "hooks", "learning", "damage", "git")


def main() -> int:
    """Run the kinds of torture that the command line names, all of them where it names none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"which ones: {', '.join(KINDS)} (default: all)")
    parser.add_argument("--kills", type=int, default=350, metavar="N", help="of each kind (default: 350)")
    parser.add_argument("--crowds", type=int, nargs="+", default=[8, 16, 32], metavar="N", help="processes at once")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="of each process (default: 10)")
    parser.add_argument("--mutations", type=int, default=4000, metavar="N", help="files to try (default: 4000)")
    parser.add_argument("--payloads", type=int, default=2000, metavar="N", help="for the hooks (default: 2000)")
    parser.add_argument("--databases", type=int, default=500, metavar="N", help="for the hooks (default: 500)")
    parser.add_argument("--twins", type=int, default=100, metavar="N", help="times two workers begin (default: 100)")
    parser.add_argument("--ends", type=int, default=32, metavar="N", help="sessions that end at once (default: 32)")
    parser.add_argument("--damages", type=int, default=500, metavar="N", help="files to repair (default: 500)")
    parser.add_argument("--seed", type=int, default=1, help="what the dice start from (default: 1)")
    given = parser.parse_args()
    if set(given.kinds) - set(KINDS):
        parser.error(f"a kind is one of: {', '.join(KINDS)}")
    works: list[tuple[str, str, Callable[[Path], Any]]] = [
        ("kills", "", lambda folder: kills.run(folder, count=given.kills, seed=given.seed)),
        *(("processes", f" {size}", _crowd(size, given.rounds, given.seed)) for size in given.crowds),
        ("mutations", "", lambda folder: mutations.run(folder, count=given.mutations, seed=given.seed)),
        ("hooks", "", _hooks(given.payloads, given.databases, given.seed)),
        ("learning", "", _learning(given.kills, given.twins, given.ends, given.seed)),
        ("git", "", git_baits.run),
        ("damage", "", lambda folder: damage.run(folder, count=given.damages, seed=given.seed)),
    ]
    broken = [
        kind + which
        for kind, which, work in works
        if kind in (given.kinds or KINDS) and not _carry_out(kind + which, work)
    ]
    print(f"\nBROKEN: {', '.join(broken)}" if broken else "\nevery promise was kept")
    return bool(broken)


def _crowd(size: int, rounds: int, seed: int) -> Callable[[Path], Any]:
    return lambda folder: processes.run(folder, processes=size, rounds=rounds, seed=seed)


def _hooks(payloads: int, databases: int, seed: int) -> Callable[[Path], Any]:
    return lambda folder: hooks.run(folder, payloads=payloads, databases=databases, seed=seed)


def _learning(kills: int, twins: int, ends: int, seed: int) -> Callable[[Path], Any]:
    return lambda folder: learning.run(folder, kills=kills, twins=twins, ends=ends, seed=seed)


def _carry_out(title: str, work: Callable[[Path], Any]) -> bool:
    """Run *work* and print what it found; whether it kept its promises. The folder of one that didn't is left."""
    folder = Path(tempfile.mkdtemp(prefix=f"playbook-{title.replace(' ', '-')}-"))
    started = time.monotonic()
    print(f"\n{title}: ", end="", flush=True)
    try:
        found = work(folder)
    except AssertionError as error:
        print(f"BROKEN: {error}\n  left as it was in {folder}", flush=True)
        return False
    figures = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    print(", ".join(f"{name} {_shown(value)}" for name, value in figures.items()))
    print(f"  ({time.monotonic() - started:.0f} s)", flush=True)
    shutil.rmtree(folder)
    return True


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {count}" for name, count in value.items()) + ")"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
