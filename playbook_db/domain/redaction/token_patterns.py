"""Finding secrets by their form: tokens with a prefix, headers, passwords in URLs and files, private keys.

A pattern is tried only at its anchor, which is a literal, and only in texts that have the anchor's words. The search
takes linear time: each pattern has a bound, or starts only at the beginning of a run of its characters.
"""

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from playbook_db.domain.redaction import entropy, rules
from playbook_db.domain.redaction.escapes import Anchored, Secret, Unescaped, places_of
from playbook_db.domain.redaction.regexes import regex

WORD = r"(?<![\w-])"  # begins a pattern whose anchor must be at the beginning of a word
# The kind of a secret, a regular expression with `<anchor>` and other parts, and a check of its first group.
Pattern = tuple[str, str, Callable[[str], bool]]
Table = Anchored[list[Pattern]]  # the patterns that are tried at each anchor, or everywhere if the anchor is empty


def by_anchor(patterns: Iterable[tuple[str, Pattern]]) -> Table:
    """Group *patterns* by their anchors, so that a text is searched only once for each anchor."""
    groups: dict[str, list[Pattern]] = {}
    for anchor, pattern in patterns:
        groups.setdefault(anchor, []).append(pattern)
    return Anchored(groups.items())


def find_secrets(table: Table, unescaped: Unescaped) -> Iterator[Secret]:
    """Yield the secrets that the patterns in *table* find in the text of *unescaped*."""
    for anchor, places, patterns in table.in_text(unescaped):
        for kind, pattern, accepts in patterns:
            for match in _matches(compile_pattern(pattern, anchor), unescaped.text, places if anchor else None):
                if accepts(match[1]):
                    yield match.start(1), match.end(1), kind


@cache
def compile_pattern(pattern: str, anchor: str) -> re.Pattern[str]:
    """Compile *pattern* with `<anchor>` and each `<part>` replaced. An unknown part is left as it is."""
    parts = rules.PARTS | {"anchor": re.escape(anchor)}
    return re.compile(re.sub("<([a-z_]+)>", lambda part: parts.get(part[1], part[0]), pattern))


def _matches(pattern: re.Pattern[str], text: str, places: Iterable[int] | None) -> Iterator[re.Match[str]]:
    if places is None:
        yield from pattern.finditer(text)
        return
    done = 0
    for at in places:
        match = pattern.match(text, at) if at >= done else None
        if match:
            yield match
            done = match.end()


def unknown_tokens(unescaped: Unescaped) -> Iterator[Secret]:
    """Yield words that look like a provider's key: a prefix, then more random characters than an id has."""
    for token in _UNKNOWN.finditer(unescaped.words):
        is_unknown = token["prefix"].lower() not in rules.IDS and entropy.is_strong(token["body"])
        for place in places_of(token[0], unescaped.text) if is_unknown else ():
            yield place, place + len(token[0]), "token"


def _real(value: str) -> bool:
    return not entropy.is_placeholder(value) and len(set(value)) > 5


def _decoded(value: str) -> str:
    try:
        return a2b_base64(value, strict_mode=True).decode("utf-8", "replace")
    except ValueError:
        return ""


def _is_key_in_base64(value: str) -> bool:
    head = re.sub(r"[^A-Za-z0-9+/]|(?<=\\)[nrt]", "", value)[:80]
    return b"PRIVATE KEY" in a2b_base64(head[: len(head) // 4 * 4])


def _is_cookie(value: str) -> bool:
    """Return whether a cookie in *value* is random. Those of web analytics begin with `_g`."""
    parts = (part.strip() for part in value.split(";"))
    return any(
        "[masked: " in part or (part[:2] != "_g" and entropy.is_random(part.partition("=")[2])) for part in parts
    )


_UNKNOWN = regex(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{31})(?P<prefix>[A-Za-z][A-Za-z0-9]{1,11})[_-](?:[a-z0-9]{1,8}[_-]){0,2}"
    r"(?P<body>[A-Za-z0-9]{28,100})(?![A-Za-z0-9_/+=-])"
)
_IPV6_END = regex(r"[0-9a-f]{1,4}(?:[/%].*)?")
_NO_PIN = regex(r"(?:19|20)[0-9]{2}|(.)\1*|12345?6?7?8?|1024|2048|4096")  # years, placeholders, sizes
_CHECKS: dict[str, Callable[[str], bool]] = {
    "any": bool,
    "real": _real,
    "random": entropy.is_random,
    "id": lambda value: (
        (_real(value) if "/" in value else entropy.is_random(value)) and re.search("[0-9]", value) is not None
    ),
    "word": lambda value: not entropy.is_placeholder(value),
    "basic": lambda value: ":" in (plain := _decoded(value)) and not entropy.is_placeholder(plain),
    "cookie": _is_cookie,
    "url password": lambda value: (
        value.lower() not in (*rules.PASSWORDS, "pass", "key", "x", "p") and not entropy.is_placeholder(value)
    ),
    "no address": lambda value: not entropy.is_placeholder(value) and not _IPV6_END.fullmatch(value),
    "key in base64": _is_key_in_base64,
    "pin": lambda value: not _NO_PIN.fullmatch(value),
    "invented": entropy.is_invented,
    "aws": lambda value: not value[:20].endswith("EXAMPLE"),
}


def _patterns(
    rows: Iterable[tuple[str, str, str, str]], template: str = "{}", between: str | None = "|"
) -> Iterator[tuple[str, Pattern]]:
    """Yield each anchor of *rows* with its pattern in *template*. *between* separates anchors (None: white space)."""
    for kind, anchors, pattern, check in rows:
        for anchor in anchors.split(between):
            yield anchor, (kind, template.format(pattern), _CHECKS[check])


TOKENS = by_anchor((*_patterns(rules.FORMS), *_patterns(rules.PREFIXED, "<left>(<anchor>{})", None)))
HEADERS = tuple(_patterns(rules.HEADED))
