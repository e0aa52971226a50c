"""Where private keys stand in a text, whole: PEM, OpenSSH and PGP, indented, escaped, or cut off."""

import re
from collections.abc import Iterator

from playbook_db.rules.secret_patterns import Span

_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/]{24}")
# A break between lines of a key: white space, escapes, quotes, line numbers, marks of a diff, headers as `DEK-Info: x`.
_BREAK = (
    r"(?:\\{1,8}[nrt]|[\s\"'+>|#,*\\]|[0-9]{1,6}[→\t|:])"
    r"{1,80}(?:(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]{0,100}|=)?"
)
_CUT_OFF = re.compile(rf"(?:{_BREAK}){{1,6}}[A-Za-z0-9+/=]{{16,}}(?:{_BREAK}[A-Za-z0-9+/=]{{20,}})*")
_LAST_LINE = re.compile(rf"{_BREAK}([A-Za-z0-9+/=]+)(?=[\"'\s\\]|$)")
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]{1,4}")
_LONGEST_KEY = 40_000  # characters, with its line breaks


def key_blocks(text: str) -> Iterator[Span]:
    """Where private keys stand whole: from BEGIN to END, or as far as the key goes where END is missing."""
    at = 0
    while (begin := text.find("BEGIN ", at)) >= 0:
        at = begin + 6
        head = _BEGIN.match(text, max(begin - 6, 0)) or _BEGIN.match(text, max(begin - 5, 0))
        if head is None:
            continue
        end = _end_of_key(text, head.end())
        if end is not None:
            yield head.start(), end, "private key"
            at = end


def _end_of_key(text: str, start: int) -> int | None:
    following = text.find("BEGIN ", start, start + _LONGEST_KEY)
    limit = following if following >= 0 else start + _LONGEST_KEY
    dashes = text.find("END ", start, limit)
    tail = _END.search(text, max(dashes - 6, start), dashes + 60) if dashes >= 0 else None
    if tail and _KEY_TEXT.search(text, start, tail.start()):
        return tail.end()
    body = _CUT_OFF.match(text, start)
    if body is None:
        return None
    last = _LAST_LINE.match(text, body.end())
    return last.end() if last and not _PLAIN_WORD.fullmatch(last[1]) else body.end()
