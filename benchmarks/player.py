"""The commands and hooks of one checkout, for `benchmarks.same_answers`: `python -P player.py CHECKOUT`.

It reads a request as a line of JSON: a place (a folder), a time and the steps to take. It answers with a line: what
each step printed. Each step runs in a fork, at a time that the request sets. It knows no module of the package by
name but `__main__`, so that it can play checkouts whose modules differ.
"""

import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from time import sleep
from typing import Any, NoReturn

_PATIENCE_S = 600.0  # a hook's deadline: a busy machine must not silence it
_MASKS = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?=\w+: )"), "LOGGED "),
    (re.compile(r'("?duration_ms"?: ?)[\d.]+'), r"\1MS"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "TIME"),
    (re.compile(r" +\d+\.\d s\b"), " TIME"),
)
_MOST = 1 << 26  # bytes that are read of what a step prints
_MEASURED = {"duration_ms", "mtime_ns"}  # columns


class _Clock:
    """The time that everything in this process sees."""

    now = 0.0

    def patch(self) -> None:
        """Let each module of the package ask this clock, and let no hook run out of time."""
        time.time = lambda: self.now
        set_datetime(lambda: self.now, setattr)
        for module in _modules():
            if hasattr(module, "DEADLINE_S"):
                module.DEADLINE_S = _PATIENCE_S


def set_datetime(now: Callable[[], float], put: Callable[[Any, str, Any], None]) -> None:
    """Let each module of the package that asks `datetime` for the present time get *now*, in seconds since 1970. *put*
    sets an attribute of a module, as `setattr` does."""

    class Asking(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, datetime)

    class Set(datetime, metaclass=Asking):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Set":
            return cls.fromtimestamp(now(), tz)

    for module in _modules():
        if getattr(module, "datetime", None) is datetime:
            put(module, "datetime", Set)


def _modules() -> Iterator[Any]:
    package = importlib.import_module("playbook_db")
    for info in pkgutil.walk_packages(package.__path__, "playbook_db."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def main() -> None:
    """Answer requests until there are no more."""
    root, clock = sys.argv[1], _Clock()
    assert str(importlib.import_module("playbook_db").__file__).startswith(root), root
    clock.patch()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        clock.now = request["now"]
        answers = [_answer(root, clock, Path(request["place"]), step) for step in request["steps"]]
        print(json.dumps({"now": clock.now, "answers": answers}), flush=True)


def _answer(root: str, clock: _Clock, place: Path, step: list[Any]) -> str:
    """What the *step* prints, with its exit code, in words that are the same for each checkout."""
    clock.now += 1.25
    kind, *given = step
    match kind:
        case "run":
            words, stdin, lines = given
            work = partial(runpy.run_module, "playbook_db", None, "__main__")
            said = _forked(place, ["playbook", *words], stdin, work, lines=lines)
        case "hook":
            name, event = given
            with suppress(OSError):  # a worker has looked just now: the hook starts none
                os.utime(place / "home/.claude/playbook/worker.lock", (clock.now, clock.now))
            script = os.path.join(root, "hooks", f"{name}.py")
            words = [name, "user", "/bin/true"]
            said = _forked(place, words, json.dumps(event), partial(runpy.run_path, script, None, "__main__"))
        case "wait":
            clock.now, said = clock.now + given[0], ""
        case "write":
            (place / given[0]).parent.mkdir(parents=True, exist_ok=True)
            said = f"{(place / given[0]).write_bytes(given[1].encode('utf-8', 'surrogateescape'))} bytes"
        case "change":
            path = place / given[0]
            text = path.read_text("utf-8") if path.exists() else ""
            said = f"{text.count(given[1])} times"
            if given[1] in text:
                path.write_text(text.replace(given[1], given[2]), "utf-8")
        case "files":
            said = "".join(_files(place))
        case "rows":
            said = "".join(_rows(place / "home/.claude/playbook/playbook.db"))
        case _:
            raise ValueError(kind)
    for pattern, mask in _MASKS:
        said = pattern.sub(mask, said)
    return said.replace(sys.prefix, "PREFIX").replace(root, "CHECKOUT")


def _forked(place: Path, arguments: list[str], stdin: str, work: Callable[[], object], *, lines: int = 0) -> str:
    """What a fork of this process prints while it does the *work* in the project of *place*. Its input ends once it has
    printed so many *lines*."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given, giving = os.pipe()
        child = os.fork()
        if not child:
            os.close(giving)
            _run(place, arguments, (given, out.fileno(), err.fileno()), work)
        os.close(given)
        with suppress(BrokenPipeError), open(giving, "wb") as pipe:
            pipe.write(stdin.encode("utf-8", "surrogateescape"))
            pipe.flush()
            while os.pread(out.fileno(), _MOST, 0).count(b"\n") < lines:
                sleep(0.05)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [os.pread(file.fileno(), _MOST, 0).decode("utf-8", "backslashreplace") for file in (out, err)]
    if lines:  # answers come in any order
        texts[0] = "\n".join(sorted(texts[0].splitlines()))
    return f"exit code {code}\n{texts[0]}" + (f"stderr:\n{texts[1]}" if texts[1] else "")


def _run(place: Path, arguments: list[str], files: tuple[int, int, int], work: Callable[[], object]) -> NoReturn:
    """Do the *work* in this process, as a command whose three standard *files* are these, and end."""
    code: object = 70
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        standard = (os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww"))
        sys.stdin, sys.stdout, sys.stderr = standard
        os.chdir(place / "project")
        os.environ.clear()
        os.environ.update(_environment(place))
        sys.argv = arguments
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _environment(place: Path) -> dict[str, str]:
    return {
        "HOME": str(place / "home"), "CLAUDE_PROJECT_DIR": str(place / "project"), "TZ": "UTC", "COLUMNS": "100",
        "PATH": f"{place / 'bin'}:/usr/bin:/bin", "PLAYBOOK_NO_SETUP": "1", "PLAYBOOK_ACTOR": "ann",
        "TERM": "dumb", "LANG": "C.UTF-8",
    }  # fmt: skip


def _files(place: Path) -> Iterator[str]:
    """The files that the package wrote for people: of the project, the logs and Claude Code's settings."""
    for folder in (place / "project", place / "home/.claude/playbook/logs", place / "home/.claude"):
        for path in sorted(folder.glob("*") if folder.name != "project" else folder.rglob("*")):
            if path.is_file():
                yield f"{path.relative_to(place)}:\n{path.read_bytes().decode('utf-8', 'backslashreplace')}\n"


def _rows(path: Path) -> Iterator[str]:
    """Each row of the database, but for what is measured."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        for (table,) in tables.fetchall():
            if not re.search(r"^sqlite_|_(data|idx|content|docsize|config)$", table):
                rows = connection.execute(f'SELECT * FROM "{table}"')
                names = [column[0] for column in rows.description]
                kept = [
                    [value for name, value in zip(names, row, strict=True) if name not in _MEASURED] for row in rows
                ]
                yield from sorted(f"{table}: {row}\n" for row in kept)


if __name__ == "__main__":
    main()
