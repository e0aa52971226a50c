"""The twelfth and the thirteenth blind set: secrets and harmless texts that were written before the rules were changed.

Each line of `samples/NAME_blind_set.txt` is a text: of a secret its kind, a tab, and the text. In a text, `§` stands
around what must not survive, `⏎` for a line break, and `{x40}` for 40 random signs of an alphabet.
"""

import re
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

_FILES = Path(__file__).with_name("samples")
_ALPHABETS = {
    "x": digits + "abcdef",
    "w": ascii_letters + digits,
    "d": digits,
    "u": ascii_uppercase + digits,
    "l": ascii_lowercase,
    "b": ascii_letters + digits + "-_",
    "p": ascii_letters + digits + "!#%+=?-",
}
NAMES = ("usual", "harmless")


def rows(name: str, author: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """The texts of *name*, one of NAMES, in the "twelfth" or "thirteenth" set: a kind, the text, the secrets in it."""
    usual, harmless = (_FILES / f"{author}_blind_set.txt").read_text(encoding="utf-8").split("# harmless\n")
    if name == "harmless":
        return [("harmless", _drawn(line), ()) for line in harmless.splitlines()]
    return [_row(*line.split("\t", 1)) for line in usual.splitlines()[1:]]


def _row(kind: str, line: str) -> tuple[str, str, tuple[str, ...]]:
    parts = _drawn(line).split("§")
    return kind, "".join(parts), tuple(parts[1::2])


def _drawn(line: str) -> str:
    """*line* with random signs, the same for the same line. A password has a digit and a sign."""
    random = Random(line)

    def draw(match: re.Match[str]) -> str:
        signs = random.choices(_ALPHABETS[match[1]], k=int(match[2]))
        if match[1] == "p":
            signs[3:5] = random.choice(digits), random.choice("!#%+=?-")
        return "".join(signs)

    return re.sub(r"\{([xwdulbp])([0-9]{1,3})\}", draw, line.replace("⏎", "\n"))
