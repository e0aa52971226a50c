"""The project's instruction files. Sessions read them anyway, so the reflector mustn't repeat them in lessons."""

import os
from collections.abc import Callable
from contextlib import suppress

from playbook_db.projects import read_plain

FILES = ("CLAUDE.md", "AGENTS.md")
MAX_CHARS = 6000  # of all files together
_CUT = "\n[...]"


def read_instructions(folder: str | None, clean: Callable[[str], str]) -> str:
    """Return the instruction files in *folder*, each under its name, with *clean* applied before they are cut to
    MAX_CHARS. Skip files that can't be read, and links that lead out of the folder. Equal files count once."""
    texts: dict[str, str] = {}
    for name in FILES if folder else ():
        path = os.path.realpath(os.path.join(str(folder), name))
        if os.path.commonpath([path, os.path.realpath(str(folder))]) == os.path.realpath(str(folder)):
            with suppress(OSError):
                texts.setdefault(clean(read_plain(path).decode("utf-8", "replace")).strip(), name)
    texts.pop("", None)
    limit = MAX_CHARS // max(1, len(texts)) - len(f"## {FILES[0]}\n\n\n")
    return "\n\n".join(f"## {name}\n{_cut(text, limit)}" for text, name in texts.items())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT
