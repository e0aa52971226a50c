"""A disk that loses power, by the shim's log of what was written.

A sync of a file puts its bytes on the disk. A sync of the folder, or of the file (as on ext4, XFS and btrfs), puts a
new name there. Without a sync, any blocks of a write and the first changes of names may be on the disk by chance.
"""

import copy
import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.shim import Step

_BLOCK = 4096


@dataclass(eq=False)
class _File:
    """The content in memory and on the disk, and the unsynced changes: a place with bytes, or a new size."""

    memory: bytearray = field(default_factory=bytearray)
    disk: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)
    mode: int = 0o600

    def change(self, place: int, data: bytes | None) -> None:
        _apply(self.memory, place, data)
        self.unsynced.append((place, data))

    def sync(self) -> None:
        self.disk = bytearray(self.memory)
        self.unsynced = []

    def after_loss(self, chance: random.Random | None) -> bytes:
        content = bytearray(self.disk)
        for place, data in self.unsynced if chance else ():
            if data is None:
                if chance.random() < 0.5:
                    _apply(content, place, None)
                continue
            for start in range(0, len(data), _BLOCK):
                if chance.random() < 0.5:
                    _apply(content, place + start, data[start : start + _BLOCK])
        return bytes(content)


def _apply(content: bytearray, place: int, data: bytes | None) -> None:
    if data is None:
        del content[place:]
        content.extend(bytes(place - len(content)))
        return
    content.extend(bytes(max(0, place - len(content))))
    content[place : place + len(data)] = data


@dataclass
class Disk:
    """The files and folders below a root. Folders count as on the disk at once."""

    names: dict[str, _File] = field(default_factory=dict)  # in memory
    on_disk: dict[str, _File] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)  # with their modes
    unsynced: list[tuple[str, str, _File | None]] = field(default_factory=list)  # name gone, name come, its file

    @classmethod
    def of(cls, root: Path) -> "Disk":
        """All files below *root*, as synced."""
        disk = cls()
        for folder, _, files in os.walk(root):
            disk.folders[folder] = os.stat(folder).st_mode & 0o7777
            for name in files:
                path = os.path.join(folder, name)
                content = Path(path).read_bytes()
                mode = os.stat(path).st_mode & 0o7777
                disk.names[path] = disk.on_disk[path] = _File(bytearray(content), bytearray(content), mode=mode)
        return disk

    def copy(self) -> "Disk":
        return copy.deepcopy(self)

    def do(self, step: Step) -> None:
        kind, file = step.kind, self.names.get(step.path)
        if kind == "c":
            self._rename("", step.path, _File(mode=step.offset & 0o777))
        elif kind in "wt" and file:
            file.change(step.offset, step.data if kind == "w" else None)
        elif kind in "rlu" and file:
            self._rename("" if kind == "l" else step.path, step.other, None if kind == "u" else file)
        elif kind == "d":
            self.folders[step.path] = step.offset & 0o777
        elif kind == "x":
            self.folders.pop(step.path, None)
        elif kind == "s":
            self._sync(step.path, file)

    def _rename(self, gone: str, come: str, file: _File | None) -> None:
        self._move(self.names, gone, come, file)
        self.unsynced.append((gone, come, file))

    @staticmethod
    def _move(names: dict[str, _File], gone: str, come: str, file: _File | None) -> None:
        names.pop(gone, None)
        if file is not None:
            names[come] = file

    def _sync(self, path: str, file: _File | None) -> None:
        """Of a folder: all changes of its names. Of a file: its bytes, and its folder's changes up to its name."""
        if file is not None:
            file.sync()
        own = [number for number, change in enumerate(self.unsynced) if change[2] is file]
        folder, last = (path, len(self.unsynced)) if file is None else (os.path.dirname(path), max(own, default=-1) + 1)
        left = self.unsynced[last:]
        for change in reversed(self.unsynced[:last]):
            if folder not in map(os.path.dirname, change[:2]):
                left.insert(0, change)
        for change in self.unsynced[:last]:
            if change not in left:
                self._move(self.on_disk, *change)
        self.unsynced = left

    def lose_power(self, root: Path, chance: random.Random | None = None, *, keeps_names: bool = False) -> None:
        """Write to *root* what is on the disk; *chance* adds unsynced changes, *keeps_names* all unsynced names."""
        names = dict(self.on_disk)
        count = len(self.unsynced) if keeps_names else chance.randint(0, len(self.unsynced)) if chance else 0
        for gone, come, file in self.unsynced[:count]:
            self._move(names, gone, come, file)
        shutil.rmtree(root, ignore_errors=True)
        for folder, mode in self.folders.items():
            os.makedirs(folder, exist_ok=True)
            os.chmod(folder, mode)
        for path, file in names.items():
            if path.endswith("-shm"):
                continue  # SQLite recreates it
            Path(path).write_bytes(file.after_loss(chance))
            os.chmod(path, file.mode)
