"""The library that is loaded before all others (`LD_PRELOAD`) into a process whose files fail, and its log.

A shim of the C library reaches every file that a command or a hook writes: SQLite's, Python's own, the locks'. A VFS of
SQLite's would see the database alone. It is compiled when the tests run; Linux and a C compiler are needed.
"""

import ctypes
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SOURCE = Path(__file__).with_name("shim.c")
_HEAD = struct.Struct("<cIIqQ")


def why_missing() -> str:
    """Why there is no shim here, and how to get it; `""` if it can be had."""
    if not sys.platform.startswith("linux"):
        return "FAULTS ARE NOT TRIED: the shim is for Linux"
    if not _compiler():
        return "FAULTS ARE NOT TRIED: there is no C compiler; install one as `cc` (apt install gcc libc6-dev)"
    return ""


@cache
def library() -> Path:
    """The compiled shim."""
    folder = Path(tempfile.mkdtemp(prefix="playbook-faults-"))
    made = folder / "shim.so"
    command = [_compiler(), "-shared", "-fPIC", "-O1", "-o", str(made), str(_SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return made


def _compiler() -> str:
    return shutil.which("cc") or shutil.which("gcc") or ""


@cache
def loaded() -> ctypes.CDLL:
    """The shim of this process, which was started with it."""
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shim.faults_disarm.restype = ctypes.c_long
    shim.faults_fired.restype = ctypes.c_char_p
    shim.faults_arm.argtypes = [ctypes.c_long, ctypes.c_int]
    shim.faults_note.argtypes = [ctypes.c_char_p]
    return shim


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a file: `kind` is c(reate), w(rite), t(runcate), s(ync), r(ename), l(ink), u(nlink), d (a folder
    is made), x (one is removed), or ! for words of the program; `offset` is that of a write, the size after a
    truncation, the mode of what is made."""

    kind: str
    path: str
    other: str
    offset: int
    data: bytes


def read_log(path: Path) -> Iterator[Step]:
    """The steps in the shim's log at *path*, in the order in which they happened."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        kind, first, second, offset, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        ends = (at + first, at + first + second, at + first + second + size)
        yield Step(
            kind.decode(),
            os.fsdecode(content[at : ends[0]]),
            os.fsdecode(content[ends[0] : ends[1]]),
            offset,
            content[ends[1] : ends[2]],
        )
        at = ends[2]
