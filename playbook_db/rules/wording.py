"""Which words of a text changed. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_PAIRS = 50_000  # of equal words; beyond it, all between the first and the last difference counts as changed


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of two texts: what was there before and what is there now; the same in both where nothing changed."""

    before: str
    after: str

    @property
    def is_same(self) -> bool:
        """Whether the part is in both texts."""
        return self.before == self.after


def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """The parts of two texts, in order, as few as tell which words changed; together they give either text again."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = _middle(old[head : len(old) - tail], new[head : len(new) - tail])
    pieces = [_piece(old[:head], old[:head]), *middle, _piece(old[len(old) - tail :], new[len(new) - tail :])]
    return tuple(piece for piece in pieces if piece.before or piece.after)


def marked(before: str, after: str) -> str:
    """The new text with its changes marked, as `[-old-]{+new+}`."""
    return "".join(mark(piece) for piece in compare_words(before, after))


def mark(piece: Piece) -> str:
    """The piece as it stands in a marked text."""
    if piece.is_same:
        return piece.after
    gone = f"[-{piece.before}-]" if piece.before else ""
    return gone + (f"{{+{piece.after}+}}" if piece.after else "")


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _middle(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    often = Counter(new)
    if sum(often[token] for token in old if not token.isspace()) > _MOST_PAIRS:
        yield _piece(old, new)
        return
    # White space alone is no reason to take two places for the same.
    for _, a, b, c, d in SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        yield _piece(old[a:b], new[c:d])


def _piece(old: Sequence[str], new: Sequence[str]) -> Piece:
    return Piece("".join(old), "".join(new))
