"""A second set of secrets and harmless texts by an author who had not seen the rules, nor the first set.

He was given the paragraph that asks for the rules, and kinds to think of: providers' tokens, settings, commands, code,
logs, other languages. Every value is random and opens nothing. The texts are compressed so that scanners of
repositories keep quiet; `python -m tests.second_blind_set usual` prints those that may be looked at.

Of the kinds a third, drawn by chance, may not be looked at by whoever writes rules: `is_looked_at`. A third author's
set has the same form; all of it was looked at once it had been counted.
"""

import json
import lzma
import random
import sys
from functools import cache
from pathlib import Path

_FILES = Path(__file__).with_name("samples")
_THIRD = 12  # the seed that draws the kinds nobody looks at
NAMES = ("usual", "hard", "harmless")

Row = tuple[str, str, tuple[str, ...]]  # its kind, the text, and the secrets of which none may survive


@cache
def rows(name: str, author: str = "second") -> tuple[Row, ...]:
    """The texts of *name*, one of NAMES, by the second or the third author."""
    texts = json.loads(lzma.decompress((_FILES / f"{author}_blind_set.json.xz").read_bytes()))[name]
    return tuple((kind, text, tuple(secrets)) for kind, text, secrets in texts)


@cache
def _hidden(name: str) -> frozenset[str]:
    kinds = sorted({kind for kind, _, _ in rows(name)})
    random.Random(_THIRD).shuffle(kinds)
    return frozenset(kinds[: len(kinds) // 3])


def is_looked_at(name: str, kind: str) -> bool:
    """Whether the texts of *kind* may be read."""
    return kind not in _hidden(name)


if __name__ == "__main__":
    for kind, text, secrets in rows(sys.argv[1]):
        if is_looked_at(sys.argv[1], kind):
            sys.stdout.write(f"== {kind}: {', '.join(secrets)}\n{text}\n")
