"""Parsing the content of playbook.json in each of its old and new formats, and encoding it in the current format.

An ambiguous entry is refused with its place and value. Nothing is dropped silently. The services read and write the
file itself. Source: scoring specification, REQ-SCORE-004 to -006; contract, section 3.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, Literal

from playbook_db.domain.json_text import write_json
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
from playbook_db.errors import PlaybookFileError, Remedy

MAX_DEPTH = 100  # of lists and objects in an unknown key's value
_OTHERS_ID = re.compile(r"[\w-]+-\d{5}")  # as ACE writes ids
_MAX_DIGITS = 1000  # of a number
_POINT_KEYS = {"name", "text", "helpful", "harmful", "score"}
_MAX_SHOWN = 60  # characters of a refused value

Layout = Literal["sections", "flat"]


@dataclass(frozen=True, slots=True)
class Migrated:
    """An entry in an older format: its present name, its format, and the score that it had (or None).

    The formats (`shape`) are `bare_string`, `dict_no_score` and `dict_with_score`.
    """

    name: str
    shape: str
    original_score: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a file.

    `is_flat`: the file had `key_points`. `extras` has the unknown keys of entries, a JSON object for each point's name.
    """

    playbook: Playbook
    warnings: tuple[str, ...] = ()
    migrated: tuple[Migrated, ...] = ()
    is_flat: bool = False
    extras: Mapping[str, str] = field(default_factory=dict)


class _UnreadableError(ValueError):
    """A JSON value is valid in Python, but not in a playbook file."""


def decode(data: bytes | str, *, source: str, rename_duplicates: bool = False) -> Reading:
    """Parse *data*, the content of a playbook file in any format. *source* names the file in errors.

    Raises PlaybookFileError with the place of the fault. The error's `damaged` is true if *data* isn't JSON.
    """
    text = _as_text(data, source)
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_int=_int)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        in_merge = text.startswith("<<<<<<< ") or "\n<<<<<<< " in text
        problem = f"this is not JSON ({error.msg})." if text.strip() else "the file is empty."
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
    return replace(reading, playbook=replace(reading.playbook, header=header))


def read_playbook(data: object, *, source: str, rename_duplicates: bool = False) -> Reading:
    """Read a playbook from *data*, the decoded JSON of a file in any format. *source* names the file in errors.

    If two points have the same name, `rename_duplicates` renames the second point. Raises PlaybookFileError.
    """
    if not isinstance(data, dict):
        raise PlaybookFileError(source, "", f"a playbook must be a JSON object, but this is {_shown(data)}.")
    if "sections" not in data and "key_points" not in data:
        raise PlaybookFileError(source, "", "it has neither `sections` nor `key_points`, so it isn't a playbook.")
    warnings: list[str] = []
    is_flat = "sections" not in data
    if not is_flat and "key_points" in data:
        warnings.append("it has both `sections` and `key_points`; `key_points` is ignored")
    entries = list(_entries(data, source, warnings))
    read = [_read_entry(entry, warnings) for entry in entries]
    points = [point for point, _, _ in read]
    points = _with_unique_names(points, entries, warnings, rename=rename_duplicates, is_flat=is_flat)
    shapes = ((point.name, shape, score) for point, (_, shape, score) in zip(points, read, strict=True))
    migrated = (Migrated(name, shape, score) for name, shape, score in shapes if shape)
    place, ignored = ("key_points", "sections") if is_flat else ("sections", "key_points")
    header = (("sections", None) if key == place else (key, value) for key, value in data.items() if key != ignored)
    playbook = playbook_of(points, header=Header(tuple(header)))
    fields = ((point.name, _extra(entry, warnings)) for point, entry in zip(points, entries, strict=True))
    extras = {name: write_json(extra) for name, extra in fields if extra}
    return Reading(playbook, tuple(warnings), tuple(migrated), is_flat, extras)


def encode(playbook: Playbook, *, layout: Layout = "sections", extras: Mapping[str, str] | None = None) -> str:
    """Return *playbook* as the text of a file. *extras* has unknown keys of entries, a JSON object for each name.

    The format is that of `json.dumps(..., indent=2, ensure_ascii=False)`.
    """
    entries: dict[str, list[dict[str, Any]]] = {section: [] for section in SECTION_SLUGS}
    for point in playbook.points:
        extra = json.loads(extras[point.name]) if extras and point.name in extras else {}
        counters = {"helpful": point.helpful, "harmful": point.harmful}
        entries[point.section].append({"name": point.name, "text": point.text, **counters, **extra})
    listed = {"sections": entries} if layout == "sections" else {"key_points": [*chain(*entries.values())]}
    content: dict[str, Any] = {}
    for key, value in (*playbook.header.fields, ("sections", None)):  # if `sections` repeats, it keeps its place
        content |= listed if key == "sections" else {key: value}
    return write_json(content, 2) + ("\n" if playbook.header.final_newline else "")


def check_header(header: Header, source: str) -> None:
    """Raise PlaybookFileError if a value in the header can't be written as JSON."""
    for key, value in header.fields:
        problem = _why_unwritable(key, value)
        if problem:
            raise PlaybookFileError(source, f"`{storable(key)}`", f"{problem}.")


def _why_unwritable(key: str, value: object) -> str | None:
    if _depth(value) > MAX_DEPTH:
        return f"it is nested more than {MAX_DEPTH} deep"
    try:
        json.dumps({key: value}, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        return "it holds half a surrogate pair"
    except ValueError:
        return "it holds a number that JSON can't keep"
    except TypeError as error:
        return f"JSON can't represent it ({error})"
    return None


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the file `source`. `place` is its place in the file, in words."""

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
        raise PlaybookFileError(source, "`sections`", f"it must be an object, but it is {_shown(sections)}.")
    if others := _others_ids(data, sections):
        raise PlaybookFileError(
            source,
            "`sections`",
            f"they list ids {storable(others)}, so this is another tool's file.",
            remedy=Remedy("Put the texts into a Markdown list, a line for each, and import that."),
        )
    for title, listed in sections.items():
        place = "`key_points`" if is_flat else f"section {title!r}"
        if not isinstance(listed, list):
            raise PlaybookFileError(source, place, f"it must be a list, but it is {_shown(listed)}.")
        section = find_section(title)
        if section is None:
            warnings.append(f"the section {title!r} is unknown; its points ({len(listed)}) go to {OTHERS}")
        for number, raw in enumerate(listed, 1):
            yield _Entry(raw, section or OTHERS, f"{place}, entry {number}", source)


def _others_ids(data: Mapping[str, Any], sections: Mapping[str, Any]) -> str | None:
    """Return whose ids *sections* list in place of texts, as other tools write them, or None if they list texts. The
    ids are those of a top-level key, or a text looks like one: `testing-00001`."""
    texts = {each for listed in sections.values() if isinstance(listed, list) for each in listed if type(each) is str}
    for key, value in data.items():
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        ids = {each for at, entry in pairs if isinstance(entry, dict) for each in (at, str(entry.get("id")))}
        if key != "sections" and texts & ids:
            return f"of `{key}`"
    return next((f"such as `{each}`" for each in sorted(texts) if _OTHERS_ID.fullmatch(each)), None)


def _read_entry(entry: _Entry, warnings: list[str]) -> tuple[KeyPoint, str | None, int | None]:
    """Return the point in *entry*, the entry's older format (or None), and its score (or None). A name may be `""`.

    Two counters win over a score, and a score wins over a single counter. The losing values are left out with a
    warning. Source: scoring design, Migration Decision Tree.
    """
    raw = entry.raw
    if isinstance(raw, str):
        return KeyPoint("", _text(raw, entry), entry.section), "bare_string", None
    if not isinstance(raw, dict):
        raise entry.refusal(f"an entry must be a text or an object, but this is {_shown(raw)}.")
    name, text = _name(raw.get("name"), entry), _text(raw.get("text"), entry)
    counters = [key for key in ("helpful", "harmful") if key in raw]
    has_score = "score" in raw and len(counters) < 2
    better = "`score` counts" if has_score else "`helpful` and `harmful` count"
    unused = counters if has_score else {"score"} & raw.keys()
    warnings += [f"{entry.place}: `{key}` ({_shown(raw[key])}) is left out, since {better}" for key in unused]
    if has_score:
        score = _whole(raw["score"])
        if score is None or abs(score) > MAX_COUNTER:
            raise entry.refusal(f"`score` must be a whole number, but it is {_shown(raw['score'])}.")
        return KeyPoint(name, text, entry.section, max(score, 0), max(-score, 0)), "dict_with_score", score
    helpful, harmful = (_counter(raw.get(key, 0), key, entry) for key in ("helpful", "harmful"))
    return KeyPoint(name, text, entry.section, helpful, harmful), None if counters else "dict_no_score", None


def _with_unique_names(
    points: list[KeyPoint], entries: Sequence[_Entry], warnings: list[str], *, rename: bool, is_flat: bool
) -> list[KeyPoint]:
    """Return *points* with a new name for each point that has no name, or the same name as an earlier point.

    A nameless point gets the next free number. Without *rename*, a repeated name raises PlaybookFileError.
    """
    names = {point.name for point in points}
    if len(names) == len(points) and "" not in names:
        return points
    first: dict[str, _Entry] = {}
    highest = dict.fromkeys([LEGACY_PREFIX, *SECTION_SLUGS.values()], 0)  # number so far
    highest_of_all = {prefix: highest_number(names, prefix) for prefix in highest}
    unique: list[KeyPoint] = []
    for point, entry in zip(points, entries, strict=True):
        if point.name and first.setdefault(point.name, entry) is entry:
            highest = {prefix: max(number, number_of(point.name, prefix)) for prefix, number in highest.items()}
            unique.append(point)
            continue
        if point.name and not rename:
            raise PlaybookFileError(
                entry.source,
                entry.place,
                f"the name {point.name!r} is already used at {first[point.name].place}. "
                "Give one of them another name, or import with --rename-duplicates.",
            )
        prefix = LEGACY_PREFIX if is_flat else SECTION_SLUGS[point.section]
        if point.name:
            highest[prefix] = max(highest[prefix], highest_of_all[prefix])
        free = (number for number in count(highest[prefix] + 1) if format_name(prefix, number) not in names)
        highest[prefix] = next(free)
        unique.append(replace(point, name=format_name(prefix, highest[prefix])))
        if point.name:
            warnings.append(f"the second {point.name!r} ({entry.place}) is now {unique[-1].name!r}")
    return unique


def _name(value: object, entry: _Entry) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise entry.refusal(f"`name` must be a text, but it is {_shown(value)}.")
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
        raise entry.refusal(f"`{key}` must be a whole number of 0 or more, but it is {_shown(value)}.")
    return number


def _whole(value: object) -> int | None:
    """Return *value* as an int if it is a whole number, such as 3 or 3.0, and otherwise None. True isn't a number."""
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


def _extra(entry: _Entry, warnings: list[str]) -> dict[str, Any]:
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


def _as_text(data: bytes | str, source: str) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = " It looks like UTF-16; save it as UTF-8." if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        raise PlaybookFileError(source, f"byte {error.start}", f"this is not UTF-8.{hint}", damaged=True) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            whole = dict(pairs)
            named = f" (the one named {whole['name']!a})" if "name" in whole else ""
            raise _UnreadableError(f"the key {key!a} appears twice in one object{named}.")
        fields[key] = value
    return fields


def _int(digits: str) -> int | float:
    """Parse *digits*, or return infinity for a huge number, since Python may refuse to read it."""
    return int(digits) if len(digits) < _MAX_DIGITS else float("inf")


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [container for container in level if isinstance(container, dict | list)]:
        depth += 1
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return depth
