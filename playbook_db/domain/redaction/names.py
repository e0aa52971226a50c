"""Recognizing names of settings, variables, options, fields and columns that hold secrets."""

import re
from functools import lru_cache

from playbook_db.domain.redaction import rules
from playbook_db.domain.redaction.escapes import MARKER, Unescaped, places_of
from playbook_db.domain.redaction.regexes import regex

NAME_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_FOREIGN_STEMS = frozenset(word.rstrip("*") for word in (*rules.FOREIGN_PASSWORDS, *rules.FOREIGN_SECRETS))
# Each name of a secret contains at least one stem. Beside it is its first word.
_STEMS = {stem: stem.split(" ")[0] for stem in (*rules.STEMS, *_FOREIGN_STEMS)}
UNSPACED = "\u3000"  # the first character of Asian scripts without spaces between words


def _foreign(words: tuple[str, ...], suffixes: str) -> re.Pattern[str]:
    """Build a pattern for whole *words* and *suffixes*. In scripts without spaces, words may be inside other words."""
    spaced = "|".join(word.replace("*", r"[^\W\d_]{0,6}") for word in words if word < UNSPACED)
    unspaced = "|".join(word for word in words if word >= UNSPACED)
    return regex(rf"(?<![^\W\d_])(?:{spaced})(?![^\W\d_])|{unspaced}|{suffixes}")


_FOREIGN = _foreign(rules.FOREIGN_PASSWORDS, "passwort|kennwort|wachtwoord|l\u00f6senord")
_FOREIGN_SECRET = _foreign(rules.FOREIGN_SECRETS, r"schl\u00fcssel(?![^\W\d_])")
_WORD = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

_KINDS = {
    "password": (*rules.PASSWORDS, "pass"),
    "secret": ("secret",),
    "token": ("token",),
    "key": tuple(rules.GLUED_KEYS),
    "credential": ("credential", "credentials", "creds"),
}
_LAST = {"auth": "credential", "authorization": "credential", "psk": "password"} | dict.fromkeys(
    ("pat", "jwt", "cookie"), "token"
)


def stems(unescaped: Unescaped) -> list[tuple[int, int]]:
    """Return the start and end of each stem in the text of *unescaped*. A name with a stem may mean a secret."""
    text = MARKER.sub(lambda marker: " " * len(marker[0]), unescaped.text)
    text, words = (text.replace("\u0130", "i").lower() for text in (text, unescaped.words))  # lower() returns two
    present = (stem for stem, word in _STEMS.items() if word in words)
    return sorted((place, place + len(stem)) for stem in present for place in places_of(stem, text))


def has_stem(name: str) -> bool:
    """Return false if no variable with this *name* has a secret. This test needs no regular expression."""
    folded = name.lower().replace("path", "")  # in which `pat` means no token
    return any(stem in folded for stem in (*_STEMS, "private", "pat"))


@lru_cache(maxsize=1024)
def kind_of_name(whole: str) -> str | None:
    """Return the kind of secret that a variable with the name *whole* has, or None."""
    folded = whole.lower()
    may_be_foreign = any(stem in folded for stem in _FOREIGN_STEMS)  # is found faster than the patterns
    if may_be_foreign and _FOREIGN.search(folded):
        return "password"
    if whole == "PAT" or (may_be_foreign and _FOREIGN_SECRET.search(folded)):
        return "secret"
    spelled = re.sub("(?i)(pass|key)[_-]?(word|material)", lambda match: f"{match[1]}{match[2]}".lower(), whole)
    kind = _kind_of([word.lower() for word in _WORD.findall(spelled)])
    if kind is None and re.fullmatch("[A-Z0-9_]+_(?:KEY|Key)[0-9]*", whole):
        kind = None if rules.PUBLIC_KEYS & set(whole.lower().split("_")) else "key"
    return "AWS key" if kind in ("secret", "token", "key") and "aws" in whole.lower() else kind


def _kind_of(words: list[str]) -> str | None:
    while len(words) > 1 and words[-1] in rules.AFTERTHOUGHTS:
        words = words[:-1]
    if not words or words[-1] in rules.ABOUT or words[0] in ("public", "hashed"):
        return None
    words[-1] = re.sub("(key|token|secret)s$", r"\1", words[-1])
    for place, word in enumerate(words):
        kind = next((kind for kind, ends in _KINDS.items() if word.endswith(ends)), None)
        if kind and word not in ("bypass", "compass", "overpass"):
            return kind
        if word in ("key", "salt") and place and words[place - 1] in rules.KEYED:
            return "key"
    last = words[-1] if len(words) > 1 or words[-1] not in ("pat", "jwt", "cookie") else ""
    return _LAST.get(last)


def describes(name: str) -> bool:
    """Return whether one of the words in *name* says that it names no secret: `token_id`."""
    return not rules.NO_SECRETS.isdisjoint(word.lower() for word in _WORD.findall(name))
