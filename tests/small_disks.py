"""A disk that can really be filled: a file system of some MiB, in a mount namespace of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_BLOCK_BYTES = 4096


def run_module(module: str, *arguments: str) -> str | None:
    """What *module* prints when it runs with these *arguments* where it may `mount`; None if nothing can be mounted."""
    namespace = ["unshare", "-m", *([] if os.geteuid() == 0 else ["-U", "-r"])]
    if shutil.which("unshare") is None:
        return None
    trial = subprocess.run(
        [*namespace, "mount", "-t", "tmpfs", "tmpfs", str(Path(__file__).parent)], capture_output=True, check=False
    )
    if trial.returncode:
        return None
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [*namespace, sys.executable, "-m", module, *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout


def mount(folder: Path, *, size_mib: int = 4) -> None:
    """Put a small disk in the place of *folder*; only where `run_module` runs."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Let the disk of *folder* be full until the file that this returns is removed."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(_BLOCK_BYTES))
        except OSError:
            return filler
