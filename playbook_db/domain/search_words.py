"""What a text asks for, in words that an index for full text can look up, and which points answer it best.

Pure, and without imports: the hooks use it as the store does. A question is a text of any kind, such as a prompt or the
message of an error. What is in it of file names, commands and identifiers counts whole and by its parts.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


MOST_TERMS = 12  # of a question; a cap at half as many costs up to a fifteenth of the answers (docs/evidence.md)
READ_CHARS = 20_000  # of a question; what is longer is a log or a file, and its beginning says what it is
MOST_RANKED = 100  # points
_MOST_PARTS = 8  # of an identifier that is looked up whole
_SATURATION, _LENGTH_SHARE = 1.2, 0.75  # k1 and b of BM25, as everybody has them
_USUAL_CHARS = 160  # of a point's text
_LEAST_STEM = 4  # letters; a shorter word has no other forms
_WHOLE = 1.5  # how much more an identifier says than a word as rare
_JOINTS = "/\\._-:@#+"
_STOP_WORDS = (
    "a about above after again against all also am an and any are as at be because been before being below between "
    "both but by can cannot could did do does doing done down during each few for from further get gets getting give "
    "got had has have having he hello help her here hers him his how however i if in into is it its itself just know "
    "let like look make may me might more most must my need no nor not now of off ok okay on once only or other our "
    "out over own please same see shall she should show so some such take tell than thank thanks that the their them "
    "then there these they this those through to too try under until up us use used using very via want was we were "
    "what when where which while who whom why will with within without would yes yet you your"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
_ALONE = (
    (0x2E80, 0x3007), (0x3021, 0x9FFF), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F), (0x20000, 0x33FFF),
)  # fmt: skip


class Term:
    """One thing that a question asks for: the words that stand side by side in a text that has it."""

    __slots__ = ("is_whole", "words")

    def __init__(self, words: "tuple[str, ...]", *, is_whole: bool = False) -> None:
        self.words, self.is_whole = words, is_whole

    def quoted(self) -> str:
        """As FTS5 takes it: between quotes nothing is an operator. A word alone isn't looked for in names, of which one
        in five would have `pat`."""
        return ("" if self.is_whole else "text : ") + '"' + " ".join(self.words) + '"'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and (self.words, self.is_whole) == (other.words, other.is_whole)

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return self.quoted()


def stands_alone(letter: str) -> bool:
    """Whether *letter* is of a script without spaces between words, which is kept by character."""
    return letter > "\u2e7f" and any(first <= ord(letter) <= last for first, last in _ALONE)


def terms(question: str, *, most: int = MOST_TERMS) -> "list[Term]":
    """What *question* asks for, at most *most* terms: first what is written as an identifier, whole; then the words,
    the longest first where there are too many, without those that stand in every text."""
    wholes: dict[tuple[str, ...], Term] = {}
    words: dict[tuple[str, ...], Term] = {}
    for chunk in question[:READ_CHARS].split():
        parts = _parts(chunk)
        if 1 < len(parts) <= _MOST_PARTS and _is_identifier(chunk):
            wholes.setdefault(tuple(parts), Term(tuple(parts), is_whole=True))
        for part in [*parts, *(_humps(chunk) if chunk.isascii() else ())]:
            if part not in STOP_WORDS:
                for split in _pairs(part) if stands_alone(part[0]) else ((part,),):
                    words.setdefault(split, Term(split))
    room = max(most - min(len(wholes), most // 3), 0)
    kept = [*words.values()]
    if len(kept) > room:
        longest = set(sorted(words, key=lambda each: -len("".join(each)))[:room])
        kept = [term for split, term in words.items() if split in longest]
    return [*[*wholes.values()][: most // 3], *kept]


def _parts(chunk: str) -> "list[str]":
    """The runs of letters and digits in *chunk*; those of a script without spaces are runs of their own."""
    parts: list[str] = []
    last = ""  # the kind of the letter before
    for letter in chunk.lower():
        kind = ("alone" if stands_alone(letter) else "word") if letter.isalnum() else ""
        if kind and kind == last:
            parts[-1] += letter
        elif kind:
            parts.append(letter)
        last = kind
    return parts


def _pairs(run: str) -> "list[tuple[str, ...]]":
    """What to look up of a *run* of letters between which no space says where a word ends: each with the next."""
    return [(run[at], run[at + 1]) for at in range(len(run) - 1)] or [(run,)]


def _is_identifier(chunk: str) -> bool:
    """Whether letters in *chunk* are held together by what holds file names, options and identifiers together."""
    inner = chunk.strip("\"'`.,;:!?()[]{}<>*")
    return any(
        joint in _JOINTS
        and inner[at + 1].isalnum()
        and (at == 0 or inner[at - 1].isalnum() or inner[at - 1] in _JOINTS)
        for at, joint in enumerate(inner[:-1])
    )


def _humps(chunk: str) -> "list[str]":
    """The parts of an identifier that is written like parseHeader; none where it is a plain word."""
    humps: list[str] = []
    before = ""
    for letter in chunk:
        if letter.isalnum():
            if before.isalnum() and not (letter.isupper() and before.islower()):
                humps[-1] += letter
            else:
                humps.append(letter)
        before = letter
    humped = [hump.lower() for hump in humps]
    return humped if len(humped) > len(_parts(chunk)) else []


def ranked(
    matches: "Sequence[tuple[Term, Collection[int]]]",
    live: int,
    lengths: "Callable[[Sequence[int]], Mapping[int, int]]",
) -> "list[tuple[int, float]]":
    """The points that answer best, at most MOST_RANKED, each with how well, the best first.

    It is BM25, but of each playbook by itself and against a usual length: what others write changes no order. *matches*
    are the points that have each term, *live* is how many there are in the playbook, *lengths* gives the lengths of
    some points' texts, in characters. A term that stands in one text twice says no more than once.
    """
    weights: dict[int, float] = {}
    for term, points in matches:
        weight = _log(1 + (live - len(points) + 0.5) / (len(points) + 0.5)) * (_WHOLE if term.is_whole else 1)
        for point in points:
            weights[point] = weights.get(point, 0.0) + weight
    best = sorted(weights, key=lambda point: (-weights[point], point))[:MOST_RANKED]
    chars = lengths(best)
    scored = [(point, weights[point] * _of_length(chars.get(point, _USUAL_CHARS))) for point in best]
    return sorted(scored, key=lambda each: (-each[1], each[0]))


def has_parts(text: str, term: Term) -> bool:
    """Whether *text*, in small letters, has the words of *term*, each if only as a part of another."""
    return "".join(term.words) in text if stands_alone(term.words[0]) else all(word in text for word in term.words)


def marked(question: str) -> str:
    """A pattern, for small and large letters alike, of what to mark in a text that answers *question*: what was asked
    for to the end of its word, without the ending that other forms of the word have in place of it."""
    patterns = set()
    for term in terms(question):
        if stands_alone(term.words[0]):
            patterns.add("".join(term.words))
        elif not term.is_whole:
            (word,) = term.words
            stem = word if len(word) < _LEAST_STEM or not word.isalpha() else word[: -(len(word) // 4)]
            patterns.add(rf"(?<![^\W_]){stem}" + (r"[^\W_]*" if stem != word else r"(?![^\W_])"))
    return "|".join(sorted(patterns, key=lambda each: (-len(each), each))) or r"(?!)"


def _of_length(chars: int) -> float:
    share = 1 - _LENGTH_SHARE + _LENGTH_SHARE * chars / _USUAL_CHARS
    return (1 + _SATURATION) / (1 + _SATURATION * share)


def _log(number: float) -> float:
    """The natural logarithm to three digits, without the module that has it."""
    steps = 1024
    return float(steps * (number ** (1 / steps) - 1))
