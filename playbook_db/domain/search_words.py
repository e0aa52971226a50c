"""Searching points: the terms of a question, the points that match best, and the lowest score that a hook shows.

The hooks use this module, so it imports nothing. A question is any text for which points are searched, such as a prompt
or an error message. Its file names, commands and identifiers count as a whole and by their parts.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


MOST_TERMS = 32  # of a question, from its beginning and its end
_MOST_COUNTED = 16  # terms, the rarest in the playbook
READ_FIRST, READ_LAST = 2_000, 2_000  # characters of a question; a longer one is a log or a file
MOST_RANKED = 100  # points
_MOST_MATCHING = 100  # points; in a large playbook, 1 in 100 more
_MOST_PARTS = 8  # of an identifier that is looked up whole
_LEAST_STEM = 4  # letters; a shorter word has no other forms
# The weight of a term that only one point has; a plain word has 1.
_WHOLE = 1.5  # an identifier, or a word that is written as a name, such as TS2589
_COMMON = 0.6  # a word that is common in texts of all kinds
_REPEATED = 1.2  # times the weight of a word that the question repeats
_SHORT = 0.5  # one letter or digit, or two digits; a pair of letters of a script without spaces
# The lowest score of a point that a hook shows: for a question of a few words, for each further word, and at most. A
# short prompt often has only one plain word of the point. In a longer text one or two words match by chance.
_PROMPT, _ERROR = (0.7, 0.43, 9, 1.55), (1.5, 0.25, 5, 3.0)
_LONG_POINT = 200  # characters; for a longer point the limit grows with the square root of its length
FEW_TERMS = 10  # at most, in a short error; the limit for it doesn't grow with a point's length
_ENDINGS = ("ing", "ed", "es", "ly", "er", "s")
_LEAST_BARE = 3  # letters of a common word without its ending
# All characters of ASCII but letters and digits.
_AS_SPACES = dict.fromkeys([*range(48), *range(58, 65), *range(91, 97), *range(123, 128)], " ")
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
# Words without a topic, which texts of all kinds have. They were counted: stems in at least 1 in 2,000 turns of
# conversations (LoCoMo) and 1 in 1,000 docstrings of Python's standard library, or in 1 in 100 turns or 1 in 30
# docstrings, without names of people. Added by hand: German words, and rarer verbs that these texts have three times.
_COMMON_WORDS = (
    " "
    "abl absolut accept acces account achiev acros act action activ activity actual adapt add addition admir advanc "
    "advic advis affect afterward agre aim align aliv allow almost alon along already alway amaz amount annoy anoth "
    "anyth anyway apart apologiz app application appreciat approach architectur area arg argument around arrang arriv "
    "art articl ask aspect assignment attend attribut author auto avoid away awesom back background bad bak bar bas "
    "basic beat becom beginn believ belong best bett beyond big bit blast block blow blu body bond book bought break "
    "bring broken brought bug build built bunch button buy bye byt call calm captur car carry cas catch caught caus "
    "celebrat cent certain challeng chang channel charact character che check child children chill choic choos chos "
    "circl clas class classic clean clear click climb clos cod collect collection color com combin combination "
    "comfort command common community comp complet comput congrat connect connection consid consider consol constant "
    "consum contain content continu control controll convention convinc cook cooki cool corn count cours cover creat "
    "creation current custom customiz cut damag danc dat data day de deal decid deep default defin definit demand "
    "deserv design desir destination detail determin develop devic differenc different disagre disappear discov "
    "discus distanc doc dog doubt draft draw drawn dream drew drink driv earli earn easi easy eat effect effectiv "
    "effort eith element els email empty encod encounter encourag end engin enhanc enjoy enough ensur enter "
    "environment equality error escap especial essential estimat even event eventual ever every everyon everyth exact "
    "exampl exception excit exhaust exist expand expect experienc explain explor express expression extra fac fall "
    "fals fami far fast favorit fear featur feel felt fetch field fight figur fil filenam fill fin final find finish "
    "first fit fiv fix flow fly focu follow forc forev forget forgot form format forward found four fre friend front "
    "ful full fun function futur gam gath gav general generation giv given glad go goal goe going gonna good grab "
    "graphic great green group grow gues guid hand handl hang happen happy hard head hear heard height held hey hi "
    "hid high highlight hik hit hold hom hook hop host hour hug human hunt hurt idea imagin impact implement "
    "implementation import important improv includ increas incredibl individual info inform information insid inspir "
    "instanc instead integ interest introduc invit involv issu item job join journey joy judg jump keep kept key kid "
    "kill kind knew knowledg known lack languag larg last lat laugh launch lay lead learn least leav left lend les "
    "lett level library lie lif lift lik limit lin link list listen littl liv ll load local location logo long los "
    "lost lot lov low machin mad magic main major mak manag management many map mark match matt matter max mayb mean "
    "meaningful meant meet memori memory mention messag met method middl min mind minor minut miss mix mod model "
    "modul moment month motivat mov movi much music myself nam natur natural near necessary network nev new next nic "
    "non normal notebook noth notic numb object offer often oh old one open option optional ord otherwis output "
    "outsid pack pag paid paint parent park pars part particular party pas pass passion past path peac peaceful peopl "
    "perform performanc perhap pet phon photo physical pic pick pictur piec plac plan plant platform play plu point "
    "pop pos positiv possibl post potential pour pow pref prepar presenc present pretty previou print probab problem "
    "proces produc program programm progres project promis prop proper protect proud provid pull pup purpos push put "
    "python question quick quit quot rais random rat rath re reach read ready real reason receiv recent recogniz "
    "recommend record red reduc reflect regret regular relat relax releas reliabl relief rememb remember remind "
    "repair represent requir requirement rescu reset resourc respect rest restor result return reward right ring risk "
    "roll root ros rough round rout routin run runn rush saf said sat satisfy sav say scar schedul screen script "
    "search second secur seek seem seen self send sens sent sequenc serv servic session set sett setup shap shar shin "
    "shoot short shot shown sid sign similar simpl sinc sing singl sit situation skill sleep slow small smell smil "
    "solv someon someth sometim soon sorry sort sound sourc spac speak special specifi specific specifical spell "
    "spend spent spok spot squeez standard star start stat stay step stick still stir stood stop stor str stream "
    "stretch string strong stuck studio stuff styl succ succes successful suggest suit sun sup suppli support sur "
    "surpris surround switch symbol system tag tail tak taken talk task taught teach team tear tempt test text "
    "themselv thing think third though thought thre throw tie tip togeth took tool top total touch tough toward track "
    "trail transform transport tre treat tri trick trip tru trust tun tupl turn twist two typ understand unexpect "
    "uniqu unit updat useful user usual valu vari variou ve version view virtual visit visual wait wak walk wat watch "
    "wav way week weight welcom well went whatev whenev wheth whol widget window wish wond word work world worry "
    "worth wow wrapp writ written wrot yeah year yep yesterday yourself zon "
    "aber als auch auf aus bei beim bin bis bist bitte da danke das dass dem den der des die doch du ein eine einem "
    "einen einer er es etwas für habe haben hat hier ich ihr im in ist ja jetzt kann kein keine man mehr mein mich "
    "mir mit nach nein nicht noch nur oder schon sein sich sie sind so um und uns unter vom von vor war warum was "
    "weiter wenn wer werden wie wir wird wo zu zum zur über "
)
_ALONE = (
    (0x2E80, 0x3007), (0x3021, 0x9FFF), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F),
    (0x1B000, 0x1B16F), (0x20000, 0x33FFF),
)  # fmt: skip


class Term:
    """A search term: one word or several adjacent words, and their weight."""

    __slots__ = ("is_whole", "weight", "words")

    def __init__(self, words: "tuple[str, ...]", *, is_whole: bool = False, weight: float = 1.0) -> None:
        self.words, self.is_whole, self.weight = words, is_whole, _WHOLE if is_whole else weight

    @property
    def share(self) -> float:
        """The length of the term in words: a pair of letters of a script without spaces is half a word."""
        return 0.5 if not self.is_whole and stands_alone(self.words[0][0]) else 1.0

    def quoted(self) -> str:
        """Return the term quoted for FTS5, so that no word is an operator. Single words don't match points' names."""
        return ("" if self.is_whole else "text : ") + '"' + " ".join(self.words) + '"'


def stands_alone(letter: str) -> bool:
    """Return whether *letter* is from a script without spaces between words. The index stores such letters singly."""
    return letter > "\u2e7f" and any(first <= ord(letter) <= last for first, last in _ALONE)


def terms(question: str, *, most: int = MOST_TERMS) -> "list[Term]":
    """Return at most *most* terms of *question*: first whole identifiers, then single words except stop words.

    If there are more, use the first and the last ones, since a prompt comes before or after its pasted text.
    """
    wholes: dict[tuple[str, ...], None] = {}
    words: dict[tuple[str, ...], bool] = {}  # and whether each is written as a name
    times: dict[str, int] = {}
    repeated = set()
    if len(question) > READ_FIRST + READ_LAST:
        question = f"{question[:READ_FIRST]} {question[-READ_LAST:]}"
    for chunk in map(_uncontracted, question.replace("\u2019", "'").split()):
        times[chunk] = times.get(chunk, 0) + 1
    for chunk, count in times.items():
        parts = _parts(chunk)
        if 1 < len(parts) <= _MOST_PARTS and _is_identifier(chunk):
            wholes.setdefault(tuple(parts))
        humps = _humps(chunk) if chunk.isascii() and not chunk[1:].islower() else []
        for part in dict.fromkeys([*parts, *humps]):
            if part not in STOP_WORDS:
                for split in _pairs(part) if stands_alone(part[0]) else ((part,),):
                    if count > 1 or split in words:
                        repeated.add(split)
                    words.setdefault(split, bool(humps) and part not in humps)
    whole = [Term(parts, is_whole=True) for parts in _ends([*wholes], most // 3)]
    single = [
        Term(word, weight=_weight(word[0], words[word]) * (_REPEATED if word in repeated else 1.0))
        for word in _ends([*words], most - len(whole))
    ]
    return [*whole, *single]


def _ends(items: "list[tuple[str, ...]]", most: int) -> "list[tuple[str, ...]]":
    return items if len(items) <= most else [*items[: most // 2], *items[most // 2 - most :]]


def _uncontracted(chunk: str) -> str:
    if "'" in chunk[1:]:
        bare = chunk.rstrip(".,;:!?)'\"")
        for ending in _CONTRACTED:
            if len(bare) > len(ending) and bare.endswith(ending):
                return bare[: -len(ending)]
    return chunk


def _weight(word: str, is_name: bool) -> float:
    if stands_alone(word[0]) or len(word) == 1 or (len(word) == 2 and word.isdigit()):
        return _SHORT
    if is_name or (len(word) >= _LEAST_STEM and word.isalnum() and not word.isalpha() and not word.isdigit()):
        return _WHOLE
    return _COMMON if is_common(word) else 1.0


def is_common(word: str) -> bool:
    """Return whether *word*, in lower case, is common in texts of all kinds."""
    bare = _bare(word)
    return bare in STOP_WORDS or any(f" {each} " in _COMMON_WORDS for each in {word, bare})


def phrase(name: str) -> Term:
    """Return the term for all words of *name*, one after the other. *name* may be a path."""
    words = [[*part] if stands_alone(part[0]) else [part] for part in _parts(name)]
    return Term(tuple([word for each in words for word in each]), is_whole=True)


def _parts(chunk: str) -> "list[str]":
    """Split *chunk* into runs of letters and digits. Letters of scripts without spaces form separate runs."""
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
    """Return a term for each pair of adjacent letters in *run*. The letters are from a script without spaces."""
    return [(run[at], run[at + 1]) for at in range(len(run) - 1)] or [(run,)]


def _is_identifier(chunk: str) -> bool:
    """Return whether *chunk* has parts joined by signs such as `/`, like a file name, an option or an identifier."""
    inner = chunk.strip("\"'`.,;:!?()[]{}<>*")
    return any(
        joint in _JOINTS
        and inner[at + 1].isalnum()
        and (at == 0 or inner[at - 1].isalnum() or inner[at - 1] in _JOINTS)
        for at, joint in enumerate(inner[:-1])
    )


def _humps(chunk: str) -> "list[str]":
    """Return the parts of an identifier in camel case, like parseHeader. A plain word has no parts."""
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


def ranked(matches: "Sequence[tuple[Term, Collection[int | str]]]", live: int) -> "list[tuple[int, float]]":
    """Return at most MOST_RANKED points that match best, best first, each with its score.

    *matches* has the numbers of the points that contain each term, perhaps as text. *live* is the number of points in
    the playbook. A score is the sum of the weights of the point's terms. A term weighs less if more points have it. A
    plain word that only one point has weighs 1. A text's length, and repeated terms, don't count. Two forms of a word
    in the same points count once.
    """
    top = _rarity(1, live)
    forms: dict[object, tuple[float, Collection[int | str]]] = {}
    for term, points in matches:
        if points:
            weight = term.weight * (_rarity(len(points), live) / top) ** 2
            key = term.words if term.is_whole else (term.words[0][:_LEAST_STEM], tuple(points))
            forms.setdefault(key, (weight, points))
    weights: dict[int | str, float] = {}
    for weight, points in sorted(forms.values(), key=lambda each: -each[0])[:_MOST_COUNTED]:
        for point in points:
            weights[point] = weights.get(point, 0.0) + weight
    numbered = [(int(point), weight) for point, weight in weights.items()]
    return sorted(numbered, key=lambda each: (-each[1], each[0]))[:MOST_RANKED]


def most_matching(live: int) -> int:
    """Return how many points a useful term may match at most in a playbook with *live* points."""
    return _MOST_MATCHING + live // _MOST_MATCHING


def least_fitting(terms: "Collection[Term]", *, strongly: bool = False) -> float:
    """Return the lowest score of a short point that a hook shows for *terms*. *strongly*: use the limit for errors."""
    least, more, few, most = _ERROR if strongly else _PROMPT
    parts = {part for term in terms if term.is_whole and not strongly for part in term.words}
    words = sum([term.share for term in terms if term.is_whole or term.words[0] not in parts])  # an identifier is one
    return min(least + more * max(0, words - few), most)


def stretched(least: float, text: str) -> float:
    """Return the lowest score at which a hook shows a point with *text*. *least* is that of a short point."""
    return float(least * max(1.0, len(text) / _LONG_POINT) ** 0.5)


def has_parts(text: str, term: Term) -> bool:
    """Return whether *text*, in lower case, has all words of *term*, perhaps in other forms or within longer words."""
    if stands_alone(term.words[0]):
        return "".join(term.words) in text
    return all((word if term.is_whole else _stem(word)) in text for word in term.words)


def marked(question: str) -> str:
    """Return a pattern to highlight the words of *question*, in all their forms, in a text. Match it ignoring case."""
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
    return word if len(word) < _LEAST_STEM or not word.isalpha() else word[: -(len(word) // 4)]


def _bare(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_BARE:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > _LEAST_BARE and word.endswith("e") else word


def _rarity(points: int, live: int) -> float:
    return _log(1 + (max(live, points) - points + 0.5) / (points + 0.5))


def _log(number: float) -> float:
    """Return the natural logarithm of *number* to three digits. Importing `math` would take longer."""
    steps = 1024
    return float(steps * (number ** (1 / steps) - 1))
