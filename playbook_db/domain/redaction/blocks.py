"""Finding secrets below a heading: in the columns of tables, and in Kubernetes `kind: Secret` files."""

import re
from collections.abc import Collection, Iterable, Iterator

from playbook_db.domain.redaction import entropy
from playbook_db.domain.redaction.escapes import Secret
from playbook_db.domain.redaction.names import kind_of_name
from playbook_db.domain.redaction.regexes import regex

# A pattern of the cells of a line for each separator. The first separator in the line counts.
_CELLS = {sign: regex(rf"(?:^|(?<=[{sign}]))[^{sign}]*") for sign in "|;\t,"}
_SPACED = regex(r"\S+(?: \S+)*")
_NAME = regex(r"[\s\"'`*#\\]*(?![0-9]+\b)[\w .-]*[\s\"'`*\\]*")
_CELL = regex(r"[ \t\"'`\\]*([^\s\"'`\\](?:.*[^\s\"'`\\])?)[ \t\"'`\\]*$", re.DOTALL)
_RULE = regex(r"[-+|:=\s]*")
_LONGEST_HEAD = 400  # characters
_HEAD = regex(r"[\w \t|,;\"'`*().:#-]*+(?>(?:\\{1,4}[\"t][\w \t|,;\"'`*().:#-]*+)*)")
_CELL_END = regex(r"[\w-]{0,40}+(?: [\w-]{1,20}+)?[\s\"'`*]*(?:(?<=\s\s|.\n)|[|,;\t]|\\{1,4}[\"rnt])", re.DOTALL)
_BREAK = regex(r"\r?\n|(?:\\{1,4}r)?\\{1,4}n")
_LINE = regex(r"(\r?\n|(?:\\{1,4}r)?\\{1,4}n)((?:[^\n\\]|\\(?!\\{0,3}[rn])){0,2000}(?=[\n\\]|$))")
_NO_NAME = regex(r"(?=[A-Za-z_.,-]*[^A-Za-z_.,-])\S+")
_KIND_SECRET = regex(r"kind\\{0,4}[\"']?:[ ]?\\{0,4}[\"']?Secret(?![A-Za-z])")
_DATA = regex(r"(?<![a-zA-Z])(?:string)?[dD]ata\\{0,4}[\"']?:(?:[ ]?\{|[ ]*(?=\r?\n|\\{1,4}n))")
_ENTRY = regex(
    r"(?:\r?\n|\\{1,4}n|[,{]|(?<=\{))\s*\\{0,4}[\"']?[\w.-]{1,80}\\{0,4}[\"']?[ ]?:[ ]?"
    r"(?:[|>][-+]?(?:\r?\n|\\{1,4}n)\s*)?\\{0,4}[\"']?(?P<value>[^\s\"'\\,{}|>]{4,4096})?\\{0,4}[\"']?"
)
_LONGEST_MANIFEST = 20_000  # characters


def blocks(text: str, stems: Collection[tuple[int, int]]) -> Iterator[Secret]:
    """Yield the secrets in *text* below a heading. *stems* are the places of stems of secrets' names."""
    yield from _columns(text, stems)
    yield from _manifests(text)


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
        return kind == "password" and value != value.lower() and entropy.is_secret(value, password=True, literal=True)
    return entropy.is_secret(value, password=kind == "password", literal=True)
