"""Which characters make up words, for a server whose own notion of that hangs on its locale.

They are said in `search.sql` as parts of regular expressions, the same whichever Python makes them.
"""

import functools
import itertools
import unicodedata
from collections.abc import Callable

from playbook_db.domain.search_words import stands_alone

_KNOWN = unicodedata.ucd_3_2_0  # the one edition of Unicode that every Python has
_SIGNS = {*range(0x2190, 0x2C00), *range(0x2E00, 0x2E80), *range(0x1F000, 0x1FB00)}  # most of them came later
_WITH_CAPITALS = range(0x80, 0x590)  # Latin, Greek, Cyrillic and Armenian letters


def filled(statement: str) -> str:
    """*statement* with the characters in place of what stands for them."""
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
    """Whether a character is of no word, as for SQLite: neither letter nor digit, nor of somebody's private use."""
    if 0x3400 <= code < 0xFB00 or code > 0xFFFF:  # Chinese, Korean and private characters; old scripts
        return code in _SIGNS
    category = _KNOWN.category(chr(code))
    return code in _SIGNS or (category[0] not in "LN" and category != "Cn")


def _ranges(codes: range, is_one: Callable[[int], bool]) -> str:
    """What stands between the brackets of a regular expression for those of the *codes* of which *is_one* is true."""
    runs = [[*run] for is_in, run in itertools.groupby(codes, is_one) if is_in]
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)
