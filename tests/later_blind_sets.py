"""The second and the third set of secrets and harmless texts: their authors had seen neither the rules nor another set.

They were given the paragraph that asks for the rules, and kinds to think of: providers' tokens, settings, commands,
code, logs, other languages. Every value is random and opens nothing. The texts are compressed so that scanners of
repositories keep quiet; `python -m tests.later_blind_sets usual` prints those of the second set that may be read.

Authors of rules may not read a third of the second set's kinds, drawn by chance: `is_looked_at`. They have read all of
the third set since it was counted.
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
