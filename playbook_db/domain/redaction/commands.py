"""Finding passwords on command lines and in function calls, by an option or by the position of the argument.

A short option means a password in some commands only, so `known_secrets` lists the commands.
"""

from collections.abc import Iterator

from playbook_db.domain.redaction import entropy, known_secrets
from playbook_db.domain.redaction.escapes import Anchored, Secret, Unescaped
from playbook_db.domain.redaction.regexes import regex
from playbook_db.domain.redaction.token_patterns import WORD, Pattern

_QUOTED = r"([^\"'\\\n]{4,200})(?=(?:\\n)?\\{0,8}[\"'])"
_VALUE = (
    r"\\{0,8}[\"']?((?<=[\"'])[^\"'\\\n]{4,200}(?=(?:\\n)?\\{0,8}[\"'])"
    r"|(?<![\"'])(?!-)[^\s\"'\\<$|;&()](?:[^\s\"'\\<|;&()]|&(?=[^\s&])){3,200})"
)


def _is_password(value: str) -> bool:
    if entropy.is_passphrase(value) and value[-1:].isdigit():
        return True
    is_port = not value.isdigit() and entropy.PORTS.fullmatch(value) is not None
    return not is_port and entropy.is_secret(value, password=True, literal=True)


def _is_sure(value: str) -> bool:
    return _is_password(value) or entropy.is_a_word(value) or entropy.is_passphrase(value)


def _commands() -> Iterator[tuple[str, Pattern]]:
    for rows, kind, accepts in (
        (known_secrets.OPTIONS, "password", entropy.is_invented),
        (known_secrets.SURE_COMMANDS, "password", _is_sure),
        (known_secrets.PASSWORD_COMMANDS, "password", _is_password),
        (known_secrets.TOKEN_COMMANDS, "token", entropy.is_random),
    ):
        for anchors, between in rows:
            patterns = [f"<anchor>{between}{_VALUE}"]
            if "<user>" in between:
                patterns.append(f"<anchor>{between.replace('<user>', '<quoted_user>')}{_QUOTED}")
            for anchor in anchors.split("|"):
                start = WORD if anchor.isalnum() and len(anchor) < 6 and kind == "password" else ""
                for pattern in patterns:
                    yield anchor, (kind, start + pattern, accepts)


COMMANDS = tuple(_commands())

_CALLS = Anchored((call, call, place) for place, group in enumerate(known_secrets.CALLS) for call in group)
_ARGUMENT = regex(
    r"\s{0,20}(?:[\w.]{1,40}\s?[:=]\s?)?(?:b|Some\(|\[|\()?"
    r"(?:\\{0,8}(?P<quote>[\"'])(?P<text>[^\"'\\\n]{0,200})\\{0,8}(?P=quote)|[\w.$@:>-]{1,60}(?:\(\))?|\{[^{}\n]{0,80}\})"
    r"(?:\.\w{1,20}\(\))?\)?\s{0,20}[,)\]]"
)


def calls(unescaped: Unescaped) -> Iterator[Secret]:
    """Yield the passwords among the arguments of function calls. The first argument rarely is one."""
    text = unescaped.text
    for call, places, word_at in _CALLS.in_text(unescaped):
        for place in places:
            at = place + len(call)
            for number in range(5):
                argument = _ARGUMENT.match(text, at)
                if argument is None:
                    break
                value = argument["text"] or ""
                is_key = _is_key(value) if number else len(value) > 23 and entropy.is_strong(value)
                is_plain = "=" not in argument[0]
                is_told = number > 0 and word_at > 0  # the call takes a password here, not a user
                is_chosen = is_told and (entropy.is_invented(value) or (is_plain and entropy.is_joined(value)))
                is_word = is_told and is_plain and number == word_at < 3 and _is_sure(value)
                if is_key or is_word or is_chosen:
                    yield *argument.span("text"), "password"
                at = argument.end()


def _is_key(value: str) -> bool:
    return entropy.is_random(value) and _is_password(value) and (len(value) > 23 or entropy.is_mixed(value))
