"""Judging from a session's tool calls and corrections whether it followed a point or ignored it.

Only clear cases count, since a false "ignored" is worse than a missed one. docs/internals/evidence.md says how often
the rule is right.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from playbook_db.domain import search_words

FAILED, REFUSED, CORRECTED = "failed", "refused", "corrected"
_CHANGING = ("Bash", "Edit", "MultiEdit", "Write", "NotebookEdit")
_MENTIONED, _ADVISED, _AGAINST = range(3)  # what the words before a name say about it

_CODE = r"[A-Z]{1,8}\d{2,}|E(?!RROR)[A-Z]{4,}"  # of an error
_NAME = re.compile(rf"""`([^`\n]+)`|(?<!\w)('[^'\n]* [^'\n]*'|"[^"\n]* [^"\n]*")(?!\w)|\b({_CODE})\b""")
_ERROR = re.compile(rf"""{_CODE}|['"A-Z]\S*(?: \S+){{2,}}|[A-Z]\w+: \S""")
_CLAUSE_END = re.compile(r"[.,;:!?()\n—–]|\bbut\b")
_ADVISING = re.compile(
    r"\b(?:add|by|call|edit|install|needs?|pass|prefer|read|requires?|run|see|set|start|through|use|via)\b", re.I
)
_OPPOSING = re.compile(r"\b(?:avoid|instead|never|not?|rather|(?:do|must|should)n't)\b", re.I)
_UNSURE = re.compile(
    r"\b(?:after|before|enough|forget|if|miss|omit|only|skip|unless|until|when|whether|while|without)\b", re.I
)
_NEAR = 2  # at most so many words are between an opposing word and the name
_COMMAND_START = r"(?:^|[;&|\n])[ \t]*(?:\w+=\S*[ \t]+)*(?:\./)?"
_SURE = 2  # the least weight of words that a correction must share with a point


@dataclass(frozen=True, slots=True)
class Act:
    """A tool call in a session, or the user's correction of an answer.

    `text` is the command, the file or the user's words. `outcome` is FAILED, REFUSED or CORRECTED, or "" if the call
    worked. `error` is the output of a failed call. `time` is the time of the call or of the answer: UTC, ISO 8601.
    """

    time: str
    tool: str
    text: str
    outcome: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """How a session's acts relate to a point. `followed`: an act followed it. `ignored`: so many acts went wrong in the
    way that the point warns of. `failed_calls`: so many of these acts were failed calls."""

    followed: bool = False
    ignored: int = 0
    failed_calls: int = 0


@dataclass(frozen=True, slots=True)
class _Name:
    """A command, a file, an error or the like that a point names. `kind` says whether the point advises it."""

    text: str
    kind: int

    def is_in(self, act: Act) -> bool:
        """Return whether *act* runs this command, passes this option, or touches this file."""
        name = self.text.removeprefix("./")
        if act.tool != "Bash":
            return f"/{act.text}".endswith(f"/{name}")
        start = r"\s" if name.startswith("-") else _COMMAND_START
        return re.search(rf"{start}{re.escape(name)}(?![^\s;&|=])", act.text) is not None

    def is_error_of(self, act: Act) -> bool:
        """Return whether *act* failed with this error. The class of an error alone isn't enough."""
        error = re.escape(self.text.strip("'\""))
        is_error = self.kind == _MENTIONED and _ERROR.match(self.text)
        return bool(is_error and re.search(rf"(?<!\w){error}(?!\w)", act.error, re.I))


def judge(text: str, acts: Iterable[Act]) -> Trial:
    """Return how a session's *acts*, in order, relate to the point *text*.

    A call follows the point if it does something that the point advises. A session ignores the point if a call fails
    that the point advises against, if a call fails with an error that the point names, or if the user refuses or
    corrects such an act. The error doesn't count if the next call about the point follows the advice.
    """
    names = list(_names(text))
    followed, ignored, failed, is_open = False, 0, 0, 0
    for act in acts:
        is_against = act.tool in _CHANGING and any(name.is_in(act) for name in names if name.kind == _AGAINST)
        if act.outcome == CORRECTED:
            ignored += _says(text, act.text)
        elif act.outcome == REFUSED:
            ignored += is_against
        elif any(name.is_in(act) for name in names if name.kind == _ADVISED):
            followed, ignored, failed, is_open = True, ignored - is_open, failed - is_open, 0
        elif act.outcome == FAILED and (is_against or any(name.is_error_of(act) for name in names)):
            ignored, failed, is_open = ignored + 1, failed + 1, not is_against
    return Trial(followed, ignored, failed)


def _says(text: str, words: str) -> bool:
    """Return whether the user's *words* repeat the point *text*: it contains most of their terms."""
    terms, text = search_words.terms(words), text.casefold()
    shared = sum(term.weight for term in terms if search_words.has_parts(text, term))
    return shared >= max(_SURE, sum(term.weight for term in terms) * 2 / 3)


def _names(text: str) -> Iterator[_Name]:
    kind, end, text = _MENTIONED, 0, text.replace("’", "'")
    for match in _NAME.finditer(text):
        between = text[end : match.start()]
        end = match.end()
        if between.strip() not in ("and", "or"):
            kind = _kind(_CLAUSE_END.split(between)[-1], _CLAUSE_END.split(text[end:])[0])
        if name := match[match.lastindex or 0].rstrip(" .…*"):
            yield _Name(name, kind)


def _kind(before: str, after: str) -> int:
    """Return whether a point advises a thing, judging by the words *before* and *after* it in the same clause."""
    *opposing, between = _OPPOSING.split(before)
    if opposing or after.startswith((" is generated", " are generated")):
        is_sure = len(between.split()) <= _NEAR and not _UNSURE.search(f"{before} {after}")
        return _AGAINST if is_sure else _MENTIONED
    return _ADVISED if _ADVISING.search(before) and not _UNSURE.search(before) else _MENTIONED
