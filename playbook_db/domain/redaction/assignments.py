"""Finding secrets by the name beside them: `password=`, `"api_key": "..."`, `--token xyz`.

A secret's name contains a stem, such as `pass`. At each stem, three checks decide: the name means a secret, one of the
LINKS leads from the name to a value, and the value looks like a secret.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from playbook_db.domain.redaction import entropy, names
from playbook_db.domain.redaction.escapes import Secret
from playbook_db.domain.redaction.regexes import regex
from playbook_db.domain.redaction.rules import KEYED, LINKS

_TAIL = regex(
    r"[A-Za-z0-9_\u00df-\u024f\u0400-\u04ff-]{0,40}(?>(?:[ ](?:key|token|secret|value|code|phrase|string)\b)?)"
)
_OPEN = regex(
    r"""(?:[bBrRuUfFN@$]{1,2}(?=\\{0,8}["'])|(?:new[ ])?[\w.:\[\]]{1,40}\((?=\\{0,8}["'])){0,2}"""
    r"""(?P<quote>\\{0,8}(?:\"{3}|'{3}|["'`]))?(?:\{(?:noop|plain|PLAIN|SSHA|CRYPT|CLEARTEXT)\})?"""
)
_LINK = regex("|".join(f"(?P<{way}{number}>{link})" for number, (way, link) in enumerate(LINKS)))
_CJK = r"\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_BARE = regex(rf"""(?:\[masked:\s[A-Za-z ]{{1,30}}\]|(?!\\+[nrt"'])[^\s"'`,;&<>)\]}}{_CJK}])+""")
_LITERAL = regex(r"""(?:\[masked:\s[A-Za-z ]{1,30}\]|(?!\\+[nrt"'])[^\s"'`])+""")
_MAX_SEARCHED = 128  # characters; a longer value isn't searched for names, even if it isn't a secret
_LINE_BEGINS = regex(r"(?:\A|\n|\\n)[ \t]*(?:- )?[\"'*#-]{0,3}[ ]?$")
_LINE_ENDS = regex(r"[ \t]*(?:$|[\r\n]|\\{1,4}[rn])")
_SETS = regex(r"(?:^|[\s\"'(])(?:ENV|ARG|export|setenv|set(?: -\w+)*|setx|SET|\#define)[ ]$")
_IN_PARAMETERS = regex(r"\w=[^\s=,]{1,80}[ ;&]\Z|[?&;]\Z")
_HEX = regex(r"0x\w+|[0-9a-f-]+")
_IS_NAME = regex(r"\\{0,8}[\"'][ ]?:")  # follows a name in JSON
_IS_CODE = regex(r"[(\[{$`]|^[a-z_.]+$")
_FINGERPRINT = regex(r"[0-9A-F]{16}|[0-9A-F]{40}")
_NO_VALUE = regex(r"[a-z_]{2,20}=.*|\..*|.*\.[a-z]{1,5}|[(\[{].*")  # a file, a remark


class _Value(NamedTuple):
    """A value beside a name: its place, the name, and the way between both."""

    start: int
    end: int
    kind: str
    name: str
    way: str
    text: str
    is_quoted: bool
    is_literal: bool  # not an expression in a program


def assignments(text: str, stems: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    """Yield the secrets in *text* that have a name beside them. *stems* are the places of stems of such names."""
    done = 0
    for begin, stem_end in stems:
        value = _value(text, begin, stem_end) if begin >= done else None
        if value is None:
            continue
        is_secret = _is_secret(value)
        if is_secret:
            yield value.start, value.end, value.kind or "secret"
        if is_secret or value.end - value.start > _MAX_SEARCHED:
            done = value.end


def _value(text: str, start: int, stem_end: int) -> _Value | None:
    tail = _TAIL.match(text, stem_end)
    name_end = tail.end() if tail else stem_end
    link = _LINK.match(text, name_end)
    if link is None:
        return None
    begin = _name_start(text, start)
    name = text[begin:name_end]
    kind = names.kind_of_name(name)
    before = text[max(begin - 100, 0) : begin]
    way = (link.lastgroup or "").rstrip("0123456789")
    if (kind is None and names.describes(name)) or not _may_lead(way, name, before):
        return None
    opened = _OPEN.match(text, link.end())
    at = opened.end() if opened else link.end()
    quote = "<" if way == "tag" else opened["quote"] if opened else None
    is_literal = quote is not None or _is_literal(text, name_end, at, way, name, before)
    value = text[at : _value_end(text, at, quote, is_literal=is_literal)]
    if _IS_NAME.match(text, at + len(value)):
        return None
    if quote is None and way in ("said", "beside"):
        value = value.rstrip(".:?,;)]}>")
    checked = entropy.in_ascii(value.rstrip(";,"))  # a final sign may belong to the value, but the rules don't see it
    return _Value(at, at + len(value), kind or "", name, way, checked, quote not in (None, "`"), is_literal)


def _is_literal(text: str, name_end: int, at: int, way: str, name: str, before: str) -> bool:
    """Return whether the value *at* a place, without quotes, is no expression in a program."""
    if name.startswith("-") or way in ("below", "said") or (way == "beside" and _SETS.search(before)):
        return True
    end = _value_end(text, at, None, is_literal=True)
    is_line = _LINE_BEGINS.search(before[-45:].rstrip(names.NAME_SIGNS + ".")) is not None
    is_alone = is_line and _LINE_ENDS.match(text, end) is not None
    if way != "set" or not (is_alone or name.isupper() or _IN_PARAMETERS.search(before)):
        return False
    value = text[at:end].rstrip(";,")
    return not entropy.is_code(value) or (text[name_end:at] == "=" and not _IS_CODE.search(value))


def _may_lead(way: str, name: str, before: str) -> bool:
    """Return whether a value may follow the *name* in this *way*, given the text *before* the name."""
    if before.endswith("checksum/") or (way == "set" and before.endswith("/") and not before.endswith(" /")):
        return False
    if way == "tag":
        return before.endswith(("<", ":", '"', ">"))
    if way == "argument":
        return name.isupper() or name.startswith(("-", "setP", "withP")) or before.endswith(('"', "'"))
    if way == "beside":
        return not before.endswith(("{", "$", "/"))
    is_in_template = "{{" in before.rpartition("}}")[2]
    return not is_in_template and "arn:" not in "".join(before.split(" ")[-1:])


def _is_secret(value: _Value) -> bool:
    text, is_password = value.text, value.kind == "password"
    if not value.kind:  # the name only contains a word for secrets
        return value.way == "set" and value.is_literal and len(text) > 23 and entropy.is_strong(text)
    if value.kind == "key" and _FINGERPRINT.fullmatch(text):
        return False
    if not value.is_quoted and text.isalpha() and text[1:].islower() and not (is_password and value.is_literal):
        return False
    if not _is_sure(value):
        if entropy.is_code(text) or _NO_VALUE.fullmatch(text):
            return False
        is_id = _HEX.fullmatch(text) is not None and "auth" not in value.name.lower()
        is_token = len(text) > 15 and any(map(str.isdigit, text)) and not is_id
        is_likely = is_token or ((is_password or value.name.isupper()) and entropy.is_mixed(text))
        return (is_password and entropy.is_invented(text)) or (is_likely and entropy.is_random(text))
    if is_password and value.is_literal and _is_chosen(value):
        return True
    digits = sum(map(str.isdigit, text))
    is_mixed = value.is_literal and len(text) > 7 and (0 if value.name.isupper() else 2) < digits < len(text)
    return entropy.is_secret(text, password=is_password or is_mixed, literal=value.is_literal)


def _is_sure(value: _Value) -> bool:
    """Return whether *value* is given to its name: after a sign or an option, or in quotes after a setting's name."""
    is_named = value.name.isupper() or value.way == "argument" or value.name != "pass"
    is_setting = value.is_literal and value.kind == "password" and is_named
    return value.way in ("set", "tag", "below") or value.name.startswith("-") or (value.way != "said" and is_setting)


def _is_chosen(value: _Value) -> bool:
    """Return whether *value* may be a password of plain words, such as people choose."""
    if names.kind_of_name(value.text) is not None or names.describes(value.name):
        return False
    return entropy.is_a_word(value.text) or (value.is_quoted and entropy.is_passphrase(value.text))


def _name_start(text: str, start: int) -> int:
    """Return the start of the name that has a stem at *start*. The name `API key` includes the word before `key`."""
    before = text[max(start - 60, 0) : start]
    bare = before.rstrip(names.NAME_SIGNS)
    if len(bare) == len(before) and before.endswith((" ", ".")):
        previous = before[:-1]
        word = previous[len(previous.rstrip(names.NAME_SIGNS)) :]
        if word.lower() in KEYED:
            return start - len(word) - 1
    begin = start - len(before) + len(bare)
    is_after_escape = bare.endswith("\\") and begin < start and text[begin] in "nrt"  # a line break inside of JSON
    return begin + 1 if is_after_escape else begin


def _value_end(text: str, start: int, quote: str | None, *, is_literal: bool) -> int:
    if quote is None:
        bare = (_LITERAL if is_literal else _BARE).match(text, start, start + 4097)
        return bare.end() if bare else start
    limit = start + 4097
    end = text.find(quote, start, limit)
    while end > start and text[end - 1] == "\\" != quote[0]:  # an escaped quote
        end = text.find(quote, end + 1, limit)
    line = text.find("\n", start, limit)
    if quote == "<" and 0 <= line < end:
        end = start + len(text[start:end].rstrip())
    return start if end < 0 or 0 <= line < end else end
