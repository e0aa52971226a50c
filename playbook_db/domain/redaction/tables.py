"""The tables that redaction works with: TOML files beside this module, which need no code to be extended; and the
regular expressions, each compiled when a text first needs it, as compiling all of them takes half a second.
"""

import functools
import pkgutil
import re
import tomllib
from typing import Any, cast


@functools.cache
def read_table(name: str) -> dict[str, Any]:
    """The table in the file *name*.toml."""
    return tomllib.loads((pkgutil.get_data(__package__, f"{name}.toml") or b"").decode())


def read_words(name: str) -> dict[str, frozenset[str]]:
    """The words in the file *name*.toml, under the key of each text that lists some."""
    return {key: frozenset(words.split()) for key, words in read_table(name).items() if isinstance(words, str)}


def filled(regex: str, parts: dict[str, str]) -> str:
    """Replace each `<name>` in *regex* with the expression of that name in *parts*. An unknown name stays."""
    return re.sub("<([a-z_]+)>", lambda part: parts.get(part[1], part[0]), regex)


def regex(pattern: str, flags: int = 0) -> "re.Pattern[str]":
    """The regular expression, compiled at its first use."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub"):
            setattr(self, method, getattr(compiled, method))  # found without coming here from now on
        return getattr(compiled, name)
