"""Finding secrets below a heading: in the columns of tables, in named lists, and in Kubernetes `kind: Secret` files."""

import re
from collections.abc import Collection, Iterable, Iterator

from playbook_db.domain.redaction import entropy, words
from playbook_db.domain.redaction.escapes import Secret, places_of
from playbook_db.domain.redaction.names import NAME_SIGNS, kind_of_name
from playbook_db.domain.redaction.regexes import regex

# A pattern of the cells of a line for each separator. The first separator in the line counts.
_CELLS = {sign: regex(rf"(?:^|(?<=[{sign}]))[^{sign}]*") for sign in "|;\t,"}
_TABBED = regex(r"[^\t]+")
_SPACED = regex(r"\S+(?: \S+)*")
_NAME = regex(r"[\s\"'`*#\\]*(?![0-9]+\b)[\w .-]*[\s\"'`*\\]*")
_CELL = regex(r"[ \t\"'`\\]*([^\s\"'`\\](?:.*[^\s\"'`\\])?)[ \t\"'`\\]*$", re.DOTALL)
_RULE = regex(r"[-+|:=\s]*")
_LONGEST_HEAD = 400  # characters
_HEAD = regex(r"[\w \t|,;\"'`*().:#-]*+(?>(?:\\{1,4}[\"t][\w \t|,;\"'`*().:#-]*+)*)")
_CELL_END = regex(r"[\w-]{0,40}+(?: [\w-]{1,20}+)?[\s\"'`*]*(?:(?<=\s\s|.\n)|[|,;\t]|\\{1,4}[\"rnt])", re.DOTALL)
_BREAK = regex(r"\r?\n|(?:\\{1,4}r)?\\{1,4}n")
_LINE = regex(r"(\r?\n|(?:\\{1,4}r)?\\{1,4}n)((?:[^\n\\]|\\(?!\\{0,3}[rn])){0,2000}(?=[\n\\]|$))")

_HAS_DIGIT = regex("[0-9]")
_NO_NAME = regex(r"(?=[A-Za-z_.,-]*[^A-Za-z_.,-])\S+")
_KIND_SECRET = regex(r"kind\\{0,4}[\"']?:[ ]?\\{0,4}[\"']?Secret(?![A-Za-z])")
_DATA = regex(r"(?<![a-zA-Z])(?:string)?[dD]ata\\{0,4}[\"']?:(?:[ ]?\{|[ ]*(?=\r?\n|\\{1,4}n))")
_ENTRY = regex(
    r"(?:\r?\n|\\{1,4}n|[,{]|(?<=\{))\s*\\{0,4}[\"']?[\w.-]{1,80}\\{0,4}[\"']?[ ]?:[ ]?"
    r"(?:[|>][-+]?(?:\r?\n|\\{1,4}n)\s*)?\\{0,4}[\"']?(?P<value>[^\s\"'\\,{}|>]{4,4096})?\\{0,4}[\"']?"
)
_LIST = regex(
    r"((?i:words|s))\\{0,8}[\"']?[ ]?[:=][ ]?(?:[\[({]\s{0,20}|(?=\r?\n[ ]{0,20}- |\\{1,4}n[ ]{0,20}- ))"
    r"|(\w{0,20})(?:\[\w{0,30}\])?\\{0,8}[\"']?[ ]?[:=][ ]?[\w \[\]]{0,20}[\[({]\s{0,20}"
    r"(?P<value>(?:(?:0x[0-9a-fA-F]{2}|[0-9]{1,3}|'[!-~]')[, ]\s{0,20}){7,70}(?:0x[0-9a-fA-F]{2}|[0-9]{1,3}|'[!-~]'))"
)
_ITEM = regex(
    r"(?:\s|\\{1,4}n|,|- ){0,40}(?:\\{0,8}[\"'])?(?P<value>[^\s\"'\\,\])}]{1,400})"
    r"(?:\\{0,8}[\"'])?(?=[\s\\,\])}]|$)"
)
_BEFORE = regex(
    r"[0-9](?=[^\s0-9]{0,100}(\s{0,20})[ ]"
    r"(?:(?:as|is|als|ist|como|come|comme|est|jako|jest|som|як|как|это)[ ](?:[\w/'-]{1,20}[ ]){0,3}?"
    r"(?i:(?:password|passphrase|key|token|secret|pwd|passwort|kennwort|mot de passe|mdp|contraseña|clave|senha)\b"
    r"|parola\b|wachtwoord|lösenord|passord|adgangskode|hasł|парол|sleutel|schlüssel|токен)|(?:şifre|parola)[^\W\d_]{3,9}\b))"
)
_INSERT = regex(
    r" ?(?i:into|copy) [\w.\"`\[\]]{1,80} ?\(([\w, \"`\[\]]{1,400})\)\s{1,20}(?i:values\s{0,20}(?=\()|from stdin;\n)"
)
_VALUES = regex(r"\(((?:'(?:[^'\\\n]|''|\\.){0,400}'|[^'()\n]){1,2000})\)[,\s]{0,20}")
_LINE_OF_VALUES = regex(r"([^\n\\(]{1,2000}\t[^\n\\]{1,2000})(?:\n|$)")
_ONE_VALUE = regex(r"[ ]*(?:'((?:[^'\\\n]|''|\\.)*)'|([^',]*))(?:,|$)")
_LONGEST_MANIFEST = 20_000  # characters


def blocks(text: str, stems: Collection[tuple[int, int]]) -> Iterator[Secret]:
    """Yield the secrets in *text* below a heading. *stems* are the places of stems of secrets' names."""
    yield from _columns(text, stems)
    yield from _manifests(text)
    yield from _lists(text, stems)
    yield from _inserts(text)
    for name in _BEFORE.finditer(text) if stems else ():
        word = text[max(name.start(1) - 130, 0) : name.start(1)].split()[-1].strip("`\"'")
        if "(" not in word and (entropy.is_random(word) or entropy.is_invented(word)):
            start = text.rindex(word, 0, name.start(1))
            yield start, start + len(word), "secret"


def _lists(text: str, stems: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    done = 0
    for start, end in stems:
        name = _LIST.match(text, end) if start >= done else None
        if name is None:
            continue
        before = text[max(start - 40, 0) : end]
        word = before[len(before.rstrip(NAME_SIGNS)) :]
        kind = kind_of_name(word + (name[1] or name[2] or ""))
        if kind is None:
            continue
        done = name.end()
        if name["value"]:
            yield *name.span("value"), kind
            continue
        while done < name.end() + _LONGEST_MANIFEST and (item := _ITEM.match(text, done)):
            value = item["value"]
            is_quoted = text[item.end("value") : item.end()].strip("\\") != ""
            if _HAS_DIGIT.search(value) and (
                entropy.is_random(value)
                or (is_quoted and kind == "password" and entropy.is_secret(value, password=True, literal=True))
            ):
                yield item.start("value"), item.end("value"), kind
            done = item.end()


def _inserts(text: str) -> Iterator[Secret]:
    """Yield the secrets in INSERT and COPY statements: the values of columns whose names mean a secret."""
    places = (place for word in (" INTO ", " into ", "COPY ", "copy ") for place in places_of(word, text))
    for insert in filter(None, (_INSERT.match(text, place) for place in places)):
        kinds = [kind_of_name(name.strip(' "`[]')) for name in insert[1].split(",")]
        at = insert.end()
        while any(kinds) and (row := _VALUES.match(text, at) or _LINE_OF_VALUES.match(text, at)):
            at = row.end()
            values = (
                _ONE_VALUE.finditer(text, *row.span(1)) if row[0][0] == "(" else _TABBED.finditer(text, *row.span(1))
            )
            for kind, value in zip(kinds, values, strict=False):
                group = 1 if row[0][0] == "(" else 0
                if kind and value[group] and _is_secret(value[group], kind):
                    yield *value.span(group), kind


def _manifests(text: str) -> Iterator[Secret]:
    done = 0
    for match in _KIND_SECRET.finditer(text):
        if match.start() < done:
            continue
        begin = max(text.rfind("---", done, match.start()), match.start() - _LONGEST_MANIFEST, done)
        end = text.find("\n---", match.end(), match.end() + _LONGEST_MANIFEST)
        end = end if end >= 0 else min(match.end() + _LONGEST_MANIFEST, len(text))
        for data in _DATA.finditer(text, begin, end):
            at = data.end()
            while entry := _ENTRY.match(text, at, end):
                if entry["value"] is None or entry.end() == at:
                    break
                if not entropy.is_placeholder(entry["value"]):
                    yield entry.start("value"), entry.end("value"), "secret"
                at = entry.end()
        done = end


def _columns(text: str, stems: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    done = 0
    for start, end in stems:
        if start < done or not _CELL_END.match(text, end):
            continue
        escape = text.rfind("\\n", done, start)
        begin = max(text.rfind("\n", done, start) + 1, escape + 2 if escape >= 0 else 0, done)
        head = _HEAD.match(text, begin, begin + _LONGEST_HEAD)
        done = max(head.end() if head else begin, end)
        if head is None or not _BREAK.match(text, head.end()) or head[0].rstrip()[-1:] in ",;":
            continue  # a line of code may end with a comma, but a heading doesn't
        cells = next((cells for sign, cells in _CELLS.items() if sign in head[0]), _SPACED)
        names = list(cells.finditer(head[0]))
        columns = [(place, cell, kind_of_name(cell[0].strip(" \t\"'`*\\"))) for place, cell in enumerate(names)]
        secret = [(place, cell, kind) for place, cell, kind in columns if kind and len(cell[0].split()) < 4]
        if len(names) < 2 or not secret or not all(_NAME.fullmatch(cell[0]) for cell in names):
            continue
        while (line := _LINE.match(text, done)) and line[2].strip():
            done = line.end()
            row = [] if _RULE.fullmatch(line[2]) else list(cells.finditer(line[2]))
            for place, name, kind in secret if len(row) == len(names) else ():
                value = _CELL.match(row[place][0])
                beside = cells is _SPACED and (row[place].end() <= name.start() or row[place].start() >= name.end())
                if value and not beside and _is_secret(value[1], kind):
                    at = line.start(2) + row[place].start()
                    yield at + value.start(1), at + value.end(1), kind


def _is_secret(value: str, kind: str) -> bool:
    if entropy.is_code(value.rstrip(")];")) or entropy.is_address(value) or not _NO_NAME.fullmatch(value):
        is_joined = " " not in value != value.lower() and entropy.is_secret(value, password=True, literal=True)
        return kind == "password" and (value.lower() in words.COMMON_PASSWORDS or is_joined)
    is_made_up = entropy.is_random(value) or (entropy.is_invented(value) and not value.isdigit())
    return is_made_up or entropy.is_secret(value, password=kind == "password", literal=True)
