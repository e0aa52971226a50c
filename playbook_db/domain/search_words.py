"""What a text asks for, in words that an index for full text can look up, which points answer it best, and which well
enough to be shown unasked.

Pure, and of imports only the words that say little: the hooks use it as the store does. A question is a text of any
kind, such as a prompt or the message of an error. What is in it of file names, commands and identifiers counts whole
and by its parts.
"""

from playbook_db.domain.common_words import is_common

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


MOST_TERMS = 32  # of a question, from its beginning and its end; of these the rarest in the playbook count
_MOST_COUNTED = 16  # terms
READ_FIRST, READ_LAST = 2_000, 2_000  # characters of a question; what is longer is a log or a file
MOST_RANKED = 100  # points
_MOST_MATCHING = 100  # points, and one in as many
_MOST_PARTS = 8  # of an identifier that is looked up whole
_LEAST_STEM = 4  # letters; a shorter word has no other forms
# How much a term says that stands in one point alone; that of a plain word is 1.
_WHOLE = 1.5  # an identifier, or a word that is written as a name, such as TS2589
_COMMON = 0.6  # a word that texts of every kind have
_SHORT = 0.5  # one letter or digit, or two digits; a pair of letters of a script without spaces
# The least that a point must have in common with a question to be shown unasked: less than one plain word that it
# alone has, as that is often all that a short prompt names; but in a long text something is always found.
_FITS, _FITS_MORE, _FEW_TERMS = 0.7, 0.03, 5
# As an error wants it: two words of its own where it is short, three where it is longer.
_STRONGLY, _STRONGLY_MORE, _STRONGLY_MOST = 1.5, 0.25, 3.0
_AS_SPACES = {code: " " for code in range(128) if not chr(code).isalnum()}
_JOINTS = "/\\._-:@#+"
_CONTRACTED = ("'s", "'t", "'re", "'ve", "'ll", "'d", "'m")
_STOP_WORDS = (
    "a about above after again against all also am an and any are as at be because been before being below between "
    "both but by can cannot could did do does doing done down during each few for from further get gets getting give "
    "got had has have having he hello help her here hers him his how however i if in into is it its itself just know "
    "let like look make may me might more most must my need no nor not now of off ok okay on once only or other our "
    "out over own please same see shall she should show so some such take tell than thank thanks that the their them "
    "then there these they this those through to too try under until up us use used using very via want was we were "
    "what when where which while who whom why will with within without would yes yet you your "
    "ain aren couldn didn doesn don hadn hasn haven isn mustn needn shouldn wasn weren won wouldn"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
_ALONE = (
    (0x2E80, 0x3007), (0x3021, 0x9FFF), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F), (0x20000, 0x33FFF),
)  # fmt: skip


class Term:
    """One thing that a question asks for: the words that stand side by side in a text that has it, and how much it
    says."""

    __slots__ = ("is_whole", "says", "words")

    def __init__(self, words: "tuple[str, ...]", *, is_whole: bool = False, says: float = 1.0) -> None:
        self.words, self.is_whole, self.says = words, is_whole, _WHOLE if is_whole else says

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
    without those that stand in every text. Where there are too many, those at the beginning and at the end stay: of
    what was pasted there the prompt stands on one side or the other."""
    wholes: dict[tuple[str, ...], None] = {}
    words: dict[tuple[str, ...], bool] = {}  # whether it is written as a name
    if len(question) > READ_FIRST + READ_LAST:
        question = f"{question[:READ_FIRST]} {question[-READ_LAST:]}"
    for chunk in map(_uncontracted, dict.fromkeys(question.replace("\u2019", "'").split())):
        parts = _parts(chunk)
        if 1 < len(parts) <= _MOST_PARTS and _is_identifier(chunk):
            wholes.setdefault(tuple(parts))
        humps = _humps(chunk) if chunk.isascii() and not chunk[1:].islower() else []
        for part in [*parts, *humps]:
            if part not in STOP_WORDS:
                for split in _pairs(part) if stands_alone(part[0]) else ((part,),):
                    words.setdefault(split, bool(humps) and part in parts)
    kept = [Term(parts, is_whole=True) for parts in _ends([*wholes], most // 3)]
    return [*kept, *(Term(split, says=_saying(split[0], words[split])) for split in _ends([*words], most - len(kept)))]


def _ends(found: "list[tuple[str, ...]]", most: int) -> "list[tuple[str, ...]]":
    return found if len(found) <= most else [*found[: most // 2], *found[most // 2 - most :]]


def _uncontracted(chunk: str) -> str:
    """*chunk* without the `'s` or `'t` at its end."""
    if "'" in chunk[1:]:
        bare = chunk.rstrip(".,;:!?)'\"")
        for ending in _CONTRACTED:
            if len(bare) > len(ending) and bare.endswith(ending):
                return bare[: -len(ending)]
    return chunk


def _saying(word: str, is_name: bool) -> float:
    """How much *word* says; *is_name* where it is written like parseHeader."""
    if stands_alone(word[0]) or len(word) == 1 or (len(word) == 2 and word.isdigit()):
        return _SHORT
    if is_name or (len(word) >= _LEAST_STEM and word.isalnum() and not word.isalpha() and not word.isdigit()):
        return _WHOLE
    return _COMMON if is_common(word) else 1.0


def _parts(chunk: str) -> "list[str]":
    """The runs of letters and digits in *chunk*; those of a script without spaces are runs of their own."""
    if chunk.isascii():
        return chunk.lower().translate(_AS_SPACES).split()
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


def ranked(matches: "Sequence[tuple[Term, Collection[int]]]", live: int) -> "list[tuple[int, float]]":
    """The points that answer best, at most MOST_RANKED, each with how well, the best first.

    *matches* are the points that have each term, *live* is how many there are in the playbook. How well is what the
    terms say that a point has, each the less the more points have it: 1 for a plain word that no other has, in a
    playbook of any size. What other playbooks hold changes nothing, nor does how long a text is or how often a term
    stands in it. Two forms of a word that the same points have count once.
    """
    top = _rarity(1, live)
    found: dict[object, tuple[float, Collection[int]]] = {}
    for term, points in matches:
        if points:
            says = term.says * (_rarity(len(points), live) / top) ** 2
            key = term if term.is_whole else (term.words[0][:_LEAST_STEM], tuple(points))
            found.setdefault(key, (says, points))
    weights: dict[int, float] = {}
    for says, points in sorted(found.values(), key=lambda each: -each[0])[:_MOST_COUNTED]:
        for point in points:
            weights[point] = weights.get(point, 0.0) + says
    return sorted(weights.items(), key=lambda each: (-each[1], each[0]))[:MOST_RANKED]


def most_matching(live: int) -> int:
    """How many of the *live* points may have a term that says something; who asks for more waits for nothing."""
    return _MOST_MATCHING + live // _MOST_MATCHING


def least_fitting(terms: "Collection[Term]", *, strongly: bool = False) -> float:
    """How well a point must answer a question of these *terms* to be shown unasked."""
    more = max(0, len(terms) - _FEW_TERMS)
    return min(_STRONGLY + _STRONGLY_MORE * more, _STRONGLY_MOST) if strongly else _FITS + _FITS_MORE * more


def has_parts(text: str, term: Term) -> bool:
    """Whether *text*, in small letters, has the words of *term*, each if only as a part or in another form."""
    if stands_alone(term.words[0]):
        return "".join(term.words) in text
    return all((word if term.is_whole else _stem(word)) in text for word in term.words)


def marked(question: str) -> str:
    """A pattern, for small and large letters alike, of what to mark in a text that answers *question*: what was asked
    for to the end of its word, without the ending that other forms of the word have in place of it."""
    patterns = set()
    for term in terms(question):
        if stands_alone(term.words[0]):
            patterns.add("".join(term.words))
        elif not term.is_whole:
            (word,) = term.words
            stem = _stem(word)
            patterns.add(rf"(?<![^\W_]){stem}" + (r"[^\W_]*" if stem != word else r"(?![^\W_])"))
    return "|".join(sorted(patterns, key=lambda each: (-len(each), each))) or r"(?!)"


def _stem(word: str) -> str:
    """*word* without the ending that its other forms have in place of it."""
    return word if len(word) < _LEAST_STEM or not word.isalpha() else word[: -(len(word) // 4)]


def _rarity(points: int, live: int) -> float:
    """How much it says to be one of so many of the *live* points."""
    return _log(1 + (max(live, points) - points + 0.5) / (points + 0.5))


def _log(number: float) -> float:
    """The natural logarithm to three digits, without the module that has it."""
    steps = 1024
    return float(steps * (number ** (1 / steps) - 1))
