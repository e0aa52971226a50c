"""The real Claude Code client, in a cache outside the repository. It is proprietary: it is never committed."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

VERSION = "2.1.332"  # the newest that they were tried with
OLDEST = "2.1.197"
PACKAGE = "@anthropic-ai/claude-code"
PLATFORMS = ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64")
INSTALL_WAIT_S = 600.0  # a package of about 200 MB


class ClientMissingError(Exception):
    """The client can't be had here; the text says what is missing and how to get it."""


@dataclass(frozen=True, slots=True)
class Client:
    """An installed client."""

    binary: Path
    version: str


def ensure_client(version: str = VERSION) -> Client:
    """The client of *version*: from the cache, else installed into it by npm.

    The cache is `CLAUDE_CLIENT_CACHE`, else a folder among the machine's temporary files. Raises ClientMissingError.
    """
    kind = _platform()
    cache = Path(os.environ.get("CLAUDE_CLIENT_CACHE") or f"{tempfile.gettempdir()}/claude-client-{os.getuid()}")
    binary = cache / version / "node_modules" / f"{PACKAGE}-{kind}" / "claude"
    if not binary.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "install.lock"):
            if not binary.exists():
                _install(cache, version, kind)
    if not binary.exists():
        raise ClientMissingError(f"{PACKAGE}-{kind}@{version} was installed, but there is no {binary}.")
    return Client(binary, version)


def _platform() -> str:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    kind = f"{sys.platform}-{machine}"
    if kind not in PLATFORMS or (sys.platform == "linux" and platform.libc_ver()[0] != "glibc"):
        raise ClientMissingError(
            f"These tests know no Claude Code client for {kind} ({', '.join(PLATFORMS)}, glibc on Linux); "
            "run them on one of those."
        )
    return kind


def _install(cache: Path, version: str, kind: str) -> None:
    """Install beside the place and move it there, so that half a client is never taken for a whole one."""
    npm = shutil.which("npm")
    if npm is None:
        raise ClientMissingError(f"npm is missing, which fetches {PACKAGE}@{version}; install Node.js for npm.")
    with tempfile.TemporaryDirectory(dir=cache, prefix="installing-") as made:
        packages = [f"{PACKAGE}@{version}", f"{PACKAGE}-{kind}@{version}"]
        options = ["install", "--no-audit", "--no-fund", "--no-save", "--fetch-retries=1", "--prefix", made]
        command = [npm, *options, *packages]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_WAIT_S, cwd=made)
        except subprocess.TimeoutExpired as late:
            raise ClientMissingError(f"npm took longer than {INSTALL_WAIT_S:.0f} s to fetch {packages}.") from late
        if done.returncode:
            words = " ".join(line for line in done.stderr.splitlines() if line.startswith("npm error"))[:300]
            raise ClientMissingError(
                f"npm could not fetch {packages}; it needs the npm registry (`npm config get registry`), or a cache "
                f"that was filled before (CLAUDE_CLIENT_CACHE={cache}). npm says: {words}"
            )
        shutil.rmtree(cache / version, ignore_errors=True)
        (Path(made) / "node_modules").rename(_made(cache / version) / "node_modules")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
