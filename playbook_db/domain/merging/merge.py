"""Merging another playbook into ours: a merge without an ancestor, a replacement of all points, a three-way merge.

Each merge changes a draft of our playbook and returns notes for the user. *theirs* is the other playbook. *retired* has
our retired points by name. If *theirs* is older than an erasure here, it doesn't bring a forgotten text back.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from playbook_db.domain.draft import Draft
from playbook_db.domain.erasure import MARK, encoded
from playbook_db.domain.json_text import write_json
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, RetiredPoint, normalised, playbook_of
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.sections import SECTION_ORDER
from playbook_db.domain.times import read_timestamp

Retired = Mapping[str, RetiredPoint]


def prepare_import(reading: Reading, ours: Playbook, retired: Retired) -> tuple[Playbook, tuple[str, ...]]:
    """Return the playbook in *reading*, prepared for a merge into *ours*, and notes.

    Points of a flat file get the sections that they have in *ours*. Points that were forgotten here are left out.
    """
    forgotten = {name for name, each in retired.items() if each.is_forgotten}
    return _without(in_our_sections(reading, ours), forgotten, "was forgotten here; the incoming text was left out")


def _without(theirs: Playbook, names: Collection[str], note: str) -> tuple[Playbook, tuple[str, ...]]:
    points = tuple(point for point in theirs.points if point.name not in names)
    notes = (f"{point.name} {note}" for point in theirs.points if point.name in names)
    return replace(theirs, points=points), tuple(notes)


def in_our_sections(reading: Reading, ours: Playbook) -> Playbook:
    """Return the playbook in *reading*. A flat file has no sections, so its points get their sections in *ours*."""
    if not reading.is_flat:
        return reading.playbook
    known = ours.by_name
    points = (replace(p, section=known[p.name].section) if p.name in known else p for p in reading.playbook.points)
    return playbook_of(points, header=reading.playbook.header)


def merge_two_way(draft: Draft, theirs: Playbook, retired: Retired, *, folds_equal: bool = False) -> tuple[str, ...]:
    """Merge every point of *theirs* into the draft without a common ancestor.

    If the draft has the point (same name and text, or the same normalized text), it gets the higher of both counters.
    The votes aren't added up, because *theirs* may be a copy of this playbook. A retired point of the same name and
    text is restored. If the draft has another text under a name, the incoming point gets a new name. Importing the same
    file again changes nothing. *folds_equal*: no text is added whose normalized text the draft has.
    """
    theirs, erasure_notes = without_erased_texts(_known(retired, draft.playbook()), theirs)
    notes = [*erasure_notes]
    draft.reserve(theirs.by_name)
    same = {point.name for point in theirs.points if point.name in draft and draft[point.name].text == point.text}
    matched, matchable = same.copy(), {point.name for point in draft.points()} - same
    for point in theirs.points:
        name, before = point.name if point.name in same else None, retired.get(point.name)
        if name is None:
            # A point that was matched by its name isn't matched by its text, too, unless *folds_equal* is true.
            alike = [each.name for each in draft.with_text(point.text) if folds_equal or each.name in matchable]
            name = next((each for each in alike if each not in matched), alike[-1] if alike else None)
        if name is not None:
            matched.add(name)
            draft.update(_with_higher_counters(draft[name], point))
            if name != point.name:
                notes.append(f"{point.name} is {name} here, with the same text")
        elif before is not None and point.name not in draft and before.point.text == point.text:
            draft.place(_with_higher_counters(before.point, point), kind="restore", reason="imported again")
            notes.append(f"{point.name} had been retired and is back")
        else:
            notes += draft.add_incoming(point)
    return tuple(notes)


def replace_points(draft: Draft, theirs: Playbook, retired: Retired) -> tuple[str, ...]:
    """Make the draft equal to *theirs*: the same points, texts, counters, sections and order."""
    theirs, erasure_notes = without_erased_texts(_known(retired, draft.playbook()), theirs)
    draft.reserve(theirs.by_name)
    notes = [*erasure_notes]
    for point in draft.points():
        if point.name not in theirs.by_name:
            draft.retire(point.name, cause="import", reason="not in the imported playbook")
    for point in theirs.points:
        if point.name in draft:
            draft.update(point)
        elif point.name in retired:
            draft.place(replace(point, position=draft.free_position()), kind="restore", reason="imported again")
        else:
            notes += draft.add_incoming(point)
    _arrange(draft, theirs)
    return tuple(notes)


def merge_three_way(
    draft: Draft, base: Playbook, theirs: Playbook, retired: Retired, *, was_erased_since: bool = False
) -> tuple[str, ...]:
    """Apply the other side's changes to the draft: those that lead from *base*, the common ancestor, to *theirs*.

    Votes of both sides add up. If both sides changed a text, the later text is live and the other is in the history. A
    point that one side retired and the other reworded stays. *was_erased_since*: something was forgotten after *base*
    was made. Source: design, section 7.
    """
    notes: list[str] = []
    if was_erased_since:
        theirs, erasure_notes = without_erased_texts(_known(retired, base), theirs)
        notes += erasure_notes
    draft.reserve(theirs.by_name)
    ours = draft.playbook()
    base, theirs = _follow_texts(draft, base, ours, theirs, notes)
    theirs_is_later = _is_later(theirs.header, base.header, ours.header)
    ours_alone = {
        point.folded: point.name
        for point in reversed(ours.points)
        if point.name not in base.by_name and point.name not in theirs.by_name
    }
    for point in theirs.points:
        before, here = base.by_name.get(point.name), ours.by_name.get(point.name)
        if before is None:
            match = None if here is not None and here.text == point.text else ours_alone.get(point.folded)
            _merge_new(draft, point, here if match is None else draft[match], retired, notes)
        elif here is not None:
            _merge_changed(draft, before, here, point, notes, theirs_is_later=theirs_is_later)
        elif point.text != before.text and point.name in retired:
            ours_before = retired[point.name].point
            back = replace(_with_votes_since(point, before, ours_before), position=ours_before.position)
            draft.place(back, kind="restore", reason="reworded on the other side")
            notes.append(f"{point.name} had been retired here and reworded there; it is back with the new text")
    for before in base.points:
        here = ours.by_name.get(before.name)
        if here is None or before.name in theirs.by_name:
            continue
        if here.text == before.text:
            draft.retire(before.name, cause="other_side", reason="removed on the other side")
        else:
            notes.append(f"{before.name} was removed there and reworded here; it stays")
    if _has_their_order(base, ours, theirs):
        _arrange(draft, theirs)
    return tuple(notes)


def without_old_wordings(
    draft: Draft, theirs: Playbook, retired: Retired, wordings: Collection[tuple[str, str]]
) -> tuple[Playbook, tuple[str, ...]]:
    """Replace each text in *theirs* that its point had here before with the point's last text. Also return notes."""
    known, points, notes = _known(retired, draft.playbook()), [], []
    before = {(name, normalised(text)) for name, text in wordings}
    for point in theirs.points:
        ours, text = known.get(point.name), point.folded
        if ours is not None and text != ours.folded and (point.name, text) in before:
            notes.append(f"{point.name} was reworded here since; the earlier text was left out")
            point = replace(point, text=ours.text)
        points.append(point)
    return replace(theirs, points=tuple(points)), tuple(notes)


def without_earlier_texts(
    draft: Draft, theirs: Playbook, wordings: Collection[tuple[str, str]]
) -> tuple[Playbook, tuple[str, ...]]:
    """Remove the points of *theirs* whose texts were retired or reworded here, under any name. Also return notes."""
    earlier = {normalised(text) for _, text in wordings}
    names = {point.name for point in theirs.points if point.folded in earlier and not draft.find_text(point.text)}
    return _without(theirs, names, "has a text that was retired or reworded here; it stays so")


def _follow_texts(
    draft: Draft, base: Playbook, ours: Playbook, theirs: Playbook, notes: list[str]
) -> tuple[Playbook, Playbook]:
    """Return *base* and *theirs* with the current names of points that an earlier merge renamed.

    If both sides gave the same name to two texts, a merge renamed one of the points. A side that doesn't know this
    merge still votes for the text under its old name. The other text has that name now.
    """
    ours_new, theirs_new = (
        {point.text: point.name for point in side.points if point.name not in base.by_name} for side in (ours, theirs)
    )
    before, after = base.by_name.copy(), theirs.by_name.copy()
    for name, point in base.by_name.items():
        here, there = ours.by_name.get(name), theirs.by_name.get(name)
        is_ours, is_theirs = (side is not None and side.text != point.text for side in (here, there))
        our_name = ours_new.pop(point.text, None) if is_ours else None  # pop: a new name is for one point
        their_name = theirs_new.pop(point.text, None) if is_theirs else None
        if our_name is None and their_name in after:
            if here is None:
                after.pop(their_name)
            else:
                before[name], after[their_name] = here, _with_changes_since(after[their_name], point, here)
        elif our_name is not None and their_name is None:
            if other := after.pop(our_name, None):  # another text, which needs another name
                name_of_other = draft.new_name(other.section)
                after[name_of_other] = replace(other, name=name_of_other)
                notes.append(f"{our_name} belongs to another text here; the incoming one is now {name_of_other}")
            before[our_name] = ours.by_name[our_name]
            if there is not None:
                after[our_name], after[name] = _with_changes_since(before[our_name], point, there), point
    if (before, after) == (base.by_name, theirs.by_name):
        return base, theirs
    return replace(base, points=tuple(before.values())), replace(theirs, points=tuple(after.values()))


def _with_changes_since(point: KeyPoint, before: KeyPoint, after: KeyPoint) -> KeyPoint:
    text = point.text if after.text == before.text else after.text
    return replace(_with_votes_since(point, before, after), text=text)


def merge_headers(base: Header, ours: Header, theirs: Header, *, was_erased_since: bool = False) -> Header:
    """Return the header *ours* with the changes that lead from *base* to *theirs*. `last_updated` stays ours."""
    if was_erased_since:
        theirs = without_erased_header(base, theirs)
    known, fields = dict(base.fields), dict(ours.fields)
    for key, value in theirs.fields:
        if key != "last_updated" and (key not in known or json.dumps(value) != json.dumps(known[key])):
            fields[key] = value
    for key in known:
        if key not in dict(theirs.fields) and key not in ("sections", "last_updated"):
            fields.pop(key, None)
    newline = ours.final_newline if theirs.final_newline == base.final_newline else theirs.final_newline
    return Header(tuple(fields.items()), newline)


def without_erased_texts(known: Mapping[str, KeyPoint], theirs: Playbook) -> tuple[Playbook, tuple[str, ...]]:
    """Replace each text in *theirs* that may contain forgotten words with the *known* point's. Also return notes."""
    points, notes = [], []
    for point in theirs.points:
        ours = known.get(point.name)
        if ours is not None and may_be_original(point.text, ours.text):
            notes.append(f"{point.name}: the text that came in may hold what was forgotten here; ours stays")
            point = replace(point, text=ours.text)
        points.append(point)
    return replace(theirs, points=tuple(points)), tuple(notes)


def without_erased_header(base: Header, theirs: Header) -> Header:
    """Replace each key or value in *theirs* that may contain a text erased from *base* with the one in *base*."""
    known = dict(base.fields)
    if MARK not in encoded(known):
        return theirs
    fields: dict[str, Any] = {}
    for key, value in theirs.fields:
        ours = [key] if key in known else [other for other in known if may_be_original(key, other)]
        same = next((other for other in ours if _is_unchanged(value, known[other], has_name=other == key)), None)
        fields[key if same is None else same] = value if same is None else known[same]
    return Header(tuple(fields.items()), theirs.final_newline)


def new_extras(draft: Draft, reading: Reading, theirs: Playbook, known: Mapping[str, str]) -> dict[str, str]:
    """Return the unknown keys that entries in *reading* add to *known*, as a JSON object for each of our names.

    *theirs* is the part of *reading* that was merged into the draft. A point with erased parts gets no new keys, since
    the file may be older than the erasure.
    """
    extras: dict[str, str] = {}
    for point in theirs.points:
        if point.name not in reading.extras:
            continue
        is_same = point.name in draft and draft[point.name].text == point.text
        other = None if is_same else draft.find_text(point.text)
        name = other.name if other else point.name
        before = extras.get(name) or known.get(name, "{}")
        if MARK not in before + (draft[name].text if name in draft else ""):
            fields = write_json(json.loads(before) | json.loads(reading.extras[point.name]))
            if fields != before:
                extras[name] = fields
    return extras


def may_be_original(text: str, erased: str) -> bool:
    """Return whether *erased* may be *text* after an erasure, since both are equal except for the marks."""
    if MARK not in erased or text == erased:
        return False
    return bool(re.fullmatch(".*".join(map(re.escape, erased.split(MARK))), text, re.DOTALL))


def _known(retired: Retired, playbook: Playbook) -> dict[str, KeyPoint]:
    return {**{name: each.point for name, each in retired.items()}, **playbook.by_name}


def _is_unchanged(value: object, known: object, *, has_name: bool) -> bool:
    """Return whether *known* may be *value* after an erasure. If their keys differ, equal values suffice."""
    theirs, ours = encoded(value), encoded(known)
    return may_be_original(theirs, ours) or (theirs == ours and not has_name)


def _with_higher_counters(here: KeyPoint, there: KeyPoint) -> KeyPoint:
    return replace(here, helpful=max(here.helpful, there.helpful), harmful=max(here.harmful, there.harmful))


def _with_votes_since(point: KeyPoint, before: KeyPoint, after: KeyPoint) -> KeyPoint:
    helpful = max(0, point.helpful + after.helpful - before.helpful)
    return replace(point, helpful=helpful, harmful=max(0, point.harmful + after.harmful - before.harmful))


def _merge_new(draft: Draft, point: KeyPoint, here: KeyPoint | None, retired: Retired, notes: list[str]) -> None:
    before = retired.get(point.name)
    if here is not None and here.folded == point.folded:  # both sides learned it on their own
        both = replace(here, helpful=here.helpful + point.helpful, harmful=here.harmful + point.harmful)
        draft.update(both)
    elif here is None and before is not None and before.point.text == point.text:
        draft.place(_with_higher_counters(before.point, point), kind="restore", reason="restored on the other side")
    else:
        notes += draft.add_incoming(point)


def _merge_changed(
    draft: Draft, before: KeyPoint, here: KeyPoint, there: KeyPoint, notes: list[str], *, theirs_is_later: bool
) -> None:
    section = here.section if there.section == before.section else there.section
    merged = replace(_with_votes_since(here, before, there), section=section)
    if there.text in (before.text, here.text):
        draft.update(merged)
    elif here.text == before.text:
        draft.update(replace(merged, text=there.text))
    else:
        reason = "reworded on both sides; the later text stays, the other is in the history"
        draft.change(replace(merged, text=there.text), kind="edit", reason=reason)
        if not theirs_is_later:
            draft.change(replace(draft[here.name], text=here.text), kind="edit", reason=reason)
        live_side = "theirs" if theirs_is_later else "ours"
        notes.append(f"{here.name} was reworded on both sides; {live_side} is live, the other is in the history")


def _is_later(theirs: Header, base: Header, ours: Header) -> bool:
    """Return whether *theirs* is later than *ours*. A file edited by hand keeps its time, so it counts as later."""
    there, here = read_timestamp(theirs.last_updated), read_timestamp(ours.last_updated)
    return theirs.last_updated == base.last_updated or there is None or here is None or there >= here


def _has_their_order(base: Playbook, ours: Playbook, theirs: Playbook) -> bool:
    """Return whether to use their order: we moved no points, and either they moved points or we added none."""
    if _common_order(ours, base, theirs) != _common_order(base, ours, theirs):
        return False
    they_moved = _common_order(theirs, base, ours) != _common_order(base, theirs, ours)
    return they_moved or ours.by_name.keys() == base.by_name.keys()


def _common_order(of: Playbook, *others: Playbook) -> list[str]:
    return [point.name for point in of.points if all(point.name in other.by_name for other in others)]


def _arrange(draft: Draft, like: Playbook) -> None:
    """Sort the draft's points in the order of *like*. Points that *like* lacks come last in their section."""
    rank = {point.name: place for place, point in enumerate(like.points)}
    by_section: dict[str, list[KeyPoint]] = {section: [] for section in SECTION_ORDER}
    for point in draft.points():
        by_section[point.section].append(point)
    for points in by_section.values():
        ordered = sorted(points, key=lambda point: rank.get(point.name, len(rank)))
        if ordered != points:
            for point in ordered:
                draft.place(replace(point, position=draft.free_position()), kind="move")
