"""The client as people have it: interactive, in a terminal, which is a tmux server of its own."""

import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.client.harness import PATIENCE_S, Run, World, wait_until

AGAIN_S = 15.0  # after which a key that changed nothing is pressed again; far more than the client takes for one
QUIET_S = 0.7  # a screen that shows a prompt and hasn't changed for so long waits for the user
_BUSY = re.compile(r"esc to interrupt|Compacting|running (?:\w+ )?hooks?|… \(\d+s|\(\d+s ·")
_PROMPT = re.compile(r"^\s*[❯>]", re.MULTILINE)
# The shell is named, as some users, such as `nobody`, may start none of their own.
_CONFIG = "set -g default-shell /bin/sh\nset -g remain-on-exit on\nset -g history-limit 5000\nset -g status off\n"


@contextmanager
def interactive(world: World, *arguments: str) -> Iterator["Terminal"]:
    """A client that waits for input; it and its terminal are gone at the end, whatever happens."""
    folder = Path(tempfile.mkdtemp(prefix="pbt-"))  # short: the path of a socket has 100 bytes
    terminal = Terminal(world, folder)
    try:
        terminal.start(*arguments)
        yield terminal
    finally:
        terminal.close()
        shutil.rmtree(folder)


@dataclass(slots=True)
class Terminal:
    """One client on one screen."""

    world: World
    folder: Path

    def start(self, *arguments: str) -> None:
        """Start the client and wait for its prompt."""
        (self.folder / "conf").write_text(_CONFIG)
        variables = [f"{name}={value}" for name, value in self.world.environment.items()]
        client = shlex.join(["env", "-i", *variables, str(self.world.client.binary), *arguments])
        start = f"echo $$ >{self._note('pid')}; exec {client}"
        # tmux 3.3 may lose an exit code: the shell that waits for the client keeps it.
        command = f"sh -c {shlex.quote(start)}; echo $? >{self._note('code')}"
        size = ["-x", "160", "-y", "50", "-c", str(self.world.project)]
        self._tmux("-f", str(self.folder / "conf"), "new-session", "-d", *size, command)
        wait_until(lambda: self._noted("pid"), "the client's start")
        self.wait_idle()

    @property
    def pid(self) -> int:
        """The client's process."""
        return int(self._noted("pid"))

    @property
    def screen(self) -> str:
        """What the screen shows."""
        return self._tmux("capture-pane", "-p")

    @property
    def first_line(self) -> str:
        """The line of a hook at the session's start; empty if there is none."""
        above = re.split("──|❯", self.screen)[0]
        return " ".join(above.split()).partition("SessionStart:startup says: ")[2]

    @property
    def is_over(self) -> bool:
        """Whether the client has ended."""
        return bool(self._noted("code"))

    def say(self, text: str) -> None:
        """Type *text*, send it off, and wait until the client has done with it."""
        self.type(text)
        asked = len(self.world.api.messages())
        self._tmux("send-keys", "Enter")
        if text != "/clear":  # all else asks the API something
            assert self.world.api.wait_for(lambda seen: len(seen) > asked, PATIENCE_S), self.screen
        self.wait_idle()

    def type(self, text: str) -> None:
        """Type *text* and wait until the screen shows it."""
        self._tmux("send-keys", "-l", text)
        wait_until(lambda: text in self.screen, f"{text!r} on the screen")

    def send(self, text: str) -> None:
        """Type *text* and send it off; don't wait."""
        self.type(text)
        self._tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        """Press *keys*, as tmux names them."""
        self._tmux("send-keys", *keys)

    def press_until(self, has_it: Callable[[str], object], *keys: str) -> None:
        """Press *keys* until the screen *has_it*: a new dialog doesn't listen to keys at once."""
        pressed = -math.inf

        def answered() -> bool:
            nonlocal pressed
            if has_it(self.screen):
                return True
            if time.monotonic() - pressed > AGAIN_S:
                self.press(*keys)
                pressed = time.monotonic()
            return False

        wait_until(answered, f"what {' '.join(keys)} does")

    def exit(self) -> Run:
        """`/exit`; its exit code and last screen."""
        self.send("/exit")
        return self.wait_over()

    def wait_over(self) -> Run:
        """Wait until the client has ended."""
        wait_until(lambda: self.is_over, "the client's end")
        ended = time.time()
        return Run(int(self._noted("code")), self._tmux("capture-pane", "-p", "-S", "-3000").strip(), "", ended)

    def wait_idle(self) -> None:
        """Wait until the client waits for input: a prompt, nothing going on, no request for a while."""
        last, since, begun = None, time.monotonic(), time.monotonic()
        while time.monotonic() - begun < PATIENCE_S:
            screen = self.screen
            now = (len(self.world.api.requests), screen)
            if now != last or _BUSY.search(screen) or not _PROMPT.search(screen):
                last, since = now, time.monotonic()
            elif time.monotonic() - since >= QUIET_S:
                return
            time.sleep(0.05)
        raise AssertionError(f"the client never came to rest:\n{self.screen}")

    def close(self) -> None:
        """Kill the client, then the terminal."""
        if self._noted("pid") and not self.is_over:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._tmux("kill-server", check=False)

    def _note(self, name: str) -> Path:
        return self.folder / name

    def _noted(self, name: str) -> str:
        """A whole line that the shell around the client wrote, else nothing."""
        text = self._note(name).read_text() if self._note(name).exists() else ""
        return text if text.endswith("\n") else ""

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        environment = {
            "PATH": self.world.environment["PATH"],
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }
        command = ["tmux", "-S", str(self.folder / "s"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=check, env=environment).stdout
