"""Regular expressions that are compiled when they are first used. Compiling all of them would take half a second."""

import re
from typing import Any, cast


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
