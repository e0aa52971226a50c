"""The content of playbook.json: reading every shape that it ever had, and writing the present one.

Text in, values out, and back; the services read and write the file. What can't be read without guessing is refused
with its place and value, and nothing is dropped silently. Source: scoring specification, REQ-SCORE-004 to -006;
contract, section 3.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring
from typing import Any, Literal

from playbook_db.domain.exact_json import read_json, write_json
from playbook_db.domain.playbook import (
    LEGACY_PREFIX,
    MAX_COUNTER,
    Header,
    KeyPoint,
    Playbook,
    format_name,
    highest_number,
    number_of,
    playbook_of,
    storable,
    why_name_unusable,
    why_text_unusable,
)
from playbook_db.domain.sections import OTHERS, SECTION_SLUGS, find_section
from playbook_db.errors import PlaybookFileError

MAX_DEPTH = 100  # of a top-level value that is kept for the export
_MAX_DIGITS = 1000  # of a number
_POINT_KEYS = {"name", "text", "helpful", "harmful", "score"}
_LINE = "\n  "  # how a line of the file's own keys begins
_MAX_SHOWN = 60  # characters of a refused value

Layout = Literal["sections", "flat"]


@dataclass(frozen=True, slots=True)
class Migrated:
    """An entry of an older shape: the name that it has now, its shape (`bare_string`, `dict_no_score`,
    `dict_with_score`), and its score if it had one."""

    name: str
    shape: str
    original_score: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a file: the playbook, warnings for the user, the entries of an older shape, and whether
    the file was flat (`key_points`); what the entries say beside what a point is, a JSON object each, by name; and in
    which way, in words, its text isn't as we write it."""

    playbook: Playbook
    warnings: tuple[str, ...] = ()
    migrated: tuple[Migrated, ...] = ()
    is_flat: bool = False
    extras: Mapping[str, str] = field(default_factory=dict)
    other_form: str = ""


class _UnreadableError(ValueError):
    """A value that JSON or Python's reader allows, and that we don't."""


def decode(data: bytes | str, *, source: str, rename_duplicates: bool = False) -> Reading:
    """The playbook in the text of a file of any shape; *source* names the file in errors.

    Raises PlaybookFileError with the place; its `damaged` is true where *data* isn't JSON.
    """
    text = _as_text(data, source)
    try:
        content = read_json(text, object_pairs_hook=_object, read_int=_int)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        in_merge = text.startswith("<<<<<<< ") or "\n<<<<<<< " in text
        problem = f"this is no JSON ({error.msg})." if text.strip() else "the file is empty."
        if in_merge:
            problem = "a git merge is not finished (conflict markers); finish it first."
        raise PlaybookFileError(source, place, problem, damaged=True, in_git_merge=in_merge) from None
    except _UnreadableError as error:
        raise PlaybookFileError(source, "", str(error)) from None
    except RecursionError:
        raise PlaybookFileError(source, "", "it is nested too deeply for a playbook.") from None
    reading = read_playbook(content, source=source, rename_duplicates=rename_duplicates)
    header = Header(reading.playbook.header.fields, final_newline=text.endswith("\n"))
    check_header(header, source)
    playbook = replace(reading.playbook, header=header)
    return replace(reading, playbook=playbook, other_form=_other_form(data, text, content, playbook))


def read_playbook(data: object, *, source: str, rename_duplicates: bool = False) -> Reading:
    """The playbook in *data*, the decoded content of a file of any shape; *source* names it in errors.

    With `rename_duplicates` the second point of a name gets a new one; else the file is refused.
    Raises PlaybookFileError.
    """
    if not isinstance(data, dict):
        raise PlaybookFileError(source, "", f"a playbook is a JSON object, and this is {_shown(data)}.")
    if "sections" not in data and "key_points" not in data:
        raise PlaybookFileError(source, "", "it has neither `sections` nor `key_points`, so it is no playbook.")
    warnings: list[str] = []
    is_flat = "sections" not in data
    if not is_flat and "key_points" in data:
        warnings.append("it has both `sections` and `key_points`; `key_points` is ignored")
    entries = list(_entries(data, source, warnings))
    read = [_read_entry(entry) for entry in entries]
    warnings += [warning for entry in entries for warning in _left_out(entry)]
    points = _with_names([point for point, _, _ in read], is_flat=is_flat)
    points = _without_duplicates(points, entries, warnings, rename=rename_duplicates, is_flat=is_flat)
    shapes = ((point.name, shape, score) for point, (_, shape, score) in zip(points, read, strict=True))
    migrated = (Migrated(name, shape, score) for name, shape, score in shapes if shape)
    playbook = playbook_of(points, header=_header(data, is_flat=is_flat))
    fields = ((point.name, _extra(entry, warnings)) for point, entry in zip(points, entries, strict=True))
    extras = {name: write_json(extra) for name, extra in fields if extra}
    return Reading(playbook, tuple(warnings), tuple(migrated), is_flat, extras)


def encode(playbook: Playbook, *, layout: Layout = "sections", extras: Mapping[str, str] | None = None) -> str:
    """The text of the playbook's file: two spaces of indent, no ASCII escapes, the sections in their order; in the
    entries also what *extras*, JSON objects, have for their names.

    Byte for byte the same as `json.dumps(..., indent=2, ensure_ascii=False)` of the same content, but that numbers of
    the header and of *extras* keep their spelling.
    """
    extras = extras or {}
    parts = []
    for key, value in playbook.header.fields:
        if key == "sections":
            parts.append(_points_text(playbook, layout, extras))
        else:
            parts.append(f"{encode_basestring(key)}: {write_json(value, _LINE)}")
    if "sections" not in dict(playbook.header.fields):
        parts.append(_points_text(playbook, layout, extras))
    body = ",\n  ".join(parts)
    return f"{{\n  {body}\n}}" + ("\n" if playbook.header.final_newline else "")


def check_header(header: Header, source: str) -> None:
    """Raise PlaybookFileError where a top-level value could be read but not be written again."""
    for key, value in header.fields:
        problem = _why_unwritable(key, value)
        if problem:
            raise PlaybookFileError(source, f"`{storable(key)}`", f"{problem}.")


def _why_unwritable(key: str, value: object) -> str | None:
    """Why *value* couldn't be written again under *key*, or None."""
    if _depth(value) > MAX_DEPTH:
        return f"it is nested more than {MAX_DEPTH} deep"
    try:
        json.dumps({key: value}, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return "it holds half a surrogate pair"
    except ValueError:
        return "it holds a number that JSON can't keep"
    except TypeError as error:
        return f"it is nothing that JSON can keep ({error})"
    return None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry as it is in the file `source`, and its place there in words."""

    raw: Any
    section: str
    place: str
    source: str

    def refusal(self, problem: str) -> PlaybookFileError:
        name = self.raw.get("name") if isinstance(self.raw, dict) else None
        named = f" ({name!r})" if isinstance(name, str) else ""
        return PlaybookFileError(self.source, self.place + named, problem)


def _entries(data: Mapping[str, Any], source: str, warnings: list[str]) -> Iterator[_Entry]:
    is_flat = "sections" not in data
    sections = {OTHERS: data["key_points"]} if is_flat else data["sections"]
    if not isinstance(sections, dict):
        raise PlaybookFileError(source, "`sections`", f"it must be an object, and it is {_shown(sections)}.")
    for title, listed in sections.items():
        place = "`key_points`" if is_flat else f"section {title!r}"
        if not isinstance(listed, list):
            raise PlaybookFileError(source, place, f"it must be a list, and it is {_shown(listed)}.")
        section = find_section(title)
        if section is None:
            warnings.append(f"the section {title!r} is unknown; its {len(listed)} entries go to {OTHERS}")
        for number, raw in enumerate(listed, 1):
            yield _Entry(raw, section or OTHERS, f"{place}, entry {number}", source)


def _read_entry(entry: _Entry) -> tuple[KeyPoint, str | None, int | None]:
    """The point of *entry* (with the name `""` where it has none), its older shape if it has one, and its score."""
    raw = entry.raw
    if isinstance(raw, str):
        return KeyPoint("", _text(raw, entry), entry.section), "bare_string", None
    if not isinstance(raw, dict):
        raise entry.refusal(f"an entry is a text or an object, and this is {_shown(raw)}.")
    name = _name(raw.get("name"), entry)
    text = _text(raw.get("text"), entry)
    if _counts(raw) == "counters":
        helpful, harmful = (_counter(raw.get(key, 0), key, entry) for key in ("helpful", "harmful"))
        return KeyPoint(name, text, entry.section, helpful, harmful), None, None
    if "score" in raw:
        score = _whole(raw["score"])
        if score is None or abs(score) > MAX_COUNTER:
            raise entry.refusal(f"`score` must be a whole number, and it is {_shown(raw['score'])}.")
        return KeyPoint(name, text, entry.section, max(score, 0), max(-score, 0)), "dict_with_score", score
    return KeyPoint(name, text, entry.section), "dict_no_score", None


def _counts(raw: Mapping[str, Any]) -> str | None:
    """What of an entry tells its votes: `counters`, `score`, or nothing. Both counters count before a score, which
    counts before one alone. Source: scoring design, Migration Decision Tree."""
    counters = [key for key in ("helpful", "harmful") if key in raw]
    if "score" in raw and len(counters) < 2:
        return "score"
    return "counters" if counters else None


def _left_out(entry: _Entry) -> Iterator[str]:
    """A warning for each value of *entry* that a better one for the votes stands beside."""
    if isinstance(entry.raw, dict) and "score" in entry.raw:
        counts = _counts(entry.raw)
        better = "`score` counts" if counts == "score" else "`helpful` and `harmful` count"
        for key in ("helpful", "harmful") if counts == "score" else ("score",):
            if key in entry.raw:
                yield f"{entry.place}: `{key}` ({_shown(entry.raw[key])}) is left out, since {better}"


def _with_names(points: list[KeyPoint], *, is_flat: bool) -> list[KeyPoint]:
    """*points*, those without a name with one more than the highest before them, and none that comes later."""
    names = {point.name for point in points}
    if "" not in names:
        return points
    named: list[KeyPoint] = []
    highest = dict.fromkeys([LEGACY_PREFIX, *SECTION_SLUGS.values()], 0)
    for point in points:
        if point.name:
            highest = {prefix: max(number, number_of(point.name, prefix)) for prefix, number in highest.items()}
        else:
            prefix = _prefix(point, is_flat=is_flat)
            numbers = itertools.count(highest[prefix] + 1)
            highest[prefix] = next(number for number in numbers if format_name(prefix, number) not in names)
            point = replace(point, name=format_name(prefix, highest[prefix]))
        named.append(point)
    return named


def _without_duplicates(
    points: list[KeyPoint], entries: Sequence[_Entry], warnings: list[str], *, rename: bool, is_flat: bool
) -> list[KeyPoint]:
    """*points*, the second of a name under a new one. Raises PlaybookFileError unless *rename*."""
    first: dict[str, _Entry] = {}
    unique: list[KeyPoint] = []
    names = {point.name for point in points}
    highest: dict[str, int] = {}
    for point, entry in zip(points, entries, strict=True):
        if first.setdefault(point.name, entry) is not entry:
            if not rename:
                raise PlaybookFileError(
                    entry.source,
                    entry.place,
                    f"the name {point.name!r} stands at {first[point.name].place} already. "
                    "Give one of them another name, or import with --rename-duplicates.",
                )
            prefix = _prefix(point, is_flat=is_flat)
            highest[prefix] = (highest.get(prefix) or highest_number(names, prefix)) + 1
            name = format_name(prefix, highest[prefix])
            warnings.append(f"the second {point.name!r} ({entry.place}) is now {name!r}")
            point = replace(point, name=name)
        unique.append(point)
    return unique


def _prefix(point: KeyPoint, *, is_flat: bool) -> str:
    return LEGACY_PREFIX if is_flat else SECTION_SLUGS[point.section]


def _header(data: Mapping[str, Any], *, is_flat: bool) -> Header:
    place, ignored = ("key_points", "sections") if is_flat else ("sections", "key_points")
    fields = (("sections", None) if key == place else (key, value) for key, value in data.items() if key != ignored)
    return Header(tuple(fields))


def _name(value: object, entry: _Entry) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise entry.refusal(f"`name` must be a text, and it is {_shown(value)}.")
    problem = why_name_unusable(value)
    if problem:
        raise entry.refusal(f"`name` is {_shown(value)}: {problem}.")
    return value


def _text(value: object, entry: _Entry) -> str:
    problem = why_text_unusable(value)
    if problem or not isinstance(value, str):
        raise entry.refusal(f"`text` is {_shown(value)}: {problem}.")
    return value


def _counter(value: object, key: str, entry: _Entry) -> int:
    number = _whole(value)
    if number is None or not 0 <= number <= MAX_COUNTER:
        raise entry.refusal(f"`{key}` must be a whole number from 0 up, and it is {_shown(value)}.")
    return number


def _whole(value: object) -> int | None:
    """*value* as an int if it is a whole number (3 or 3.0; not true, not NaN), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def _shown(value: object) -> str:
    shown = json.dumps(value, default=repr, ensure_ascii=False)
    if storable(shown) != shown:
        shown = json.dumps(value, default=repr)
    return shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + "…"


def _points_text(playbook: Playbook, layout: Layout, extras: Mapping[str, str]) -> str:
    if layout == "flat":
        return f'"key_points": {_list_text(playbook.points, "  ", extras)}'
    by_section = {section: [p for p in playbook.points if p.section == section] for section in SECTION_SLUGS}
    sections = ",\n".join(
        f"    {encode_basestring(section)}: {_list_text(points, '    ', extras)}"
        for section, points in by_section.items()
    )
    return f'"sections": {{\n{sections}\n  }}'


def _list_text(points: Sequence[KeyPoint], indent: str, extras: Mapping[str, str]) -> str:
    if not points:
        return "[]"
    # Written by hand: the library's indenting encoder is pure Python and several times slower.
    inner = f"{indent}    "
    entries = ",\n".join(
        f'{indent}  {{\n{inner}"name": {encode_basestring(p.name)},\n{inner}"text": {encode_basestring(p.text)},\n'
        f'{inner}"helpful": {p.helpful},\n{inner}"harmful": {p.harmful}'
        f"{_extra_text(extras.get(p.name), inner)}\n{indent}  }}"
        for p in points
    )
    return f"[\n{entries}\n{indent}]"


def _extra_text(extra: str | None, indent: str) -> str:
    if extra is None:
        return ""
    fields, line = read_json(extra), f"\n{indent}"
    return "".join(f",{line}{encode_basestring(key)}: {write_json(value, line)}" for key, value in fields.items())


def _extra(entry: _Entry, warnings: list[str]) -> dict[str, Any]:
    """What *entry* says beside what a point is; a warning for what can't be kept."""
    extra: dict[str, Any] = {}
    if isinstance(entry.raw, str) or entry.raw.keys() <= _POINT_KEYS:
        return extra
    for key, value in entry.raw.items():
        problem = None if key in _POINT_KEYS else _why_unwritable(key, value)
        if problem:
            warnings.append(f"{entry.place}: `{storable(str(key))}` is left out, since {problem}")
        elif key not in _POINT_KEYS:
            extra[key] = value
    return extra


def _other_form(data: bytes | str, text: str, content: Any, playbook: Playbook) -> str:
    """In which way the *text* of a file, with that *content*, isn't as we write it, in words; `""` where it is."""
    ways = ["a byte order mark"] if data[:3] == b"\xef\xbb\xbf" or data[:1] == "\ufeff" else []
    plain, ours = text.replace("\r\n", "\n"), encode(playbook)
    if plain != text:
        ways.append("Windows line ends")
    if plain != ours and plain.removesuffix("\n") != write_json(content, "\n"):
        ways.append("other indentation or escapes")
    elif plain != ours and content == json.loads(ours):
        ways.append("another order of keys")
    return ", ".join(ways)


def _as_text(data: bytes | str, source: str) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = " It looks like UTF-16; save it as UTF-8." if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise PlaybookFileError(source, f"byte {error.start}", f"this is no UTF-8.{hint}", damaged=True) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            whole = dict(pairs)
            named = f" (the one named {whole['name']!a})" if "name" in whole else ""
            raise _UnreadableError(f"the key {key!a} stands twice in one object{named}.")
        fields[key] = value
    return fields


def _int(digits: str) -> int | float:
    """The number; one that no database can hold, and that Python may refuse to read, becomes infinite."""
    return int(digits) if len(digits) < _MAX_DIGITS else float("inf")


def _depth(value: Any) -> int:
    """How many lists and objects *value* is deep."""
    depth, level = 0, [value]
    while level := [container for container in level if isinstance(container, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth
