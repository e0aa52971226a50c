"""Deciding whether a fetched text, such as a web page, may have caused a lesson.

A page can tell the assistant, or the model that learns, which genuine words to quote. So a lesson in a page's words
counts as the page's. In a chunk with a page, the evidence must be about the lesson's subject. A change against a point
needs the user's words, and a chunk without a page. A weak vote can rely on files, since it lowers nothing by itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from playbook_db.domain.trust.evidence import FETCHED, FILES, TESTS, USER, Evidence, Place, lowest, plain, plain_texts

_RUN = 5  # so many equal words in a row aren't a coincidence
_CARRIED = 0.4  # the share of an operation's words that the user must have said, to support it alone
_ECHO = 0.6  # the share of an operation's words in a line of a test's output that says the same
_TELLING = 4  # letters in a telling word; a run has at least three such words

_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{4})(?:s|es|ed|ing)$")
_STOP_WORDS = frozenset(
    ("a", "an", "the", "and", "or", "but", "not", "no", "of", "to", "in", "on", "at", "by", "for", "with", "from",
     "as", "is", "are", "be", "was", "it", "its", "this", "that", "these", "they", "we", "you", "i", "he", "all",
     "any", "if", "so", "do", "does", "has", "have", "must", "should", "can", "will", "use", "run", "always", "never",
     "only", "more", "bash", "user", "read", "grep", "py", "js", "ts", "src", "test", "tests", "passed", "failed",
     "error", "ok", "q")
)  # fmt: skip
# A command, URL, path or identifier: a text in backticks, or with signs such as `/` or `_` inside.
_CODE = re.compile(r"`([^`\n]{4,80})`|(?<![\w./:@-])((?:[\w@~-]+[./:=_]+)+[\w@~-]+/?|--[\w-]{3,})")
# Commands that may show texts by other people.
_BRINGS = (
    r"\b(?:curl|wget|https?(?= )|gh|glab|ssh|scp|rsync|nc|lynx|w3m|links|pdftotext|FETCH_HEAD"
    r"|(?:npm|pnpm|yarn|cargo|gem) (?:view|info|show|search)|cat|head|tail|less|more|bat|jq"
    r"|git (?:-\S+ )*(?:fetch|clone|pull|ls-remote|am|submodule))\b"
)
_OWN_SHELL = re.compile(rf"Bash: (?!.*{_BRINGS})")


def operation_trust(text: str, names: Iterable[str], evidence: Iterable[Evidence], places: Sequence[Place]) -> str:
    """Return the class of trust for an operation with this *evidence*.

    It is USER if the user's words alone support the operation, or else the class of the worst quote. It is FETCHED if a
    fetched place may have caused the operation, or a test printed it. *text* is the operation's new text, or the text
    of the point that it removes. *names* are the points that it changes.
    """
    evidence = list(evidence)
    is_users = _share(text, [each.quote for each in evidence if each.trust == USER]) >= _CARRIED
    trust = USER if is_users else lowest(evidence)
    is_supporting = is_users or (trust != USER and is_supported(text, evidence))
    is_open = has_outside(places) and (not is_supporting or _is_mixed(text, trust, places))
    return FETCHED if is_open or doubt(text, names, places) or (trust != USER and _is_echo(text, places)) else trust


def has_outside(places: Iterable[Place]) -> bool:
    """Return whether *places* have a text from outside: a web page, a server's answer, or a subagent's report."""
    return any(place.trust == FETCHED and not _OWN_SHELL.match(place.label) for place in places)


def is_supported(text: str, evidence: Iterable[Evidence]) -> bool:
    """Return whether *evidence* and *text* share a telling word, and so have the same subject. "12 passed" supports no
    lesson. An empty *text* needs no evidence."""
    evidence_stems = {word for each in evidence for word in _stems(f"{each.quote} {each.place}")}
    return not text.strip() or not evidence_stems.isdisjoint(_stems(text))


def doubt(text: str, names: Iterable[str], places: Sequence[Place]) -> str:
    """Return the reason, in words, why a fetched text may have caused an operation on the points *names*, or "".

    One reason is that a fetched text or a test's output names one of the points. The other is that a fetched text, and
    no better place, has five words in a row of *text* or a piece of its code.
    """
    patterns = [rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])" for name in names if name.strip()]
    for trust in (FETCHED, TESTS):
        for place, place_text in zip(places, plain_texts(tuple(places)), strict=True):
            if place.trust == trust and any(re.search(pattern, place_text) for pattern in patterns):
                return f"{place.label} names the point"
    for label, place_text, better in _fetched_places(tuple(places)):
        if shared := _common_text(text, place_text, better):
            return f"{label} says {shared!r}, and nothing better does"
    return ""


def vote_counts(name: str, tag: str, evidence: Iterable[Evidence], places: Sequence[Place], *, text: str = "") -> bool:
    """Return whether a vote counts without a person's review. *name* and *text* are its point's.

    A harmful vote needs *evidence* against the point. A weak harmful vote needs evidence from the project's files, and
    *places* without a text from outside. Any other vote needs evidence only if *places* have such a text, and none of
    its evidence may be from there.
    """
    evidence, is_open = list(evidence), has_outside(places)
    if tag == "harmful" and lowest(evidence) == FILES and all(each.trust != TESTS for each in evidence):
        return not is_open and operation_trust(text, [name], evidence, places) != FETCHED
    if tag == "harmful":
        return is_against(evidence, places) and not doubt("", [name], places)
    if doubt(text if is_open else "", [name], places):
        return False
    if not evidence or lowest(evidence) == FETCHED:
        return not (is_open or evidence)
    return not is_open or is_supported(text, evidence)


def is_against(evidence: Iterable[Evidence], places: Iterable[Place]) -> bool:
    """Return whether *evidence* can show that a point is wrong. Only the user's words can, and only without fetched
    places: a web page can cause complaints and failing tests."""
    return lowest(evidence) == USER and not any(place.trust == FETCHED for place in places)


def _share(text: str, quotes: Iterable[str]) -> float:
    """Return the share (from 0 to 1) of *text*'s telling words that *quotes* contain."""
    words = set(_stems(text))
    return len(words.intersection(*[set(_stems(" ".join(quotes)))])) / len(words) if words else 0.0


def _is_mixed(text: str, trust: str, places: Iterable[Place]) -> bool:
    """Return whether too many words of *text* are only in texts from outside, and in no better place. Too many means
    two or more if *trust* is USER, and otherwise more than two fifths (at least three)."""
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
    """Return whether a single line of a test's output says the same as *text*. Tests say what failed. A line that says
    what to do is somebody's text, such as a dependency's."""
    lines = (line for place in places if place.trust == TESTS for line in place.text.splitlines())
    return any(_share(text, [line]) >= _ECHO for line in lines)


@lru_cache(maxsize=2)
def _fetched_places(places: tuple[Place, ...]) -> list[tuple[str, str, str]]:
    """Return the label and the text of each fetched place, and the text of better places to compare with it.

    Better places are the user's words, and earlier output of tests and files with their names. Commands are left out,
    because they are the assistant's own words.
    """
    users = plain(" ".join(place.text for place in places if place.trust == USER))
    fetched, before = [], ""
    for place in places:
        if place.trust == FETCHED:
            fetched.append((place.label, plain(place.text), f"{users} {before}"))
        elif place.trust in (TESTS, FILES):
            name = "" if place.label.startswith("Bash: ") else f"{place.label} "
            before += plain(f"{name}{place.text}") + " "
    return fetched


def _common_text(text: str, place: str, better: str) -> str:
    """Return code, or five words in a row, that *text* shares with *place* but not with *better*, or ""."""
    for match in _CODE.finditer(text):
        code = plain(match[1] or match[2])
        if len(code) >= _TELLING and code in place and code not in better:  # no "e.g."
            return code
    words = _words(text)
    runs = (words[at : at + _RUN] for at in range(len(words) - _RUN + 1))
    telling = [" ".join(run) for run in runs if sum(len(word) >= _TELLING for word in run) >= 3]
    if not telling:
        return ""
    place_words, better_words = (f" {' '.join(_words(text))} " for text in (place, better))
    return next((run for run in telling if f" {run} " in place_words and f" {run} " not in better_words), "")


def _stems(text: str) -> Iterator[str]:
    """Yield the words of *text* that say something about its subject, without their endings."""
    for word in _words(text.replace("_", " ")):
        if len(word) > 1 and not word.isdigit() and word not in _STOP_WORDS:
            yield _ENDING.sub("", word)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
