"""Define which characters belong to words. A server's own definition depends on its locale.

`search.sql` uses these characters in regular expressions that don't depend on the version of Python.
"""

import functools
import itertools
import unicodedata
from collections.abc import Callable

from playbook_db.domain.search_words import stands_alone

_KNOWN = unicodedata.ucd_3_2_0  # the one edition of Unicode that every Python has
_SIGNS = {*range(0x2190, 0x2C00), *range(0x2E00, 0x2E80), *range(0x1F000, 0x1FB00)}  # most came later
_WITH_CAPITALS = range(0x80, 0x590)  # Latin, Greek, Cyrillic and Armenian letters


def filled(statement: str) -> str:
    """Replace the placeholders in *statement*, such as `{capitals}`, with the characters."""
    return functools.reduce(lambda text, each: text.replace(*each), _letters().items(), statement)


@functools.cache
def _letters() -> dict[str, str]:
    capitals = [chr(code) for code in _WITH_CAPITALS if not unicodedata.normalize("NFD", chr(code))[0].isascii()]
    folded = [(each, each.lower()) for each in capitals if each.lower() != each and len(each.lower()) == 1]
    return {
        "{between}": _ranges(range(1, 0x1FC00), _is_between),
        "{alone}": _ranges(range(0x2E80, 0x34000), lambda code: stands_alone(chr(code))),
        "{capitals}": "".join(capital for capital, _ in folded),
        "{small}": "".join(small for _, small in folded),
    }


def _is_between(code: int) -> bool:
    """Return whether the character *code* separates words, as in SQLite. Letters, digits and private ones don't."""
    if 0x3400 <= code < 0xFB00 or code > 0xFFFF:  # Chinese, Korean and private characters; old scripts
        return code in _SIGNS
    category = _KNOWN.category(chr(code))
    return code in _SIGNS or (category[0] not in "LN" and category != "Cn")


def _ranges(codes: range, is_one: Callable[[int], bool]) -> str:
    """Return the characters *codes* for which *is_one* is true, as ranges in a regular expression."""
    runs = [[*run] for is_in, run in itertools.groupby(codes, is_one) if is_in]
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)
