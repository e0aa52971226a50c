"""The pictures of the documentation: `make pictures`.

`docs/pictures/terminal.svg` shows a terminal with commands in the project of docs/sql.md. A test types them again and
compares. `learned.svg` is the start of a second session of the real
client, whose model is scripted; a test with the client compares it. The others are what Chromium shows of
`playbook web` after ten weeks, light and dark.
"""

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch
from urllib.parse import urljoin

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from playbook_db.services.opening import open_project
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.docs.consoles import ROOT
from tests.docs.hafen import live_two_weeks
from tests.terminals import read_to_end

if TYPE_CHECKING:
    from tests.client.harness import World

PICTURES = ROOT / "docs" / "pictures"
TERMINAL, LEARNED = PICTURES / "terminal.svg", PICTURES / "learned.svg"
COLUMNS = 96
HAFEN = "/home/ann/hafen"  # in place of a temporary folder
WIDTH = 1200  # pixels, of a page
TYPED = (
    "playbook list --sort votes -n 3",
    "playbook why pat-014",
    'playbook search "dates in tests" -n 2',
    "playbook undo --session a1d35c66",
)
SESSION = "0f3c7a52-4b0d-4f6e-9d3a-2f8b6c5d1e40"  # in which the user said SAID
SAID = "Deploy with just ship. npm run deploy skips the migrations."
LESSON = "Deploy with just ship"
_OURS = ("CLAUDE_", "PLAYBOOK_", "ANTHROPIC_", "AGENTIC_CONTEXT_")
_DARK = ("484f58", "ff7b72", "3fb950", "d29922", "58a6ff", "bc8cff", "39c5cf", "b1bac4")
_BRIGHT = ("6e7681", "ffa198", "56d364", "e3b341", "79c0ff", "d2a8ff", "56d4dd", "f0f6fc")
_FONTS = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)  # which rich fetches from elsewhere
_SHOWN = re.compile(r"<text [^>]*>(.*?)</text>", re.DOTALL)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A temporary folder whose path is always as long: where a line is folded hangs on it."""
    with tempfile.TemporaryDirectory(prefix="p-", dir="/tmp") as made:
        yield Path(made).resolve()


@contextmanager
def hafen(root: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """The folder of the project `hafen` after two weeks, below *root*, and the environment of who works there."""
    home, folder = root / "home", root / "hafen"
    for made in (home, folder):
        made.mkdir(parents=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    env |= {"HOME": str(home), "PLAYBOOK_ACTOR": "ann@laptop", "CLAUDE_CONFIG_DIR": str(home / ".claude"), "TZ": "UTC"}
    database = home / ".claude" / "playbook" / "playbook.db"
    database.parent.mkdir(parents=True)
    with patch.dict(os.environ, env, clear=True), open_store(f"sqlite:///{database}") as store:
        for _ in live_two_weeks(Project.in_folder(store, str(folder))):
            pass
    yield folder, env


def recorded(folder: Path, env: dict[str, str]) -> str:
    """What a terminal shows, with colors, if all of TYPED is typed in *folder*."""
    shown = "\n".join(_typed(command, _on_terminal(command, folder, env)) for command in TYPED)
    return shown.replace(str(folder), HAFEN).rstrip("\n")


def _typed(command: str, printed: str) -> str:
    return f"\x1b[1;32m$\x1b[0m {command}\n{printed}"


def learned(world: "World") -> str:
    """What the user of the real client in *world* sees after a session in which they said SAID.

    Raises AssertionError if the second session doesn't say what was learned.
    """
    from tests.client.harness import run_print, wait_until
    from tests.client.ours import ask_playbook, register
    from tests.client.terminal import interactive
    from tests.learning.conftest import MessagesApi, answers, curation, reflection

    add = {"type": "ADD", "section": "USER PREFERENCES", "text": LESSON, "evidence": [SAID]}
    register(world)
    said = run_print(world, "--session-id", SESSION, SAID).out
    with MessagesApi(*answers(reflection(), curation(add))) as model:
        key = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-test"}
        ask_playbook(replace(world, variables=key), "work")
    with interactive(world) as session:
        wait_until(lambda: "SessionStart" in session.screen, "the line at the session's start")
        begun = [line for line in session.screen.splitlines() if "SessionStart" in line]
    assert len(begun) == 1, begun
    why = _on_terminal("playbook why pref-001", world.project, {"HOME": str(world.home), "TZ": "UTC"})
    # Many fonts lack the corner that the client prints.
    steps = (
        (f'claude -p "{SAID}"', said),
        ("claude", f"{begun[0].replace('⎿', '└')}\n"),
        ("playbook why pref-001", why),
    )
    return "\n".join(_typed(command, shown) for command, shown in steps).rstrip("\n")


def _on_terminal(command: str, folder: Path, env: dict[str, str]) -> str:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    ours = {**env, "TERM": "xterm-256color", "PATH": str(Path(sys.executable).parent)}  # it has no pager
    ours.pop("PAGER", None)
    words = shlex.split(command)
    with subprocess.Popen(words, cwd=folder, stdin=follower, stdout=follower, stderr=follower, env=ours):
        os.close(follower)
        return read_to_end(leader)


def as_svg(shown: str, title: str) -> str:
    """The picture of a terminal that has *shown* that; it fetches nothing from elsewhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(Text.from_ansi(shown), soft_wrap=True)
    drawn = console.export_svg(title=title, theme=_theme(), unique_id="terminal")
    drawn = _FONTS.sub("", drawn).replace("Fira Code", "ui-monospace, SFMono-Regular, Menlo, Consolas")
    return re.sub(r"[ \t]+$", "", drawn, flags=re.MULTILINE) + "\n"


def _theme() -> TerminalTheme:
    def rgb(colour: str) -> tuple[int, int, int]:
        red, green, blue = bytes.fromhex(colour)
        return red, green, blue

    return TerminalTheme(rgb("0d1117"), rgb("e6edf3"), [*map(rgb, _DARK)], [*map(rgb, _BRIGHT)])


def text_of(svg: str) -> str:
    """The words that the picture *svg* shows."""
    return "\n".join(unescape(part).replace("\xa0", " ") for part in _SHOWN.findall(svg))


@contextmanager
def at_the_client(root: Path) -> "Iterator[World]":
    """The real client with a home and a project below *root*. Raises ClientMissingError."""
    from tests.client.harness import World, fresh_home
    from tests.client.install import ensure_client
    from tests.messages_api import MessagesApi

    home, folder = root / "home", root / "shop"
    for made in (home, folder):
        made.mkdir(parents=True)
    fresh_home(home, folder)
    with MessagesApi() as api:
        yield World(ensure_client(), home, folder, api)


def take_pages(root: Path) -> None:
    """Take the pictures of two pages, of a project below *root*."""
    from tests.web.browser import Scheme, browser, serving, take_picture
    from tests.web.filled_playbook import fill

    home, folder = root / "home", root / "hafen"
    for made in (home, folder / ".claude"):
        made.mkdir(parents=True)
    with open_project(f"sqlite:///{home}/.claude/playbook/playbook.db", str(folder), notify=print) as project:
        fill(project)
    schemes: tuple[Scheme, ...] = ("light", "dark")
    with serving(folder, home) as address, browser() as driver:
        driver.get(address)
        for name, path, height in (("page", "points", 860), ("numbers", "numbers", 1060)):
            driver.get(urljoin(address, path))
            driver.execute_script("document.querySelector('.where').textContent = arguments[0]", HAFEN)
            for scheme in schemes:
                take_picture(driver, PICTURES / f"{name}-{scheme}.png", WIDTH, scheme, height)


def main() -> None:
    """Make all pictures again."""
    PICTURES.mkdir(exist_ok=True)
    with short_folder() as root:
        with hafen(root / "terminal") as (folder, env):
            TERMINAL.write_text(as_svg(recorded(folder, env), "hafen"), encoding="utf-8")
        with at_the_client(root / "learned") as world:
            LEARNED.write_text(as_svg(learned(world), "shop"), encoding="utf-8")
        take_pages(root / "page")


if __name__ == "__main__":
    main()
