"""What tools print when something fails: much noise and, somewhere in it, the few lines that say what it was.

Made up here and now, the same for the same seed. A kind is a handful of templates: `{w}` is a word, `{n}` a number,
`{h}` eight hexadecimal digits, `{f}` a path without its ending, each drawn anew; with a digit (`{n1}`) it is drawn once
a failure. In a failure the lines that begin with `!` are decisive: who has them knows what to mend. Words that mislead
("error" in the name of a test that passed) are drawn as any others; a kind's storms come by the thousand, or not at
all.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PLACES = ("head", "middle", "tail")
_WITHIN = {"head": (0.0, 0.1), "middle": (0.3, 0.7), "tail": (0.9, 1.0)}
_WORDS = re.findall(
    r"\w+",
    """
    cart order price login token session parser render cache index query config schema worker queue upload invoice
    report filter header footer stream buffer socket client server router handler widget layout margin table column
    export import merge update delete insert search locale format number string binary matrix vector error errors
    exception fail failure failed fatal panic timeout killed denied missing abort warning assert retry
    """,
)
_POOL = 20_000  # different lines of noise at most
_SLOT = re.compile(r"\{([wnhf])(\d?)\}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A tool: lines of noise, storms (of which some rage), failures (one happens), and how it ends after any."""

    name: str
    noise: str
    failures: tuple[str, ...]
    storms: str = ""
    end: str = ""
    cause: tuple[str, ...] = ()  # decisive too, and said by the noise over and over: hundreds fail for one reason


@dataclass(frozen=True, slots=True)
class Case:
    """A tool's output of about *size* characters in which *decisive* lines stand at *place*."""

    kind: str
    size: int
    place: str
    text: str
    decisive: tuple[str, ...]


def cases(kind: Kind, seed: int, sizes: Sequence[int]) -> Iterator[Case]:
    """One case for each of *sizes* and places; the shorter ones have the beginning of the longest one's noise."""
    chance = random.Random(f"{kind.name} {seed}")
    noise = _noise(kind, chance, max(sizes))
    for size in sizes:
        for place in PLACES:
            lines, decisive = _failure(chance.choice(kind.failures), chance)
            end = [_filled(line, chance, {}) for line in kind.end.strip("\n").splitlines()]
            length = size - sum(len(line) + 1 for line in (*lines, *end))
            count = next((index for index, start in enumerate(noise.starts) if start > length), len(noise.lines))
            low, high = _WITHIN[place]
            at = int(count * chance.uniform(low, high))
            text = "\n".join([*noise.lines[:at], *lines, *noise.lines[at:count], *end])
            yield Case(kind.name, size, place, text, (*decisive, *(cause for cause in kind.cause if cause in text)))


@dataclass(frozen=True, slots=True)
class _Noise:
    lines: list[str]
    starts: list[int]


def _noise(kind: Kind, chance: random.Random, size: int) -> _Noise:
    usual = kind.noise.strip("\n").splitlines()
    storms = [line for line in kind.storms.strip("\n").splitlines() if chance.random() < 0.5]
    share = chance.uniform(0.2, 0.7) if storms else 0.0
    pool = [
        _filled(chance.choice(storms if chance.random() < share else usual), chance, {})
        for _ in range(min(_POOL, size // 20))
    ]
    noise = _Noise([], [])
    written = 0
    while written < size:
        line = chance.choice(pool)
        noise.lines.append(line)
        noise.starts.append(written)
        written += len(line) + 1
    return noise


def _failure(template: str, chance: random.Random) -> tuple[list[str], tuple[str, ...]]:
    memory: dict[str, str] = {}
    lines, decisive = [], []
    for raw in template.strip("\n").splitlines():
        line = _filled(raw.removeprefix("!"), chance, memory)
        lines.append(line)
        if raw.startswith("!"):
            decisive.append(re.sub(r"\x1b\[[0-9;]*m", "", line).strip())
    return lines, tuple(decisive)


def _filled(template: str, chance: random.Random, memory: dict[str, str]) -> str:
    def fill(slot: re.Match[str]) -> str:
        if not slot[2]:
            return _drawn(slot[1], chance)
        return memory.setdefault(slot[0], _drawn(slot[1], chance))

    return _SLOT.sub(fill, template).replace("<esc>", "\x1b[").replace("<cr>", "\r")


def _drawn(what: str, chance: random.Random) -> str:
    if what == "w":
        return chance.choice(_WORDS)
    if what == "n":
        return str(chance.randrange(1, 10 ** chance.randrange(1, 4)))
    if what == "h":
        return f"{chance.getrandbits(32):08x}"
    return "/".join(chance.choice(_WORDS) for _ in range(chance.randrange(1, 4)))
