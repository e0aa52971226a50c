"""Redacting secrets and removing private parts before a text is stored or sent.

This module decides which environment variables are secret. The caller reads the environment.
"""

import re
from binascii import b2a_base64
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter

from playbook_db.domain.redaction import token_patterns
from playbook_db.domain.redaction.assignments import assignments
from playbook_db.domain.redaction.blocks import blocks
from playbook_db.domain.redaction.commands import COMMANDS, calls
from playbook_db.domain.redaction.entropy import is_address, is_placeholder
from playbook_db.domain.redaction.escapes import MARKER, Secret, Unescaped
from playbook_db.domain.redaction.names import has_stem, kind_of_name, stems
from playbook_db.domain.redaction.regexes import regex

_BESIDE = token_patterns.by_anchor((*token_patterns.HEADERS, *COMMANDS))
_VALUE = "environment value"
MIN_VALUE_CHARS = 8  # a text may contain a shorter value of a variable by chance
MAX_MESSAGE_CHARS = 2000

_SECRET_NAME = regex(r"PASSW|SECRET|TOKEN|PRIVATE|(?:^|[_.-])(?:KEYS?|AUTH|PASS|PWD|PAT|COOKIE|JWT)(?:[_.-]|$)")
_HARMLESS_NAME = regex(
    r"(?:SOCK|FILE|PATH|DIR|HOST|PORT|TYPE|METHOD|MODE|NAME|USER|TTL|TIMEOUT|LIMIT|COUNT|ENABLED|REGION|ALGORITHM|"
    r"ENDPOINT|PARALLELISM)$|^GPG_KEY$|PUBLIC|TOKENIZER|^GIT_ASKPASS$|^SSH_ASKPASS$"
)
_HARMLESS_VALUE = regex(r"[\d.,:+-]*|true|false|disabled|enabled|required|optional|password|postgres|localhost", re.I)
_HEADER = regex(r"([\w-]+)[ \t]*[:=][ \t]*(?:(?:Bearer|Basic)[ \t]+)?([^\r\n,]+)", re.IGNORECASE)
_USERINFO = regex(r"""://(?:[^\s/?#"'<>]*@|[^\s/?#@:]*:(?!\d{1,5}[/?#])[^\s"'<>]*@)""")  # / and # unescaped too
_PRIVATE = regex(r"<(/?)private(?:\s[^<>]*)?>", re.IGNORECASE)


def redact(text: str, values: Collection[str] = ()) -> str:
    """Replace every secret in *text*, and each of *values*, with `[masked: KIND]`.

    Secrets are found by their form, or by the name beside them. A value of at least MIN_VALUE_CHARS characters is also
    found if it is escaped for JSON or a URL, or encoded in base64. Redacting a text again changes nothing.
    """
    redacted = _replaced(text, _secrets(text, values))
    if redacted.count(_VALUE) == text.count(_VALUE):
        return redacted
    return _replaced(redacted, _secrets(redacted, ()))  # a token that touched a value can be seen now


def _secrets(raw: str, values: Collection[str]) -> Iterator[Secret]:
    """Yield the secrets in *raw*. If two secrets begin at the same place, the kind of the first one counts."""
    unescaped = Unescaped(raw)
    text, names = unescaped.text, stems(unescaped)
    yield from unescaped.in_raw(
        chain(token_patterns.find_secrets(token_patterns.TOKENS, unescaped), token_patterns.unknown_tokens(unescaped))
    )
    yield from _values(raw, values)
    named = chain(blocks(text, names), assignments(text, names))
    yield from unescaped.in_raw(chain(token_patterns.find_secrets(_BESIDE, unescaped), calls(unescaped), named))


def redact_message(text: str, *environs: Mapping[str, str], max_chars: int = MAX_MESSAGE_CHARS) -> str:
    """Return at most *max_chars* of *text*, safe to store, log or print.

    Use this function for texts that come partly from outside, such as an API's error or a program's output. It removes
    secrets, secret values of *environs*, and the user names in URLs.
    """
    cut = text[: 10 * max_chars]  # far more than is shown, since half a secret isn't recognized
    cut = _USERINFO.sub("://", cut) if "@" in cut else cut
    values = {value for environ in environs for value in secret_values(environ, cut)}
    values.update(part for environ in environs for value in environ.values() for part in _passwords(value))
    message = redact(cut, values)
    return message if len(message) <= max_chars else message[: max_chars - 4] + " ..."


def secret_values(environ: Mapping[str, str], text: str | None = None) -> frozenset[str]:
    """Return the values in *environ* whose names mean a secret: of variables, and of HTTP headers in variables.

    Short values, paths, URLs, numbers, placeholders and common words don't count. Nor do values that aren't in *text*.
    """
    lists = [value for name, value in environ.items() if name.upper().endswith("HEADERS")]
    headers = [header.groups() for value in lists for header in _HEADER.finditer(value)]
    likely = (
        (name, value)
        for name, value in chain(environ.items(), headers)
        if has_stem(name) and (text is None or any(form in text for form in _forms(value)))
    )
    return frozenset(value for name, value in likely if _is_secret_variable(name.upper(), value.strip()))


def without_private(text: str) -> str:
    """Remove the `<private>...</private>` parts, which may be nested. Without an end tag, a part reaches to the end."""
    parts: list[str] = []
    depth = at = 0
    for tag in _PRIVATE.finditer(text):
        if not tag[1]:
            if depth == 0:
                parts.append(text[at : tag.start()])
            depth += 1
        elif depth:
            depth -= 1
            at = tag.end()
    return "".join([*parts, "" if depth else text[at:]])


def _passwords(url: str) -> Iterable[str]:
    """Return the password in *url* twice: as it is written, and with its percent signs decoded."""
    userinfo = _USERINFO.search(url) if "://" in url else None
    password = userinfo[0][3:-1].partition(":")[2] if userinfo else ""
    if not password:
        return ()
    from urllib.parse import unquote  # late: as in _forms

    return {password, unquote(password)}


def _replaced(text: str, secrets: Iterable[Secret]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in sorted(secrets, key=itemgetter(0)):
        if start >= at:
            parts += (text[at:start], f"[masked: {kind}]")
        at = max(at, end)
    return "".join([*parts, text[at:]]) if parts else text


def _is_secret_variable(name: str, value: str) -> bool:
    is_secret = _SECRET_NAME.search(name) or kind_of_name(name)
    if not is_secret or _HARMLESS_NAME.search(name) or len(value) < MIN_VALUE_CHARS:
        return False
    return not (_HARMLESS_VALUE.fullmatch(value) or is_placeholder(value) or is_address(value))


def _values(text: str, values: Collection[str]) -> Iterator[Secret]:
    forms = {form for value in values if len(value) >= MIN_VALUE_CHARS for form in _forms(value)}
    present = sorted((form for form in forms if form in text), key=len, reverse=True)
    if not present:
        return
    for match in re.finditer("|".join([f"({MARKER.pattern})", *map(re.escape, present)]), text):
        if not match[1]:
            yield *match.span(), _VALUE


def _forms(value: str) -> set[str]:
    import json  # late: most messages need neither module
    from urllib.parse import quote, quote_plus

    plain = {value, value.strip()}
    escaped = {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in plain for ascii_only in (True, False)}
    twice = {json.dumps(form, ensure_ascii=False)[1:-1] for form in escaped}
    data = value.encode("utf-8", "surrogatepass")
    in_url = {quote(data, safe=""), quote(data), quote_plus(data)}
    lowered = {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), form) for form in in_url}
    return {
        form for form in plain | escaped | twice | in_url | lowered | _in_base64(data) if len(form) >= MIN_VALUE_CHARS
    }


def _in_base64(data: bytes) -> set[str]:
    """Return the forms of *data* within longer base64 text. Its offset modulo 3 decides which form occurs."""
    forms = {b2a_base64(data, newline=False).decode().rstrip("=")}
    for shift in range(3):
        text = b2a_base64(b"\0" * shift + data, newline=False).decode()
        forms.add(text[-(-8 * shift // 6) : 8 * (shift + len(data)) // 6])
    return forms | {form.translate(str.maketrans("+/", "-_")) for form in forms}
