"""The text of a playbook file: decoded with every fault placed, encoded always the same.

Pure: text in, values out. Reading and writing the file itself is the services' work.
"""

import json
from json.encoder import encode_basestring
from typing import Any, Literal

from playbook_db.errors import PlaybookFileError
from playbook_db.rules.legacy import Reading, read_playbook
from playbook_db.rules.playbook import Header, KeyPoint, Playbook
from playbook_db.rules.sections import SECTION_SLUGS
from playbook_db.rules.texts import storable

Layout = Literal["sections", "flat"]
MAX_DEPTH = 100  # of a top-level value that we carry along
_MAX_DIGITS = 1000  # of a number


class _UnreadableError(ValueError):
    """A value that JSON allows, or Python's reader does, and we don't."""


def decode(data: bytes | str, *, source: str, rename_duplicates: bool = False) -> Reading:
    """The playbook in the text of a file of any shape; *source* names the file in errors.

    Raises PlaybookFileError with the place named; its `damaged` is true where *data* isn't JSON.
    """
    text = _as_text(data, source)
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_int=_int)
    except json.JSONDecodeError as error:
        raise PlaybookFileError(
            source,
            f"line {error.lineno}, column {error.colno}",
            _what_is_wrong(text, error),
            damaged=True,
            in_git_merge=_in_git_merge(text),
        ) from None
    except _UnreadableError as error:
        raise PlaybookFileError(source, "", str(error)) from None
    except RecursionError:
        raise PlaybookFileError(source, "", "it is nested too deeply for a playbook.") from None
    reading = read_playbook(content, source=source, rename_duplicates=rename_duplicates)
    header = Header(reading.playbook.header.fields, final_newline=text.endswith("\n"))
    check_header(header, source)
    playbook = Playbook(reading.playbook.points, reading.playbook.spent, header)
    return Reading(playbook, reading.warnings, reading.migrated, reading.is_flat)


def encode(playbook: Playbook, *, layout: Layout = "sections") -> str:
    """The text of the playbook's file: two spaces of indent, UTF-8 as it is, sections in order.

    Byte for byte what `json.dumps(..., indent=2, ensure_ascii=False)` gives for the same content.
    """
    parts = []
    for key, value in playbook.header.fields:
        if key == "sections":
            parts.append(_points_text(playbook, layout))
        else:
            parts.append(f"{encode_basestring(key)}: {_indented(value)}")
    if "sections" not in dict(playbook.header.fields):
        parts.append(_points_text(playbook, layout))
    body = ",\n  ".join(parts)
    return f"{{\n  {body}\n}}" + ("\n" if playbook.header.final_newline else "")


def check_header(header: Header, source: str) -> None:
    """Refuse top-level values that could be read but not be written again."""
    for key, value in header.fields:
        if _depth(value) > MAX_DEPTH:
            raise PlaybookFileError(source, f"`{storable(key)}`", f"it is nested more than {MAX_DEPTH} deep.")
        try:
            json.dumps({key: value}, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except UnicodeEncodeError:
            raise PlaybookFileError(source, f"`{storable(key)}`", "it holds half a surrogate pair.") from None
        except ValueError:
            raise PlaybookFileError(source, f"`{storable(key)}`", "it holds a number that JSON can't keep.") from None
        except TypeError as error:
            raise PlaybookFileError(
                source, f"`{storable(key)}`", f"it is nothing that JSON can keep ({error})."
            ) from None


def _points_text(playbook: Playbook, layout: Layout) -> str:
    if layout == "flat":
        return f'"key_points": {_list_text(playbook.points, "  ")}'
    by_section: dict[str, list[KeyPoint]] = {section: [] for section in SECTION_SLUGS}
    for point in playbook.points:
        by_section[point.section].append(point)
    sections = ",\n".join(
        f"    {encode_basestring(section)}: {_list_text(points, '    ')}" for section, points in by_section.items()
    )
    return f'"sections": {{\n{sections}\n  }}'


def _list_text(points: "list[KeyPoint] | tuple[KeyPoint, ...]", indent: str) -> str:
    if not points:
        return "[]"
    # Written out by hand: the library's indenting encoder is pure Python and several times slower.
    inner = f"{indent}    "
    entries = ",\n".join(
        f'{indent}  {{\n{inner}"name": {encode_basestring(p.name)},\n{inner}"text": {encode_basestring(p.text)},\n'
        f'{inner}"helpful": {p.helpful},\n{inner}"harmful": {p.harmful}\n{indent}  }}'
        for p in points
    )
    return f"[\n{entries}\n{indent}]"


def _indented(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False).replace("\n", "\n  ")


def _as_text(data: bytes | str, source: str) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = " It looks like UTF-16; save it as UTF-8." if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise PlaybookFileError(source, f"byte {error.start}", f"this is no UTF-8.{hint}", damaged=True) from None


def _in_git_merge(text: str) -> bool:
    return text.startswith("<<<<<<< ") or "\n<<<<<<< " in text


def _what_is_wrong(text: str, error: json.JSONDecodeError) -> str:
    if _in_git_merge(text):
        return "a git merge is not finished (conflict markers); finish it first."
    if not text.strip():
        return "the file is empty."
    return f"this is no JSON ({error.msg})."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        named = f" (the one named {made['name']!a})" if "name" in made else ""
        raise _UnreadableError(f"the key {twice!a} stands twice in one object{named}.")
    return made


def _int(digits: str) -> int | float:
    """The number; one that no database holds, and Python may refuse to read, is infinite."""
    return int(digits) if len(digits) < _MAX_DIGITS else float("inf")


def _depth(value: Any) -> int:
    """How many lists and objects *value* is deep."""
    depth, level = 0, [value]
    while level := [held for held in level if isinstance(held, dict | list)]:
        depth += 1
        level = [inner for held in level for inner in (held.values() if isinstance(held, dict) else held)]
    return depth
