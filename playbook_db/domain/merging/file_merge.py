"""Merging `playbook.json` for git, if both branches changed the file.

The rules are those of `merge`. A point counts as retired if the common ancestor has it and our side doesn't.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from playbook_db.domain import playbook_file
from playbook_db.domain.draft import Draft, summary
from playbook_db.domain.json_text import write_json
from playbook_db.domain.merging import merge
from playbook_db.domain.playbook import Playbook, RetiredPoint
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.times import read_timestamp, timestamp

_SPREAD_US = 999  # the time of a merge is at most so many microseconds after the files' times


@dataclass(frozen=True, slots=True)
class Side:
    """The file on one side of a merge: its bytes, and their parsed content."""

    data: bytes
    reading: Reading


@dataclass(frozen=True, slots=True)
class FileMerge:
    """The result of a merge: the bytes of the merged file, and notes for a person."""

    data: bytes
    notes: tuple[str, ...]


def merge_files(base: Reading | None, ours: Side, theirs: Side, *, ancestor: Playbook | None = None) -> FileMerge:
    """Merge *theirs* into *ours*. *base* is the common ancestor, or None if each side created its own file.

    *ancestor* is a closer ancestor that a database knows. If the result equals one side, return the bytes of that side.
    Any other result has a new `last_updated`, so that no database mistakes it for a revision.
    """
    our_playbook = merge.in_our_sections(ours.reading, theirs.reading.playbook)
    their_playbook = merge.in_our_sections(theirs.reading, our_playbook)
    before = ancestor or (merge.in_our_sections(base, our_playbook) if base else None)
    common = before or Playbook()
    retired = {p.name: RetiredPoint(p, 0) for p in common.points if p.name not in our_playbook.by_name}
    draft = Draft(replace(our_playbook, spent=frozenset(retired)))
    if before is None:
        notes = merge.merge_two_way(draft, their_playbook, retired)
        our_fields, their_fields = dict(our_playbook.header.fields), dict(their_playbook.header.fields)
        new_fields = our_fields | their_fields | our_fields  # ours first; of a key that both have, our value
        header = replace(our_playbook.header, fields=tuple(new_fields.items()))
    else:
        notes = merge.merge_three_way(draft, before, their_playbook, retired, was_erased_since=ancestor is not None)
        header = merge.merge_headers(before.header, our_playbook.header, their_playbook.header)
    merged = replace(draft.playbook(), header=header)
    extras = _merge_extras(draft, base, ours.reading, theirs.reading, their_playbook)
    warnings = [*_not_taken(common, our_playbook, their_playbook, merged)]
    for which, side in (("ours", ours), ("theirs", theirs)):
        warnings += [f"{which}: {warning}" for warning in side.reading.warnings]
    for side, playbook in ((ours, our_playbook), (theirs, their_playbook)):
        same_header = playbook.header.stamped(None) == header.stamped(None)
        if playbook.content == merged.content and same_header and side.reading.extras == extras:
            return FileMerge(side.data, (*notes, *warnings))
    layout: playbook_file.Layout = "flat" if ours.reading.is_flat and theirs.reading.is_flat else "sections"
    times = our_playbook.header.last_updated, their_playbook.header.last_updated
    stamped = header.stamped(_time_of_merge(*times, seed=ours.data + theirs.data) or header.get("last_updated"))
    text = playbook_file.encode(replace(merged, header=stamped), layout=layout, extras=extras)
    return FileMerge(text.encode("utf-8"), (f"brought into ours: {summary(draft.changes)}", *notes, *warnings))


def _merge_extras(
    draft: Draft, base: Reading | None, ours: Reading, theirs: Reading, their_playbook: Playbook
) -> dict[str, str]:
    """Return the unknown keys of each merged entry: ours, and those that the other side added or changed."""
    known = base.extras if base else {}
    changed = {name: _changed(known.get(name, "{}"), fields) for name, fields in theirs.extras.items()}
    new = merge.new_extras(draft, replace(theirs, extras=changed), their_playbook, ours.extras)
    return {name: fields for name, fields in {**ours.extras, **new}.items() if name in draft}


def _changed(before: str, fields: str) -> str:
    known = {key: write_json(value) for key, value in json.loads(before).items()}
    return write_json({key: value for key, value in json.loads(fields).items() if known.get(key) != write_json(value)})


def _not_taken(base: Playbook, ours: Playbook, theirs: Playbook, merged: Playbook) -> Iterator[str]:
    """Yield a note for each text that isn't kept because both sides reworded a point. Git's history has the text."""
    for name, point in merged.by_name.items():
        sides: Mapping[str, Playbook] = {"ours": ours, "theirs": theirs}
        texts = {which: side.by_name[name].text for which, side in sides.items() if name in side.by_name}
        before = base.by_name[name].text if name in base.by_name else None
        for which, text in texts.items():
            if before is not None and len(texts) == len(sides) and text not in (before, point.text):
                yield f"{name}, the text of {which} that isn't live: {json.dumps(text, ensure_ascii=False)}"


def _time_of_merge(ours: str | None, theirs: str | None, *, seed: bytes) -> str | None:
    """Return a time just after *ours* and *theirs*, or None without times. Equal files always get the same time."""
    moments = [moment for moment in map(read_timestamp, (ours, theirs)) if moment is not None]
    if not moments:
        return None
    digest = int.from_bytes(hashlib.sha256(seed).digest()[:8])
    try:
        return timestamp(max(moments) + timedelta(microseconds=1 + digest % _SPREAD_US))
    except OverflowError:
        return None
