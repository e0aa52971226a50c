"""Whether a session followed a point, or went wrong about it, by its acts.

Pure. Points that were shown and those that weren't are judged alike. Only clear cases count, since a false "ignored" is
worse than a missed one. docs/internals/evidence.md says how often the rule is right.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from playbook_db.domain import search_words

FAILED, REFUSED, CORRECTED = "failed", "refused", "corrected"
_EDITING = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_TOPIC, _ADVICE, _AGAINST, _ERROR = range(4)  # what the words before a name say of it

_PIECE = re.compile(
    r"""`([^`\n]+)`|(?<!\w)(?:'([^'\n]* [^'\n]*)'|"([^"\n]* [^"\n]*)")(?!\w)|(\w(?:[\w'./+=-]*\w)?)|([.,;:!?()\n])"""
)
_ROLES = {  # of words before a name, or between two
    "advise": "run call set pass add need needs needed require requires through via by with edit read see start "
    "install execute write do mit per starte",
    "choose": "use prefer nutze benutze benutzen verwende verwenden",  # also a program outside code
    "oppose": "never not no avoid instead rather don't mustn't shouldn't nie niemals nicht kein keine statt anstatt",
    "turn": "forget skip omit miss vergiss",  # "don't forget" advises
    "condition": "before after if when unless until without only enough while bevor vor nach wenn falls ohne nur",
    "fail": "fail fails failed error errors says reports raises prints abbricht scheitert",
    "join": "and or nor then und oder dann",
}
_ROLE_OF = {word: role for role, words in _ROLES.items() for word in words.split()}
_GENERATED = re.compile(r"\bgenerated\b|(?:\bnot|\bnever|n't) (?:be )?(?:edit|chang|modif|touch)", re.IGNORECASE)

_CLASS = re.compile(r"[\w.]*(?:Error|Exception|Warning)")
_CODE = re.compile(r"\b(?:[A-Z]{1,8}\d{2,}|E[A-Z]{4,})\b|(?:Error|Exception|Warning)\b")
_VARIABLE = re.compile(r"[A-Z][A-Z\d]*(?:_[A-Z\d]+)+")
_NUMBER = re.compile(r"\d{3,}")
_FILE = re.compile(r"\S*(?:/\S*|\w\.[A-Za-z]\w{0,4})")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_SURE = 2  # the least weight of what the user's words share with a point
_LEAST_PHRASE = 3  # words of an error's text


@dataclass(frozen=True, slots=True)
class Act:
    """A call of a *tool*, or the user's words that corrected an answer.

    `text` is the command, the file or the words. `outcome` is FAILED, REFUSED or CORRECTED, or "" if the call worked.
    `error` is the output of a failed call. `time` is that of the call, or of the corrected answer: UTC, ISO 8601.
    """

    time: str
    tool: str
    text: str
    outcome: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """What acts show of a point: whether one `followed` it, how many `ignored` it (the thing that it names went wrong),
    and how many of those were `failed_calls`."""

    followed: bool = False
    ignored: int = 0
    failed_calls: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """In how many sessions a point was shown, `followed` and `ignored`, and how many failed calls that cost."""

    shown: int = 0
    followed: int = 0
    ignored: int = 0
    failed_calls: int = 0

    @property
    def in_words(self) -> str:
        """A sentence; "" if no session followed or ignored the point."""
        if not self.followed and not self.ignored:
            return ""
        sessions, calls = (
            f"{word}{'s' * (count != 1)}"
            for word, count in (("session", self.shown), ("failed call", self.failed_calls))
        )
        text = f"shown in {self.shown} {sessions}, followed in {self.followed}, ignored in {self.ignored}"
        return f"{text}, which cost {self.failed_calls} {calls}" if self.failed_calls else text


@dataclass(frozen=True, slots=True)
class _Name:
    """A command, a file, an error or the like in a point's text, and what the words before it say of it."""

    text: str
    kind: int

    @property
    def is_file(self) -> bool:
        return _FILE.fullmatch(self.text) is not None

    def is_in(self, act: Act) -> bool:
        """Whether *act* runs the command or touches the file."""
        if act.tool != "Bash":
            return self.is_file and f"/{act.text}".endswith("/" + self.text.removeprefix("./"))
        words = tuple(self.text.split())
        # Options, numbers and variables count anywhere in a command, other words where it begins.
        is_anywhere = words[0][0] == "-" or _NUMBER.fullmatch(self.text) or _ASSIGNED.match(self.text)
        for called in _commands(act.text):
            start = next((at for at, word in enumerate(called) if not _ASSIGNED.match(word)), 0)
            places = range(len(called)) if is_anywhere else (start,)
            if any(called[at : at + len(words)] == words for at in places):
                return True
            if _VARIABLE.fullmatch(self.text) and any(word.startswith(f"{self.text}=") for word in called):
                return True
        return False

    def is_error_of(self, act: Act) -> bool:
        """Whether *act* failed with the error that is named. An error's class alone is too little."""
        if self.kind == _AGAINST:
            return False
        if variable := _VARIABLE.match(self.text):
            return variable[0] in act.error and variable[0] not in act.text
        words = set(re.findall(r"\w+", self.text.casefold()))
        is_phrase = len(words) >= _LEAST_PHRASE and (self.kind == _ERROR or self.text[0].isupper())
        is_code = self.kind != _ADVICE and _CODE.search(self.text) and not _CLASS.fullmatch(self.text)
        return bool(is_phrase or is_code) and any(words <= line for line in _lines(act.error))


def judge(text: str, acts: Iterable[Act]) -> Trial:
    """What *acts*, in order, show of the point *text*.

    A call follows it if it does what the point advises. A session goes wrong about it if a call fails that does what
    the point advises against, if a call fails with an error that it names, or if the user refuses or corrects such a
    thing. Such an error doesn't count if the next call about the point does what it advises.
    """
    names = _names(text)
    followed, ignored, failed, is_open = False, 0, 0, 0
    for act in acts:
        is_against = any(
            name.is_in(act)
            for name in names
            if name.kind == _AGAINST and (not name.is_file or act.tool in _EDITING or act.outcome == REFUSED)
        )
        if act.outcome == CORRECTED:
            ignored += _says(text, act.text)
        elif act.outcome == REFUSED:
            ignored += is_against
        elif any(name.is_in(act) for name in names if name.kind == _ADVICE):
            followed, ignored, failed, is_open = True, ignored - is_open, failed - is_open, 0
        elif act.outcome == FAILED and (is_against or any(name.is_error_of(act) for name in names)):
            ignored, failed, is_open = ignored + 1, failed + 1, not is_against
    return Trial(followed, ignored, failed)


def guard_pattern(text: str) -> str:
    """The pattern of calls that the point *text* advises against, for a guard; "" if no code in it names such calls."""
    against = (name.text for name in _names(text) if name.kind == _AGAINST and not name.is_file)
    commands = (each for each in against if f"`{each}" in text and each[0].isalpha() and "(" not in each)
    return next((f"Bash({command} *)" for command in commands), "")


def _says(text: str, words: str) -> bool:
    """Whether the user's *words* are about what the point *text* says: most of their terms are in it."""
    terms, text = search_words.terms(words), text.casefold()
    shared = sum(term.weight for term in terms if search_words.has_parts(text, term))
    return shared >= max(_SURE, sum(term.weight for term in terms) * 2 / 3)


@lru_cache(1000)
def _commands(text: str) -> Sequence[tuple[str, ...]]:
    """The words of each command in a shell's *text*."""
    return [tuple(each.removeprefix("./").split()) for each in re.split(r"&&|\|\|?|;|\n", text.replace(" ./", " "))]


@lru_cache(1000)
def _lines(text: str) -> Sequence[frozenset[str]]:
    """The words of each line of *text*."""
    return [frozenset(re.findall(r"\w+", line)) for line in text.casefold().splitlines()]


def _names(text: str) -> list[_Name]:
    """The things that a point's *text* names."""
    names: list[_Name] = []
    kind, is_choice, is_past = _TOPIC, False, False  # past the name that the words were for
    program = ""  # with its arguments, outside code
    is_generated = _GENERATED.search(text) is not None
    for code, single, double, word, _ in [*_PIECE.findall(text.replace("’", "'")), ("",) * 5]:
        role = _ROLE_OF.get(word.casefold(), "")
        if program and word and role in ("", "advise", "fail") and word.casefold() not in search_words.STOP_WORDS:
            program += f" {word}"
            continue
        if program:
            names.append(_Name(program, kind))
            program, is_past = "", True
        if single or double:
            names.append(_Name(single or double, _ERROR))
        elif code.strip():
            name = _Name(code.rstrip(".…* ") or code, kind)
            names.append(_Name(code, _AGAINST) if kind == _TOPIC and is_generated and name.is_file else name)
            is_past = True
        elif not word:
            kind, is_past = _TOPIC, False
        elif role != "join":
            if role == "condition" and is_past and kind == _AGAINST:
                names[-1] = _Name(names[-1].text, _TOPIC)  # whether it holds can't be told
            if is_past or role == "condition":
                kind, is_past = _TOPIC, False
            if role == "turn" and kind == _AGAINST:
                kind = _ADVICE
            elif role == "oppose":
                kind = _AGAINST
            elif role == "fail" and kind != _AGAINST:
                kind = _ERROR
            elif role in ("advise", "choose"):
                kind, is_choice = kind or _ADVICE, role == "choose"
            elif kind in (_TOPIC, _ERROR):
                names += [_Name(word, kind)] if _CODE.search(word) else []
            elif (kind == _AGAINST or is_choice) and any(
                term.weight >= 1 or _NUMBER.fullmatch(word) for term in search_words.terms(word)
            ):
                program = word
    return names
