"""What is on a disk after a power failure."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.faults.disk import Disk
from tests.faults.shim import Step

OLD = bytes(4 * 4096)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    (folder / "old").write_bytes(OLD)
    return folder


def left_after(
    root: Path, *steps: tuple[str, str, bytes | str], chance: random.Random | None = None
) -> dict[str, bytes]:
    """The files after *steps* (a kind, a name, and bytes or another name) and a power failure."""
    disk = Disk.of(root)
    for kind, name, more in steps:
        other, data = (str(root / more), b"") if isinstance(more, str) else ("", more)
        disk.do(Step(kind, str(root / name) if name else str(root), other, 0o600 if kind == "c" else 0, data))
    disk.lose_power(root, chance)
    return {path.name: path.read_bytes() for path in root.iterdir()}


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([("w", "old", b"new")], {"old": OLD}),
        ([("c", "a", b""), ("w", "a", b"x")], {"old": OLD}),
        ([("w", "old", b"new"), ("s", "old", b"")], {"old": b"new" + OLD[3:]}),
        ([("c", "a", b""), ("w", "a", b"x"), ("s", "a", b"")], {"old": OLD, "a": b"x"}),
        ([("r", "old", "a")], {"old": OLD}),
        ([("r", "old", "a"), ("s", "", b"")], {"a": OLD}),
        ([("u", "old", b"")], {"old": OLD}),
        ([("u", "old", b""), ("c", "old", b""), ("s", "old", b"")], {"old": b""}),
        ([("u", "old", b""), ("s", "", b"")], {}),
    ],
)
def test_only_synced_changes_are_left(root: Path, steps: list[Any], left: dict[str, bytes]) -> None:
    """A sync of a folder (named "") keeps its names; a sync of a file keeps its bytes and its name."""
    assert left_after(root, *steps) == left


def test_some_unsynced_blocks_may_be_left(root: Path) -> None:
    written, seen = ("w", "old", b"x" * 4 * 4096), set()
    for seed in range(9):
        (root / "old").write_bytes(OLD)
        seen.add(left_after(root, written, chance=random.Random(seed))["old"][::4096])

    assert len(seen) > 2
