"""What of a lesson a fetched text may have put there: the second line of defence behind its evidence.

A page can tell the assistant, or the model that learns from it, which genuine words to quote. So a lesson in a page's
words is as the page; in a chunk with a page, evidence has to speak of what the lesson says; and where a page speaks to
the assistant, or of its memory, nothing of that chunk counts without a review. Each pattern stands for a way in which
such pages are written, none for a topic: documentation speaks of memory, users and playbooks, too.
"""

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache

from playbook_db.domain.evidence import FETCHED, FILES, TESTS, USER, Evidence, Place, lowest, plain
from playbook_db.domain.playbook import name_pattern

_RUN = 5  # words in a row that are no coincidence
_CARRIED = 0.4  # of an operation's words, if the user's words alone carry it
_ECHO = 0.6  # of an operation's words, if one line of a test says it
_TELLING = 4  # letters of a word that says something; three of a run's words do
_ENCODED = re.compile(r"[A-Za-z0-9+/]{40,4000}={0,2}")

_MEMORY = (
    r"(?:(?:your|the (?:assistant|agent|model|ai)'?s?|long[- ]term|persistent|permanent|project) "
    r"(?:(?:long[- ]term|persistent|permanent|project) )?(?:memory|memories)|key ?points?\b"
    r"|(?:ai|assistant|agent|model|claude)'?s? playbook\b)"
)
_LATER = (
    r"(?:(?:all|any|every|each|future|later|next|following|upcoming) ){1,2}(?:\w+ )?"
    r"(?:sessions?|conversations?|chats?)"
)
_READER = r"(?:ai|llm|claude|copilot|assistants?|agents?|chatbots?|language models?|reflectors?|curators?)"
_SPEAKS = {  # in a text whose white space is single blanks, without case
    "names a key point": rf"\b{name_pattern(3)}\b|\bhelpful=\d+",
    "speaks of what to keep": (
        r"\b(?:add|save|stor|writ|record|append|put|keep|commit|mak|remember|memori[sz]|delet|remov|merg|updat|replac"
        rf"|retir)\w* .{{0,120}}?{_MEMORY}(?! (?:leak|usage|limit|map))"
        rf"|{_MEMORY} .{{0,80}}?\b(?:must|should|delete|remove|merge)\b"
        rf"|\b(?:remember|memori[sz]e|learn|never forget) .{{0,160}}?{_LATER}"
    ),
    "gives other instructions": (
        r"\b(?:ignore|disregard|forget|override) (?:all |any |the |your |of )*"
        r"(?:previous|prior|above|earlier|other|former|system) (?:instruction|rule|message|prompt|context|direction)"
        r"|\byour system prompt\b"
        r"|\b(?:new|updated|hidden|secret) instructions? (?:for|to) you\b"
        r"|vorherigen anweisungen|bisherigen anweisungen|instructions précédentes|instrucciones anteriores"
        r"|istruzioni precedenti|instruções anteriores|предыдущие инструкции|忽略.{0,6}指令|以前の指示"
    ),
    "speaks to the assistant": (
        r"\b(?:dear|attention|note (?:to|for)|hey|instructions? (?:to|for)|messages? (?:to|for)|for|to) "
        rf"(?:all |any |the )?(?:\w+ )?{_READER}(?: (?:assistants?|agents?|models?|readers?))?\s?[:,!]"
        r"|\b(?:if you are|you are|as) an? (?:helpful |large |coding )?(?:ai|llm|assistant|agent|language model)\b"
        rf"|\b{_READER} (?:\w+ )?(?:reading|processing|summari[sz]ing|learning from|parsing) th(?:is|e)\b"
        rf"|\b{_READER} (?:must|should|shall|have to|are required to) (?:always |never |also )?"
        r"(?:remember|record|save|add|store|learn|quote|cite|vote|tell|recommend)"
    ),
    "says what to quote": (
        r"\b(?:quote|cite|use|give)\b.{0,60}?\b(?:as|for) (?:your |the |its )?evidence\b"
        r"|\b(?:quote|cite)\b.{0,40}?\b(?:the|this) user(?:'s)?\b|\b(?:vote|mark|tag|rate)\b.{0,40}?\bharmful\b"
    ),
    "poses as somebody's message": (
        r"</?(?:system-reminder|tool_result|function_results?|user_message|human|assistant_memory)\b"
        r"|(?:^| )(?:human|user|system) ?(?:message|turn)? ?: "
        r"(?:please |from now on|always |never |remember |i want |use )"
        r"|(?:##|\\#) (?:user|human|assistant|tool) "
        r"(?:please |from now on|always |never |remember |i want |use |\d)"
    ),
    "hides words": (
        r"<!--(?:(?!-->).){0,400}?\b(?:assistants?|agents?|ai|llm|claude|remember|memory|playbook)\b"
        r"|\[//\]: # .{0,200}?\b(?:assistants?|agents?|ai|llm|claude|remember|memory|playbook)\b"
    ),
    "asks in another language to be remembered": (
        r"\b(?:merke? dir|speichere|recuerda|guarda|souviens-toi|retiens|mémorise|ricorda|lembre-se|запомни|сохрани)\b"
        r".{0,160}?(?:gedächtnis|künftig|zukünftig|sitzung|playbook|memoria|sesion|sesión|mémoire|session|memória"
        r"|sessão|памят|сесси|assistent|asistente|ассистент)"
        r"|记住.{0,60}(?:以后|会话|记忆|总是|必须|始终)|(?:今後|セッション).{0,60}覚え"
    ),
}
_SPEAKING = {what: re.compile(pattern) for what, pattern in _SPEAKS.items()}
_INVISIBLE = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff]{4,}|[\U000e0000-\U000e007f]{8,}")
_REMEMBER = re.compile(
    r"\b(?:remember|note|keep in mind)(?: that| this|:)|\bfrom now on\b|\b(?:always|never) use\b|\byour playbook\b"
)
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{4})(?:s|es|ed|ing)$")
_FAILED = re.compile(r"fail|error|panic|not ok|[\u2715\u2717\u2718]", re.IGNORECASE)
_STOP_WORDS = frozenset(
    ("a", "an", "the", "and", "or", "but", "not", "no", "of", "to", "in", "on", "at", "by", "for", "with", "from",
     "as", "is", "are", "be", "was", "it", "its", "this", "that", "these", "they", "we", "you", "i", "he", "all",
     "any", "if", "so", "do", "does", "has", "have", "must", "should", "can", "will", "use", "run", "always", "never",
     "only", "more", "bash", "user", "read", "grep", "py", "js", "ts", "src", "test", "tests", "passed", "failed",
     "error", "ok", "q")
)  # fmt: skip
# A command, URL, path or identifier: what has its own marks within, or stands in backticks.
_CODE = re.compile(r"`([^`\n]{4,80})`|(?<![\w./:@-])((?:[\w@~-]+[./:=_]+)+[\w@~-]+/?|--[\w-]{3,})")
# Commands that show what somebody else wrote.
_BRINGS = (
    r"\b(?:curl|wget|https?(?= )|gh|glab|ssh|scp|rsync|nc|lynx|w3m|links|pdftotext|FETCH_HEAD"
    r"|(?:npm|pnpm|yarn|cargo|gem) (?:view|info|show|search)|cat|head|tail|less|more|bat|jq"
    r"|git (?:-\S+ )*(?:fetch|clone|pull|ls-remote|am|submodule))\b"
)
_OWN_SHELL = re.compile(rf"Bash: (?!.*{_BRINGS})")


def operation_trust(text: str, names: Iterable[str], evidence: Iterable[Evidence], places: Sequence[Place]) -> str:
    """The class of an operation with this *evidence*: USER if the user's words alone carry it, else that of the worst
    quote; FETCHED if a fetched one of *places*, the chunk's, may have put it there, or a test says it by itself.

    *text* is its new text, or that of the point which it takes away; *names* are the points that it concerns.
    """
    evidence = list(evidence)
    is_users = _share(text, [each.quote for each in evidence if each.trust == USER]) >= _CARRIED
    trust = USER if is_users else lowest(evidence)
    is_supporting = is_users or (trust != USER and is_supported(text, evidence))
    is_open = has_outside(places) and (not is_supporting or _is_mixed(text, trust, places))
    return FETCHED if is_open or doubt(text, names, places) or (trust != USER and _is_echo(text, places)) else trust


def has_outside(places: Iterable[Place]) -> bool:
    """Whether *places* hold a text from outside: a web page, an answer of a server, an agent's report."""
    return any(place.trust == FETCHED and not _OWN_SHELL.match(place.label) for place in places)


def is_supported(text: str, evidence: Iterable[Evidence]) -> bool:
    """Whether *evidence* speaks of what *text* says: they share a word that says something, as a lesson and "12 passed"
    don't. An empty *text* needs none."""
    said = {word for each in evidence for word in _stems(f"{each.quote} {each.place}")}
    return not text.strip() or not said.isdisjoint(_stems(text))


def doubt(text: str, names: Iterable[str], places: Sequence[Place]) -> str:
    """Why an operation with this *text* on the points *names* may come from a fetched text, in words; `""`: it doesn't.

    Either such a text speaks to the assistant; or five words of *text* in a row, or a piece of code in it, stand in one
    and in no better place.
    """
    fetched = _sorted(tuple(places))
    for label, place, _ in fetched:
        if what := _speech(place):
            return f"{label} {what}"
        if any(re.search(rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])", place) for name in names if name.strip()):
            return f"{label} names the point"
    for label, place, better in fetched:
        if shared := _shared(text, place, better):
            return f"{label} says {shared!r}, and nothing better does"
    return ""


def speaks(place: Place) -> bool:
    """Whether *place* is a fetched text that speaks to the assistant or of its memory."""
    return place.trust == FETCHED and bool(_speech(_marked(place.text)))


def vote_counts(name: str, tag: str, evidence: Iterable[Evidence], places: Sequence[Place], *, text: str = "") -> bool:
    """Whether a vote *tag* on the point *name*, which says *text*, counts without a review, with this *evidence*.

    A harmful one needs evidence against the point. Another needs evidence in a better place than a fetched text if
    *places* hold a text from outside; what evidence it has has to stand in such a place.
    """
    evidence, is_open = list(evidence), has_outside(places)
    if doubt(text if is_open else "", [name], places):
        return False
    if not evidence and tag != "harmful":
        return not is_open
    enough = is_against if tag == "harmful" else _is_known
    return enough(evidence) and (not is_open or is_supported(text, evidence))


def is_against(evidence: Collection[Evidence]) -> bool:
    """Whether *evidence* can say that a point is wrong: the user's words, files, tests that failed. A test that passed
    says nothing against a point."""
    return _is_known(evidence) and all(each.trust != TESTS or _FAILED.search(each.quote) for each in evidence)


def _is_known(evidence: Collection[Evidence]) -> bool:
    return lowest(evidence) != FETCHED


def _share(text: str, quotes: Iterable[str]) -> float:
    """How many of the words of *text* that say something stand in *quotes*, as a part of one."""
    words = set(_stems(text))
    return len(words.intersection(*[set(_stems(" ".join(quotes)))])) / len(words) if words else 0.0


def _is_mixed(text: str, trust: str, places: Iterable[Place]) -> bool:
    """Whether too many words of *text* stand in a text from outside and in no better place: two, where the user's words
    carry the rest, else two fifths of them."""
    words, outside, better = set(_stems(text)), set[str](), set[str]()
    for place in places:
        if place.trust in (USER, TESTS, FILES):
            name = "" if place.label.startswith("Bash: ") else place.label
            better.update(_stems(f"{name} {place.text}"))
        elif has_outside([place]):
            outside.update(_stems(place.text))
    mixed = [word for word in words & outside - better if len(word) >= _TELLING]
    return len(mixed) > (1 if trust == USER else max(2, _CARRIED * len(words)))


def _is_echo(text: str, places: Iterable[Place]) -> bool:
    """Whether a line that a test printed says *text* by itself. A test says what failed; a line that says what to do
    is somebody's text, such as a dependency's or that of the data."""
    lines = (line for place in places if place.trust == TESTS for line in place.text.splitlines())
    return any(_share(text, [line]) >= _ECHO for line in lines)


@lru_cache(maxsize=2)
def _sorted(places: tuple[Place, ...]) -> list[tuple[str, str, str]]:
    """The fetched ones of *places*, with labels, and what is better than each: the user's words, and what tests and
    files had said before it, with the names of the files; a command is the assistant's own words."""
    users = plain(" ".join(place.text for place in places if place.trust == USER))
    fetched, before = [], ""
    for place in places:
        if place.trust == FETCHED:
            fetched.append((place.label, _marked(place.text), f"{users} {before}"))
        elif place.trust in (TESTS, FILES):
            name = "" if place.label.startswith("Bash: ") else f"{place.label} "
            before += plain(f"{name}{place.text}") + " "
    return fetched


def _marked(text: str) -> str:
    """*text* as it is compared, with what it hides: said in invisible characters, or in base64."""
    hidden = "\x00" if _INVISIBLE.search(text) else ""
    for match in list(_ENCODED.finditer(text))[:20]:
        try:
            decoded = b64decode(match[0] + "=" * (-len(match[0]) % 4)).decode("utf-8")
        except (BadBase64, ValueError):
            continue
        hidden += f" {decoded}" if decoded.isprintable() else ""
    return plain(text + hidden) + ("\x00" if "\x00" in hidden else "")


@lru_cache(maxsize=512)
def _speech(place: str) -> str:
    """How a fetched text speaks to the assistant or of its memory; `""`: it doesn't."""
    if "\x00" in place:
        return "hides words in invisible characters"
    return next((what for what, pattern in _SPEAKING.items() if pattern.search(place)), "")


def _shared(text: str, place: str, better: str) -> str:
    """What *text* has in common with *place*, but not with what is *better*."""
    for match in _CODE.finditer(text):
        code = plain(match[1] or match[2])
        if len(code) >= _TELLING and code in place and code not in better:  # no "e.g."
            return code
    words = _words(text)
    runs = (words[at : at + _RUN] for at in range(len(words) - _RUN + 1))
    telling = [" ".join(run) for run in runs if sum(len(word) >= _TELLING for word in run) >= 3]
    if not telling:
        return ""
    said, known = (f" {' '.join(_words(text))} " for text in (place, better))
    shared = next((run for run in telling if f" {run} " in said and f" {run} " not in known), "")
    if shared or not _REMEMBER.search(place):
        return shared
    own = {word for word in words if len(word) > _TELLING} - set(known.split())  # a page that wants to be remembered
    common = own & set(said.split())
    return ", ".join(sorted(common)) if len(common) >= 3 and 2 * len(common) > len(own) else ""


def _stems(text: str) -> Iterator[str]:
    """The words of *text* that say something, without their endings."""
    for word in _words(text.replace("_", " ")):
        if len(word) > 1 and not word.isdigit() and word not in _STOP_WORDS:
            yield _ENDING.sub("", word)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
