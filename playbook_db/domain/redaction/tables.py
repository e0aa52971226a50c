"""The tables that redaction works with: TOML files beside this module, which need no code to be extended."""

import re
import tomllib
from importlib import resources
from typing import Any


def read_table(name: str) -> dict[str, Any]:
    """The table in the file *name*.toml."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def read_words(name: str) -> dict[str, frozenset[str]]:
    """The words in the file *name*.toml, under the key of each text that lists some."""
    return {key: frozenset(words.split()) for key, words in read_table(name).items() if isinstance(words, str)}


def filled(regex: str, parts: dict[str, str]) -> str:
    """Replace each `<name>` in *regex* with the expression of that name in *parts*. An unknown name stays."""
    return re.sub("<([a-z_]+)>", lambda part: parts.get(part[1], part[0]), regex)
