"""A disk that loses power: which bytes and names are there afterwards, from the shim's log of what was written.

Memory holds what programs see; the disk has what was synced. A write is on the disk from the next sync of its file on.
A new or renamed file has its name on the disk from the next sync of its folder on, or of the file itself, as ext4, XFS
and btrfs do it. What was not synced may be on the disk too, by chance: of each write any of its blocks; of the names
those of the first changes, as file systems keep their order.
"""

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.shim import Step

_BLOCK = 4096


@dataclass(eq=False)
class _File:
    """The content in memory and on the disk, and the changes since the last sync, as place and bytes; a place without
    bytes is a size that the file was cut or stretched to."""

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
        """What is on the disk; with *chance* also some of what was not synced."""
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
    """The files and folders below a root, in memory and on the disk."""

    names: dict[str, _File] = field(default_factory=dict)  # in memory
    on_disk: dict[str, _File] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)  # with their modes; those count as on the disk at once
    unsynced: list[tuple[str, str, _File | None]] = field(default_factory=list)  # name gone, name come, its file

    @classmethod
    def of(cls, root: Path) -> "Disk":
        """What is below *root* now, all of it on the disk."""
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
        """The same disk, which may change by itself; nothing may be unsynced yet."""
        disk = Disk(folders=dict(self.folders))
        for path, file in self.names.items():
            disk.names[path] = disk.on_disk[path] = _File(bytearray(file.memory), bytearray(file.disk), mode=file.mode)
        return disk

    def do(self, step: Step) -> None:
        """Carry out one step of the log."""
        file = self.names.get(step.path)
        if step.kind == "c":
            self._rename("", step.path, _File(mode=step.offset & 0o777))
        elif step.kind == "w" and file:
            file.change(step.offset, step.data)
        elif step.kind == "t" and file:
            file.change(step.offset, None)
        elif step.kind == "r" and file:
            self._rename(step.path, step.other, file)
        elif step.kind == "l" and file:
            self._rename("", step.other, file)
        elif step.kind == "u" and file:
            self._rename(step.path, "", None)
        elif step.kind == "d":
            self.folders[step.path] = step.offset & 0o777
        elif step.kind == "x":
            self.folders.pop(step.path, None)
        elif step.kind == "s":
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
        """Of a folder: all changes of names in it. Of a file: its bytes, and what its folder saw up to its own name."""
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
        """Lay out below *root* what is on the disk; with *chance* also some of what was not synced.

        If it *keeps_names*, all files have their names, as on a file system that writes the bytes later.
        """
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
                continue  # is made anew from the log when the database is opened
            Path(path).write_bytes(file.after_loss(chance))
            os.chmod(path, file.mode)
