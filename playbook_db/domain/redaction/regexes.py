"""Regular expressions that are compiled when they are first used. Compiling all of them would take half a second."""

import re
from typing import Any, cast


def filled(regex: str, parts: dict[str, str]) -> str:
    """Replace each `<name>` in *regex* with `parts[name]`. An unknown name is left as it is."""
    return re.sub("<([a-z_]+)>", lambda part: parts.get(part[1], part[0]), regex)


def regex(pattern: str, flags: int = 0) -> "re.Pattern[str]":
    """Return a regular expression for *pattern* that is compiled when it is first used."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub"):
            setattr(self, method, getattr(compiled, method))  # so that __getattr__ isn't called again
        return getattr(compiled, name)
