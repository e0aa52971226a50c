"""Deciding whether a vote or an operation counts, by its evidence and by the session's texts from outside.

A page can tell a model which genuine words to quote. So evidence must have a word of the lesson, and a lesson in a
page's words counts as the page's. Only the user's words can remove a point, and only if the session read no page.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from playbook_db.domain.trust.evidence import OUTSIDE, TRUST, USER, Evidence, Place, plain_texts

_RUN = 5  # so many equal words in a row aren't a coincidence
_TELLING = 4  # letters in a telling word; a run has at least three such words
_RUN_CHARS = 10  # so many equal characters aren't a coincidence in a language that has no spaces
_ENOUGH = 0.8  # the share of a point's words that a point made of it has, if the two say the same

_WORD = re.compile(r"\w+")
_WHOLE_WORD = re.compile(r"\w+(?:[./:@-]+\w+)*")  # a path, an address or a name of a branch is one word
_ENDING = re.compile(r"(?<=\w{4})(?:s|es|ed|ing)$")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")  # Chinese, Japanese and Korean
_STOP_WORDS = frozenset(
    ("a", "an", "the", "and", "or", "but", "not", "no", "of", "to", "in", "on", "at", "by", "for", "with", "from",
     "as", "is", "are", "be", "was", "it", "its", "this", "that", "these", "they", "we", "you", "i", "he", "all",
     "any", "if", "so", "do", "does", "has", "have", "must", "should", "can", "will", "use", "run", "always", "never",
     "only", "more", "bash", "user", "read", "grep", "py", "js", "ts", "src", "test", "tests", "passed", "failed",
     "error", "ok", "q")
)  # fmt: skip


def trust_of(text: str, evidence: Iterable[Evidence]) -> str:
    """Return the best class of the found *evidence* that is about *text*, or OUTSIDE if there is none."""
    return min((each.trust for each in evidence if is_about(text, [each])), key=TRUST.index, default=OUTSIDE)


def is_about(text: str, evidence: Iterable[Evidence]) -> bool:
    """Return whether found *evidence* and *text* share a telling word. "12 passed" is about no lesson."""
    quoted = {word for each in evidence if each.is_found for word in _stems(f"{each.quote} {each.place}")}
    return not quoted.isdisjoint(_stems(text))


def why_waits(
    text: str, names: Collection[str], evidence: Collection[Evidence], places: Sequence[Place], *, removes: bool = False
) -> str:
    """Return the reason why an operation has to wait for a person, or `""`.

    *text* is its new text, or that of the points *names* that it *removes*. *places* are the parts of the session."""
    if removes:
        is_mixed = any(each.is_found and each.trust != USER for each in evidence)
        return "a quote isn't yours" if is_mixed else _why_not_users(text, evidence, places)
    if naming := _naming(names, places):
        return f"{naming} names the point"
    if copied := _copied(text, places):
        return copied
    return "" if trust_of(text, evidence) != OUTSIDE else "no quote of yours, or of something seen here, is about it"


def why_vote_waits(name: str, tag: str, text: str, evidence: Collection[Evidence], places: Sequence[Place]) -> str:
    """Return the reason why a vote on the point *name* with this *text* doesn't count, or `""` if it counts."""
    if tag == "harmful":
        return _why_not_users(text, evidence, places)
    if naming := _naming([name], places):
        return f"{naming} names the point"
    classes = [each.trust for each in evidence if each.is_found]
    if OUTSIDE in classes or (evidence and not classes):
        return "a quote is from outside" if classes else "no quote is yours, or from something seen here"
    page = "" if is_about(text, evidence) else first_outside(places)
    return f"the session read {page}, and no quote is about the point" if page else ""


def says_the_same(merged: str, sources: Collection[str]) -> bool:
    """Return whether the text *merged* adds no word to its *sources*, and keeps nearly all of each."""
    new, parts = set(_stems(merged)), [set(_stems(each)) for each in sources]
    return new <= set().union(*parts) and all(len(part & new) >= _ENOUGH * len(part) for part in parts)


def _why_not_users(text: str, evidence: Iterable[Evidence], places: Sequence[Place]) -> str:
    """Return the reason why the user's words don't support a change against a point with this *text*, or `""`."""
    if page := first_outside(places):
        return f"the session read {page}"
    users = [each for each in evidence if each.trust == USER]
    return "" if is_about(text, users) else "no quote of yours is about it"


def first_outside(places: Iterable[Place]) -> str:
    """Return the label of the first text from outside in *places*, or `""`."""
    return next((place.label for place in places if place.trust == OUTSIDE), "")


def _naming(names: Iterable[str], places: Sequence[Place]) -> str:
    """Return the label of a text from outside that names one of the points *names*, or `""`."""
    patterns = [rf"(?<![\w-]){re.escape(name.casefold())}(?![\w-])" for name in names if name.strip()]
    for place, text in zip(places, plain_texts(tuple(places)), strict=True):
        if place.trust == OUTSIDE and any(re.search(pattern, text) for pattern in patterns):
            return place.label
    return ""


def _copied(text: str, places: Sequence[Place]) -> str:
    """Return which words in a row *text* shares with a text from outside, but not with the user, in a sentence, or
    `""`."""
    words = _whole_words(text)
    users = f" {' '.join(word for place in places if place.trust == USER for word in _whole_words(place.text))} "
    runs = (words[at : at + _RUN] for at in range(len(words) - _RUN + 1))
    copies = [" ".join(run) for run in runs if sum(len(word) >= _TELLING for word in run) >= 3]
    copies += [word for word in words if len(word) >= _RUN_CHARS and _UNSPACED.fullmatch(word)]
    copies = [copy for copy in copies if f" {copy} " not in users]
    for place, whole in zip(places, plain_texts(tuple(places)), strict=True) if copies else ():
        if place.trust == OUTSIDE:
            place_words = f" {' '.join(_whole_words(whole))} "
            for copy in copies:
                if f" {copy} " in place_words:
                    return f"{place.label} says {copy!r}"
    return ""


def _stems(text: str) -> Iterator[str]:
    """Yield the telling words of *text*, without endings. Texts without spaces are cut into pairs of characters."""
    for word in _words(text.replace("_", " ")):
        for run in _UNSPACED.findall(word):
            yield from (run[at : at + 2] for at in range(len(run) - 1))
        rest = _UNSPACED.sub("", word)
        if len(rest) > 1 and not rest.isdigit() and rest not in _STOP_WORDS:
            yield _ENDING.sub("", rest)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _whole_words(text: str) -> list[str]:
    return _WHOLE_WORD.findall(text.casefold())
