"""Finding passwords on command lines and in function calls, by an option or by the position of the argument.

A short option means a password in some commands only, so `rules` lists the commands.
"""

from collections.abc import Iterator

from playbook_db.domain.redaction import entropy, rules
from playbook_db.domain.redaction.escapes import Anchored, Secret, Unescaped
from playbook_db.domain.redaction.regexes import regex
from playbook_db.domain.redaction.token_patterns import WORD, Pattern

_VALUE = (
    r"\\{0,8}[\"']?((?<=[\"'])[^\"'\\\n]{4,200}(?=(?:\\n)?\\{0,8}[\"'])"
    r"|(?<![\"'])(?!-)[^\s\"'\\<$|;&()](?:[^\s\"'\\<|;&()]|&(?=[^\s&])){3,200})"
)


def _is_password(value: str) -> bool:
    if entropy.is_a_word(value) or entropy.is_passphrase(value):
        return True
    is_port = not value.isdigit() and entropy.PORTS.fullmatch(value) is not None
    return not is_port and entropy.is_secret(value, password=True, literal=True)


def _commands() -> Iterator[tuple[str, Pattern]]:
    for rows, kind, accepts in (
        (rules.OPTIONS, "password", entropy.is_invented),
        (rules.PASSWORD_COMMANDS, "password", _is_password),
        (rules.TOKEN_COMMANDS, "token", entropy.is_random),
    ):
        for anchors, between in rows:
            for anchor in anchors.split("|"):
                start = WORD if anchor.isalnum() and len(anchor) < 6 and kind == "password" else ""
                yield anchor, (kind, f"{start}<anchor>{between}{_VALUE}", accepts)


COMMANDS = tuple(_commands())

_CALLS = Anchored((call, None) for call in rules.CALLS)
_ARGUMENT = regex(
    r"\s{0,20}(?:[\w.]{1,40}\s?[:=]\s?)?(?:b|Some\(|\[\]byte\(|\[|\()?"
    r"(?:\\{0,8}(?P<quote>[\"'])(?P<text>[^\"'\\\n]{0,200})\\{0,8}(?P=quote)|[\w.$@:>-]{1,60}(?:\(\))?|\{[^{}\n]{0,80}\})"
    r"(?:\.\w{1,20}\(\))?\)?\s{0,20}[,)\]]"
)


def calls(unescaped: Unescaped) -> Iterator[Secret]:
    """Yield the passwords among the arguments of function calls. The first argument rarely is one."""
    for call, places, _ in _CALLS.in_text(unescaped):
        for place in places:
            at = place + len(call)
            for number in range(5):
                argument = _ARGUMENT.match(unescaped.text, at)
                if argument is None:
                    break
                value = argument["text"] or ""
                is_told = number > 0 and "=" not in argument[0]
                is_key = len(value) > 19 and entropy.is_mixed(value) and entropy.is_random(value)
                if is_key or (is_told and (_is_password(value) or entropy.is_invented(value))):
                    yield *argument.span("text"), "password"
                at = argument.end()
