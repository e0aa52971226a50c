"""What is on a disk after the power went."""

import random
from pathlib import Path

import pytest

from tests.faults.disk import Disk
from tests.faults.shim import Step


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file."""
    made = tmp_path / "disk"
    made.mkdir()
    (made / "old").write_bytes(bytes(4 * 4096))
    return made


def left_after(
    root: Path, *steps: tuple[str, str, bytes | str], chance: random.Random | None = None
) -> dict[str, bytes]:
    """The files below *root* after *steps* and a loss of power: a kind, a name, and bytes or another name."""
    disk = Disk.of(root)
    for kind, name, more in steps:
        other, data = (str(root / more), b"") if isinstance(more, str) else ("", more)
        disk.do(Step(kind, str(root / name) if name else str(root), other, 0o600 if kind == "c" else 0, data))
    disk.lose_power(root, chance)
    return {path.name: path.read_bytes() for path in root.iterdir()}


def test_only_what_was_synced_is_left(root: Path) -> None:
    """Of the bytes, and of the names."""
    old, new = bytes(4 * 4096), b"new" + bytes(4 * 4096 - 3)

    assert left_after(root, ("w", "old", b"new")) == {"old": old}
    assert left_after(root, ("c", "a", b""), ("w", "a", b"x")) == {"old": old}
    assert left_after(root, ("w", "old", b"new"), ("s", "old", b"")) == {"old": new}
    assert left_after(root, ("c", "a", b""), ("w", "a", b"x"), ("s", "a", b"")) == {"old": new, "a": b"x"}


def test_a_new_name_is_left_if_its_folder_was_synced(root: Path) -> None:
    """Else the file has its old one."""
    assert left_after(root, ("r", "old", "a")).keys() == {"old"}
    assert left_after(root, ("r", "old", "a"), ("s", "", b"")).keys() == {"a"}


def test_a_file_that_was_removed_comes_back_unless_its_folder_was_synced(root: Path) -> None:
    """A new file of its name that was synced takes its place."""
    gone = ("u", "old", b"")

    assert left_after(root, gone) == {"old": bytes(4 * 4096)}
    assert left_after(root, gone, ("c", "old", b""), ("s", "old", b"")) == {"old": b""}
    assert left_after(root, gone, ("s", "", b"")) == {}


def test_by_chance_some_of_the_rest_is_left(root: Path) -> None:
    """Any of the blocks."""
    written, seen = ("w", "old", b"x" * 4 * 4096), set()
    for seed in range(9):
        (root / "old").write_bytes(bytes(4 * 4096))
        seen.add(left_after(root, written, chance=random.Random(seed))["old"][::4096])

    assert len(seen) > 2
