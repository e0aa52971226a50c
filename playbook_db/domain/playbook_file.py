"""Every shape that a playbook.json ever had, read into one: the entries of a decoded file become key points.

Anything that can't be read without guessing is refused with its place and value; nothing is dropped
in silence. Source: scoring specification, REQ-SCORE-004 to -006; contract, section 3.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Any, Literal

from playbook_db.domain import playbook as playbook_rules
from playbook_db.domain.playbook import MAX_COUNTER, Header, KeyPoint, Playbook, playbook_of, storable
from playbook_db.domain.sections import OTHERS, SECTION_SLUGS, find_section
from playbook_db.errors import PlaybookFileError

_SHOWN_VALUE_LENGTH = 60  # characters of a refused value


@dataclass(frozen=True, slots=True)
class Migrated:
    """An entry of an older shape: the name it has now, its shape (`bare_string`, `dict_no_score`,
    `dict_with_score`), and its score if it had one."""

    name: str
    shape: str
    original_score: int | None


@dataclass(frozen=True, slots=True)
class Reading:
    """A playbook as it was read: itself, what the user should hear of, what was of an older shape, and
    whether the file was flat (`key_points`)."""

    playbook: Playbook
    warnings: tuple[str, ...] = ()
    migrated: tuple[Migrated, ...] = ()
    is_flat: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    """One raw entry and where it stands, in words."""

    raw: Any
    section: str
    place: str


def read_playbook(data: object, *, source: str, rename_duplicates: bool = False) -> Reading:
    """The playbook in *data*, a decoded playbook file of any shape; *source* names it in errors.

    With `rename_duplicates` a name that stands twice is given anew the second time; else it is refused.
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
    entries = list(_flat_entries(data, source) if is_flat else _section_entries(data, source, warnings))
    points, shapes = _read_entries(entries, source, is_flat=is_flat)
    points = _without_duplicates(points, entries, source, rename_duplicates, warnings, is_flat=is_flat)
    playbook = playbook_of(points, header=_header(data, is_flat=is_flat))
    migrated = (Migrated(points[place].name, *shape) for place, shape in shapes.items())
    return Reading(playbook, tuple(warnings), tuple(migrated), is_flat)


def _flat_entries(data: Mapping[str, Any], source: str) -> Iterator[_Entry]:
    listed = data["key_points"]
    if not isinstance(listed, list):
        raise PlaybookFileError(source, "`key_points`", f"it must be a list, and it is {_shown(listed)}.")
    for number, raw in enumerate(listed, 1):
        yield _Entry(raw, OTHERS, f"`key_points`, entry {number}")


def _section_entries(data: Mapping[str, Any], source: str, warnings: list[str]) -> Iterator[_Entry]:
    sections = data["sections"]
    if not isinstance(sections, dict):
        raise PlaybookFileError(source, "`sections`", f"it must be an object, and it is {_shown(sections)}.")
    for title, listed in sections.items():
        if not isinstance(listed, list):
            raise PlaybookFileError(source, f"section {title!r}", f"it must be a list, and it is {_shown(listed)}.")
        section = find_section(title)
        if section is None:
            warnings.append(f"the section {title!r} is unknown; its {len(listed)} entries go to {OTHERS}")
        for number, raw in enumerate(listed, 1):
            yield _Entry(raw, section or OTHERS, f"section {title!r}, entry {number}")


def _read_entries(
    entries: Sequence[_Entry], source: str, *, is_flat: bool
) -> tuple[list[KeyPoint], dict[int, tuple[str, int | None]]]:
    """The points of *entries*, and of those of an older shape, by their place, the shape and the score."""
    names = _Names(entries, is_flat=is_flat)
    points: list[KeyPoint] = []
    shapes: dict[int, tuple[str, int | None]] = {}
    for place, entry in enumerate(entries):
        point, shape, score = _read_entry(entry, source)
        if point.name:
            names.see(point.name)
        else:
            point = replace(point, name=names.give(entry.section))
        if shape:
            shapes[place] = shape, score
        points.append(point)
    return points, shapes


def _read_entry(entry: _Entry, source: str) -> tuple[KeyPoint, str | None, int | None]:
    """The point of *entry* (its name `""` where it has none), its older shape if it is one, and its score."""
    raw = entry.raw
    if isinstance(raw, str):
        return KeyPoint("", _text(raw, entry, source), entry.section), "bare_string", None
    if not isinstance(raw, dict):
        raise _refusal(source, entry, f"an entry is a text or an object, and this is {_shown(raw)}.")
    name = _name(raw.get("name"), entry, source)
    text = _text(raw.get("text"), entry, source)
    if "helpful" in raw or "harmful" in raw:
        helpful, harmful = (_counter(raw.get(key, 0), key, entry, source) for key in ("helpful", "harmful"))
        return KeyPoint(name, text, entry.section, helpful, harmful), None, None
    if "score" in raw:
        score = _whole(raw["score"])
        if score is None or abs(score) > MAX_COUNTER:
            raise _refusal(source, entry, f"`score` must be a whole number, and it is {_shown(raw['score'])}.")
        return KeyPoint(name, text, entry.section, max(score, 0), max(-score, 0)), "dict_with_score", score
    return KeyPoint(name, text, entry.section), "dict_no_score", None


class _Names:
    """Gives the entries without a name theirs: one more than the highest before it, never one that stands later."""

    def __init__(self, entries: Sequence[_Entry], *, is_flat: bool) -> None:
        self._is_flat = is_flat
        named = (entry.raw.get("name") for entry in entries if isinstance(entry.raw, dict))
        self._taken = {name for name in named if isinstance(name, str)}
        self._needed = any(not isinstance(entry.raw, dict) or not entry.raw.get("name") for entry in entries)
        self._highest = dict.fromkeys([playbook_rules.LEGACY_PREFIX, *SECTION_SLUGS.values()], 0)

    def see(self, name: str) -> None:
        if self._needed:
            for prefix, highest in self._highest.items():
                self._highest[prefix] = max(highest, playbook_rules.number_of(name, prefix))

    def give(self, section: str) -> str:
        prefix = playbook_rules.LEGACY_PREFIX if self._is_flat else SECTION_SLUGS[section]
        while True:
            self._highest[prefix] += 1
            name = playbook_rules.format_name(prefix, self._highest[prefix])
            if name not in self._taken:
                self._taken.add(name)
                return name


def _without_duplicates(
    points: list[KeyPoint],
    entries: Sequence[_Entry],
    source: str,
    rename: bool,
    warnings: list[str],
    *,
    is_flat: bool,
) -> list[KeyPoint]:
    first: dict[str, _Entry] = {}
    unique: list[KeyPoint] = []
    names = {point.name for point in points}
    highest: dict[str, int] = {}
    for point, entry in zip(points, entries, strict=True):
        if point.name not in first:
            first[point.name] = entry
            unique.append(point)
            continue
        if not rename:
            raise PlaybookFileError(
                source,
                entry.place,
                f"the name {point.name!r} stands at {first[point.name].place} already. "
                "Give one of them another name, or import with --rename-duplicates.",
            )
        prefix = playbook_rules.LEGACY_PREFIX if is_flat else SECTION_SLUGS[point.section]
        highest[prefix] = (highest.get(prefix) or playbook_rules.highest_number(names, prefix)) + 1
        name = playbook_rules.format_name(prefix, highest[prefix])
        warnings.append(f"the second {point.name!r} ({entry.place}) is now {name!r}")
        unique.append(replace(point, name=name))
    return unique


def _header(data: Mapping[str, Any], *, is_flat: bool) -> Header:
    place = "key_points" if is_flat else "sections"
    left_out = {"sections", "key_points"} - {place}
    return Header(
        tuple(
            ("sections", None) if key == place else (key, value) for key, value in data.items() if key not in left_out
        )
    )


def _name(value: object, entry: _Entry, source: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _refusal(source, entry, f"`name` must be a text, and it is {_shown(value)}.")
    problem = playbook_rules.why_name_unusable(value)
    if problem:
        raise _refusal(source, entry, f"`name` is {_shown(value)}: {problem}.")
    return value


def _text(value: object, entry: _Entry, source: str) -> str:
    problem = playbook_rules.why_text_unusable(value)
    if problem or not isinstance(value, str):
        raise _refusal(source, entry, f"`text` is {_shown(value)}: {problem}.")
    return value


def _counter(value: object, key: str, entry: _Entry, source: str) -> int:
    number = _whole(value)
    if number is None or not 0 <= number <= MAX_COUNTER:
        raise _refusal(source, entry, f"`{key}` must be a whole number from 0 up, and it is {_shown(value)}.")
    return number


def _whole(value: object) -> int | None:
    """*value* as an int if it is a whole number (3 or 3.0; not true, not NaN), else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _refusal(source: str, entry: _Entry, problem: str) -> PlaybookFileError:
    name = entry.raw.get("name") if isinstance(entry.raw, dict) else None
    named = f" ({name!r})" if isinstance(name, str) else ""
    return PlaybookFileError(source, entry.place + named, problem)


def _shown(value: object) -> str:
    shown = json.dumps(value, default=repr, ensure_ascii=False)
    if storable(shown) != shown:
        shown = json.dumps(value, default=repr)
    return shown if len(shown) <= _SHOWN_VALUE_LENGTH else shown[:_SHOWN_VALUE_LENGTH] + "…"


# The text of a playbook file: decoded with every fault placed, encoded always the same.
#
# Pure: text in, values out. Reading and writing the file itself is the services' work.


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
