"""Loading, saving and merging playbooks as plain dicts, for programs written for the JSON file in either layout.

Comparing points needs the user's embedder: `PLAYBOOK_EMBEDDER` names it as `package.module:function`. It takes a list
of texts and returns a vector of floats for each.
"""

import copy
import importlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from playbook_db.domain import playbook_file
from playbook_db.domain.duplicates import DEFAULT_THRESHOLD, Similarity
from playbook_db.domain.merging import merge
from playbook_db.domain.playbook import KeyPoint, Playbook
from playbook_db.domain.playbook_file import Reading, read_playbook
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import SettingError
from playbook_db.services.playbook import import_export
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import retry_on_conflict
from playbook_db.store.playbook.repository import FileFields

_DIGITS = 9  # of a cosine; that of equal vectors must be 1, whatever the rounding
Embedder = Callable[[list[str]], Sequence[Sequence[float]]]


class PlaybookDict(dict[str, Any]):
    """A plain dict that remembers its origin, even in a deep copy. `origin` is the database and the project, `revision`
    the loaded revision, and `spent` the names of retired points."""

    origin: tuple[str, str] | None = None
    revision: int | None = None
    spent: frozenset[str] = frozenset()


def from_plain(plain: Mapping[str, Any]) -> Reading:
    """Return the playbook in *plain*, a dict in either layout. Raises PlaybookFileError, which names the entry and the
    value."""
    data = dict(plain)
    if "sections" not in data and "key_points" not in data:
        data["sections"] = {}
    reading = read_playbook(data, source="the playbook given")
    playbook_file.check_header(reading.playbook.header, "the playbook given")
    if not isinstance(plain, PlaybookDict):
        return reading
    known = replace(reading.playbook, spent=plain.spent - reading.playbook.by_name.keys())
    return replace(reading, playbook=known)


def write_back(plain: dict[str, Any], playbook: Playbook, *, flat: bool) -> None:
    """Write *playbook* into *plain*, reusing its lists and entries."""
    if isinstance(plain, PlaybookDict):
        plain.spent = playbook.spent
    holder, points = plain, {"key_points": list(playbook.points)}
    lists = [plain.get("key_points")]
    if not flat:
        holder = plain["sections"] = plain["sections"] if isinstance(plain.get("sections"), dict) else {}
        points = {slug: [point for point in playbook.points if point.section == slug] for slug in SECTION_SLUGS}
        lists = list(holder.values())
        for title in holder.keys() - points.keys():
            del holder[title]
    entries = [entry for listed in lists if isinstance(listed, list) for entry in listed if isinstance(entry, dict)]
    known = {entry["name"]: entry for entry in entries if isinstance(entry.get("name"), str)}
    for key, own in points.items():
        filled = [known.get(point.name, {}) for point in own]
        for entry, point in zip(filled, own, strict=True):
            entry.clear()
            entry.update(_entry(point))
        if isinstance(holder.get(key), list):
            holder[key][:] = filled
        else:
            holder[key] = filled


def load_embedder() -> Embedder | None:
    """Return the user's embedder, or None if there is none. Raises SettingError if it can't be loaded."""
    setting = os.environ.get("PLAYBOOK_EMBEDDER")
    if not setting:
        return None
    module, _, attribute = setting.partition(":")
    try:
        embedder: Embedder = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(
            f"PLAYBOOK_EMBEDDER={setting!r} can't be loaded ({error}); it must be module:function."
        ) from error
    return embedder


def similarity_threshold(threshold: float | None) -> float:
    """Return the least similarity of duplicates: *threshold* if given, else `AGENTIC_CONTEXT_DEDUP_THRESHOLD` if set,
    else 0.85. Raises SettingError if the variable is not a number."""
    value: float | str | None = os.environ.get("AGENTIC_CONTEXT_DEDUP_THRESHOLD") if threshold is None else threshold
    if value is None or value == "":
        return DEFAULT_THRESHOLD
    try:
        return float(value)
    except ValueError as error:
        raise SettingError(f"AGENTIC_CONTEXT_DEDUP_THRESHOLD={value!r} is not a number from 0 to 1.") from error


def cosine(points: Sequence[KeyPoint], embedder: Embedder) -> Similarity:
    """Return a function that computes the cosine similarity of two of *points*. Each text is embedded once. Raises
    SettingError if the embedder fails, or doesn't return a vector of the same length for each text."""
    try:
        vectors = [tuple(map(float, vector)) for vector in embedder([point.text for point in points])]
    except Exception as error:  # the user's code may raise anything
        raise SettingError(f"The embedder of PLAYBOOK_EMBEDDER failed: {error!r}. Nothing was changed.") from error
    if len(vectors) != len(points) or len({len(vector) for vector in vectors}) > 1:
        raise SettingError("The embedder of PLAYBOOK_EMBEDDER must return a vector of the same length for each text.")
    lengths = [math.hypot(*vector) or 1 for vector in vectors]
    units = {
        point.name: [value / length for value in vector]
        for point, vector, length in zip(points, vectors, lengths, strict=True)
    }

    def similarity(one: KeyPoint, other: KeyPoint) -> float:
        product = sum(a * b for a, b in zip(units[one.name], units[other.name], strict=True))
        return round(product, _DIGITS)

    return similarity


def _entry(point: KeyPoint) -> dict[str, Any]:
    return {"name": point.name, "text": point.text, "helpful": point.helpful, "harmful": point.harmful}


def load(project: Project) -> tuple[PlaybookDict, tuple[str, ...]]:
    """Return the project's playbook as a dict, and notes. The dict has the keys of the JSON file: all five sections,
    `version` and `last_updated`. A changed file is merged first."""
    synced = mirror.accept(project)
    with project.store.read(project.key) as book:
        playbook, revision = book.playbook(), book.revision
    plain = PlaybookDict({"version": "1.0", "last_updated": None, **copy.deepcopy(dict(playbook.header.fields))})
    plain["sections"] = {section: [] for section in SECTION_SLUGS}
    for point in playbook.points:
        plain["sections"][point.section].append(_entry(point))
    plain.origin, plain.revision, plain.spent = _origin(project), revision, playbook.spent
    return plain, synced.notes


@retry_on_conflict
def save(project: Project, plain: dict[str, Any]) -> tuple[str, ...]:
    """Store *plain*, write the mirror, and return notes for the user. Afterwards *plain* has the stored playbook.

    If the revision that *plain* was loaded from is known, later changes are merged. Otherwise the playbook becomes
    equal to *plain*. Raises PlaybookFileError for a bad entry.
    """
    reading = from_plain(plain)
    before = mirror.accept(project)  # the file's content must be in the history before it is replaced
    with project.store.write(project.key) as book:
        retired = book.retired()
        theirs, left_out = merge.prepare_import(reading, book.draft.playbook(), retired)
        base_revision = book.base_of(theirs)
        if isinstance(plain, PlaybookDict) and plain.origin == _origin(project):
            base_revision = plain.revision
        if base_revision is None:
            notes = merge.replace_points(book.draft, theirs, retired)
            header = merge.without_erased_header(book.header, theirs.header)
        else:
            base, was_erased = book.at(base_revision), base_revision < book.last_erased_in()
            notes = merge.merge_three_way(book.draft, base, theirs, retired, was_erased_since=was_erased)
            header = merge.merge_headers(base.header, book.header, theirs.header, was_erased_since=was_erased)
        extras = import_export.new_extras(book, reading, theirs)
        notes = (*reading.warnings, *left_out, *notes)
        saved = book.commit(
            "sync",
            "saved by a program",
            notes=notes,
            file=FileFields(header, extras=extras),
            even_if_unchanged=True,
        )
        after = replace(book.draft.playbook(), header=saved.header)
    write_back(plain, after, flat=reading.is_flat)
    plain["last_updated"] = saved.header.last_updated
    if isinstance(plain, PlaybookDict):
        plain.origin, plain.revision = _origin(project), saved.revision
    return (*before.notes, *saved.notes, *mirror.write(project).notes)


def _origin(project: Project) -> tuple[str, str]:
    return str(project.store.url), project.key
