"""Evidence: quotes from a session that support a lesson, and how much the source of a quote can be trusted.

The model's claims about a source don't count. A quote gets the class of the place where it is found. If it is found in
several places, the lowest of their classes counts. A quote that isn't found supports nothing.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from playbook_db.domain.trust.corrections import is_correction

# The classes of trust, best first: the user's own words; what this machine showed, such as errors, tests and the
# project's files; text that a stranger may have written, such as a web page.
USER, HERE, OUTSIDE = TRUST = ("user", "seen", "outside")
ASSISTANT = "assistant"  # the class of the assistant's own words, which aren't evidence
ASSISTANTS_WORDS = "the assistant's own words"
ACCEPTED = "the assistant's words, which the user accepted"
IN_WORDS = {USER: "the user's words", HERE: "seen here", OUTSIDE: "from outside"}
_EARLIER_NAMES = {"tests": HERE, "files": HERE, "fetched": OUTSIDE}

MAX_QUOTE_CHARS = 300  # a longer quote is cut
_LEAST_CHARS = 8  # letters and digits in a quote; texts contain a shorter quote by chance
_LEAST_PIECE = 4  # letters and digits in a piece of a quote; a shorter piece is ignored
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_ELLIPSIS = re.compile(r"\[\.\.\.[^\]\n]{0,60}\]|\.{3,}|…")
_FRAME = " \t\"'`:>→$-"  # signs that a model puts around a quote, or between a command and its output
_SPEAKER = re.compile(r"(?:(?:the )?user(?: said| wrote)?|tool\(\w+\)|tool(?: \(error\))?|bash): ?")
INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF])
_COMPARED = str.maketrans("\u2018\u2019\u201c\u201d\xa0", "''\"\" ") | INVISIBLE


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a transcript: its class (one of TRUST, or ASSISTANT), a short label, and its text as a model saw it."""

    trust: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote from a session, the label of the place that contains it (or ""), and the trust class of that place."""

    quote: str
    place: str
    trust: str

    @property
    def kind(self) -> str:
        """The class of the evidence in words, such as "seen here"."""
        is_assistants = self.place in (ASSISTANTS_WORDS, ACCEPTED)
        return self.place if is_assistants else IN_WORDS.get(self.trust, IN_WORDS[OUTSIDE])

    @property
    def is_found(self) -> bool:
        """Whether a place has the quote. The assistant's own words are no place."""
        return self.place not in ("", ASSISTANTS_WORDS)

    @property
    def source(self) -> str:
        """The class of the evidence and the label of its place, in words."""
        if self.trust == USER or self.place == self.kind:
            return self.kind
        return f"{self.kind}; {self.place}" if self.place else "in no place of the session"


def find_evidence(quotes: Iterable[str], places: Sequence[Place]) -> list[Evidence]:
    """Find each of the *quotes* in *places*. If several places have a quote, use the place with the lowest class.

    The assistant's words count as the user's if the user's very next message is quoted, too: it accepts them. White
    space, case and colors don't matter. If a quote has an ellipsis, one place must contain its pieces in order.
    """
    texts = plain_texts(tuple(places))
    quotes = [quote for quote in quotes if isinstance(quote, str) and quote.strip()]
    evidence = [_evidence(quote, places, texts) for quote in quotes]
    return [
        replace(each, place=ACCEPTED, trust=USER)
        if each.place == ASSISTANTS_WORDS and _is_accepted(quote, quotes, places, texts)
        else each
        for quote, each in zip(quotes, evidence, strict=True)
    ]


def as_json(evidence: Sequence[Evidence], *, is_again: bool = False) -> str | None:
    """Encode *evidence* as JSON for the database, or as None if there is none. *is_again* marks evidence of a session
    that learned a point again."""
    mark = {"again": True} if is_again else {}
    return json.dumps([asdict(each) | mark for each in evidence], ensure_ascii=False) if evidence else None


def read_json(text: str | None) -> tuple[Evidence, ...]:
    """Parse *text*, which `as_json` wrote, perhaps with earlier names of classes. Fields that an erasure removed become
    ""."""
    listed = json.loads(text or "[]")
    rows = ([str(item.get(name, "")) for name in ("quote", "place", "trust")] for item in listed)
    return tuple(Evidence(quote, place, _EARLIER_NAMES.get(trust, trust)) for quote, place, trust in rows)


@lru_cache(maxsize=2)
def plain_texts(places: tuple[Place, ...]) -> list[str]:
    """Return the texts of *places*, normalized for comparison. They are cached, since each quote needs them."""
    return [plain(place.text) for place in places]


def _evidence(quote: str, places: Sequence[Place], texts: Sequence[str]) -> Evidence:
    excerpt = " ".join(quote.split())
    excerpt = excerpt if len(excerpt) <= MAX_QUOTE_CHARS else excerpt[: MAX_QUOTE_CHARS - 1] + "…"
    pieces = _pieces(quote)
    matches = [place for place, text in zip(places, texts, strict=True) if _holds(place, text, pieces)]
    evidence = [place for place in matches if place.trust != ASSISTANT]
    if not evidence:
        return Evidence(excerpt, matches[0].label if matches else "", OUTSIDE)
    worst = max(evidence, key=lambda place: TRUST.index(place.trust))
    return Evidence(excerpt, worst.label, worst.trust)


def _is_accepted(quote: str, quotes: Sequence[str], places: Sequence[Place], texts: Sequence[str]) -> bool:
    """Return whether the next place after the assistant's *quote* is the user's and begins with another of *quotes*. A
    message that begins like a correction accepts nothing."""
    for index, place in enumerate(places):
        if place.trust == ASSISTANT and _holds(place, texts[index], _pieces(quote)):
            after = index + 1
            while after < len(places) and places[after].trust == ASSISTANT:
                after += 1
            if after < len(places) and places[after].trust == USER and not is_correction(places[after].text):
                others = [plain(other) for other in quotes if other != quote]
                return any(_bare(texts[after]).startswith(_bare(other)) for other in others if _bare(other))
    return False


def _pieces(quote: str) -> list[str]:
    return [piece for piece in (_bare(piece) for piece in _ELLIPSIS.split(plain(quote))) if piece]


def _holds(place: Place, text: str, pieces: Sequence[str]) -> bool:
    """Return whether *text*, that of *place*, contains the *pieces* of a quote in order. The command in the label may
    come first. A short quote must be the user's whole message."""
    if place.trust == USER and pieces == [_bare(text)]:
        return True
    command = plain(place.label.partition(": ")[2]).removesuffix("…")
    if command and pieces and pieces[0].startswith(command):
        pieces = [_bare(pieces[0][len(command) :]), *pieces[1:]]
    pieces = [piece for piece in pieces if _weight(piece) >= _LEAST_PIECE]
    if sum(map(_weight, pieces)) < _LEAST_CHARS:
        return False
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _weight(piece: str) -> int:
    """Return the number of letters and digits in *piece*. A letter beyond Latin, such as a Chinese one, counts two."""
    return sum(1 + (char > "\u02ff") for char in piece if char.isalnum())


def _bare(piece: str) -> str:
    piece = piece.strip(_FRAME)
    return piece[match.end() :].strip(_FRAME) if (match := _SPEAKER.match(piece)) else piece


def plain(text: str) -> str:
    """Return *text* normalized for comparison: without colors, invisible characters, case and extra spaces."""
    return " ".join(_ANSI.sub("", text).translate(_COMPARED).casefold().split())
