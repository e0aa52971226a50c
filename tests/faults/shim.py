"""A library that is loaded first (`LD_PRELOAD`) and lets calls for files fail, and its log.

It reaches each file: SQLite's, Python's, the locks. It is compiled when the tests run, on Linux with a C compiler.
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
    """Why there is no shim here, if so, and how to get it."""
    if not sys.platform.startswith("linux"):
        return "FAULTS ARE NOT TRIED: the shim is for Linux"
    if not _compiler():
        return "FAULTS ARE NOT TRIED: there is no C compiler; install one as `cc` (apt install gcc libc6-dev)"
    return ""


@cache
def library() -> Path:
    """The compiled shim."""
    path = Path(tempfile.mkdtemp(prefix="playbook-faults-")) / "shim.so"
    command = [_compiler(), "-shared", "-fPIC", "-O1", "-o", str(path), str(_SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return path


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
    """`kind` is c(reate), w(rite), t(runcate), s(ync), r(ename), l(ink), u(nlink), d (mkdir), x (rmdir) or ! (a note).
    `offset` is the place of a write, the new size, or the mode of a new file."""

    kind: str
    path: str
    other: str
    offset: int
    data: bytes


def read_log(path: Path) -> Iterator[Step]:
    """The steps in the shim's log, in order."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        kind, first, second, offset, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        path_at, other_at, at = at, at + first, at + first + second
        name, other = os.fsdecode(content[path_at:other_at]), os.fsdecode(content[other_at:at])
        yield Step(kind.decode(), name, other, offset, content[at : at + size])
        at += size
