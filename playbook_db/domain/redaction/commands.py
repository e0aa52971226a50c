"""Passwords on command lines: after the options of well-known commands, or in the place where one takes it.

A short option means something else to each command, so `commands.toml` names the commands.
"""

import re
from collections.abc import Iterator

from playbook_db.domain.redaction.entropy import is_a_word, is_invented, is_mixed, is_random, is_secret
from playbook_db.domain.redaction.escapes import Secret, Unescaped, word_of
from playbook_db.domain.redaction.tables import filled, read_table
from playbook_db.domain.redaction.token_patterns import WORD, Pattern

_TABLE = read_table("commands")
_PARTS = _TABLE["parts"]
_QUOTED = r"([^\"'\\\n]{4,200})(?=(?:\\n)?\\{0,8}[\"'])"
_VALUE = (
    r"\\{0,8}[\"']?((?<=[\"'])[^\"'\\\n]{4,200}(?=(?:\\n)?\\{0,8}[\"'])"
    r"|(?<![\"'])(?!-)[^\s\"'\\<$|;&()](?:[^\s\"'\\<|;&()]|&(?=[^\s&])){3,200})"
)

_PORTS = re.compile(r"[0-9.:-]+(?:/[a-z]{3})?")


def _is_password(value: str) -> bool:
    return is_secret(value, password=True, literal=True) and (value.isdigit() or not _PORTS.fullmatch(value))


def _is_sure(value: str) -> bool:
    return _is_password(value) or is_a_word(value)


def _commands() -> Iterator[Pattern]:
    for name, kind, accepts in (
        ("options", "password", is_invented),
        ("sure", "password", _is_sure),
        ("passwords", "password", _is_password),
        ("tokens", "token", is_random),
    ):
        for anchors, between in _TABLE["commands"][name]:
            before = [filled(between, _PARTS) + _VALUE]
            if "<user>" in between:
                before.append(filled(between, {**_PARTS, "user": _PARTS["quoted_user"]}) + _QUOTED)
            for anchor in anchors.split("|"):
                for regex in before:
                    start = WORD if anchor.isalnum() and len(anchor) < 6 and kind == "password" else ""
                    yield Pattern(kind, anchor, re.compile(start + re.escape(anchor) + regex), accepts)


COMMANDS = tuple(_commands())

_CALLS = _TABLE["calls"]
_ARGUMENT = re.compile(
    r"\s{0,20}(?:[\w.]{1,40}\s?[:=]\s?)?(?:b|Some\(|\[|\()?"
    r"(?:\\{0,8}(?P<quote>[\"'])(?P<text>[^\"'\\\n]{0,200})\\{0,8}(?P=quote)|[\w.$@:>-]{1,60}(?:\(\))?|\{[^{}\n]{0,80}\})"
    r"(?:\.\w{1,20}\(\))?\)?\s{0,20}[,)\]]"
)


def calls(unescaped: Unescaped) -> Iterator[Secret]:
    """The passwords among the arguments of calls, but the first of them."""
    text = unescaped.text
    for call in (*_CALLS["sure"], *_CALLS["likely"]):
        is_sure = call in _CALLS["sure"]
        for place in unescaped.places(call, word_of(call)):
            at = place + len(call)
            for number in range(5):
                argument = _ARGUMENT.match(text, at)
                if argument is None:
                    break
                value = argument["text"] or ""
                if number and ((is_sure and is_invented(value)) or _is_key(value)):
                    yield *argument.span("text"), "password"
                at = argument.end()


def _is_key(value: str) -> bool:
    return is_random(value) and _is_password(value) and (len(value) > 23 or is_mixed(value))
