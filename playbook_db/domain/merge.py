"""How two playbooks become one: taking a file in, making equal to one, and the three-way merge.

All three work on a draft of our playbook. *theirs* is the other one; *retired* are our points that have
left, by name. What a user should hear of comes back in words.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from playbook_db.domain.draft import Draft
from playbook_db.domain.erasure import MARK, encoded
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, normalised, playbook_of
from playbook_db.domain.playbook_file import Reading
from playbook_db.domain.sections import SECTION_ORDER

Retired = Mapping[str, KeyPoint]


def incoming(reading: Reading, ours: Playbook, forgotten: Collection[str]) -> tuple[Playbook, tuple[str, ...]]:
    """The playbook that was read, as it may be merged into *ours*, and what is worth a word: in our sections, and
    without the points whose names are *forgotten* here."""
    return without_forgotten(in_our_sections(reading, ours), forgotten)


def in_our_sections(reading: Reading, ours: Playbook) -> Playbook:
    """The playbook that was read; where it was flat, and so knows no sections, its points stay in ours."""
    if not reading.is_flat:
        return reading.playbook
    known = ours.by_name
    points = (replace(p, section=known[p.name].section) if p.name in known else p for p in reading.playbook.points)
    return playbook_of(points, header=reading.playbook.header)


def take_in(draft: Draft, theirs: Playbook, retired: Retired) -> tuple[str, ...]:
    """Bring every point of *theirs* into the draft, where no common ancestor is known.

    A point that is here already (same name and text, or the same text up to normalising) keeps the higher
    of both counters: a file may be an older or newer copy of this playbook, so counts must not add up. One
    of ours that had left under this name and text comes back. A name that belongs to another text is given
    anew on the incoming side. Taking the same file in twice changes nothing the second time. What may be
    a text before something of it was forgotten stays out.
    """
    theirs, held_back = as_forgotten({**retired, **draft.playbook().by_name}, theirs)
    notes = [*held_back]
    draft.reserve(theirs.by_name)
    same = {point.name for point in theirs.points if point.name in draft and draft[point.name].text == point.text}
    # What the file has under its own name is nobody else's twin; of the others the exact text comes before a like one.
    others = [point for point in draft.points() if point.name not in same]
    exact: dict[str, list[str]] = {}
    for point in others:
        exact.setdefault(point.text, []).append(point.name)
    alike = {normalised(point.text): point.name for point in reversed(others)}
    for point in theirs.points:
        name = point.name if point.name in same else _next_twin(exact, point.text) or alike.get(normalised(point.text))
        gone = retired.get(point.name)
        if name is not None:
            _set(draft, draft[name], _higher_counters(draft[name], point))
            if name != point.name:
                notes.append(f"{point.name} is {name} here, with the same text")
        elif gone is not None and point.name not in draft and gone.text == point.text:
            draft.place(_higher_counters(gone, point), kind="restore", reason="imported again")
            notes.append(f"{point.name} had been retired and is back")
        else:
            _add_theirs(draft, point, notes)
    return tuple(notes)


def become(draft: Draft, theirs: Playbook, retired: Retired) -> tuple[str, ...]:
    """Make the draft equal to *theirs*: same points, texts, counters, sections and order; but what may be a text before
    something of it was forgotten stays out."""
    theirs, notes = as_forgotten({**retired, **draft.playbook().by_name}, theirs)
    for point in draft.points():
        if point.name not in theirs.by_name:
            draft.retire(point.name, reason="not in the imported playbook")
    for point in theirs.points:
        if point.name in draft:
            _set(draft, draft[point.name], point)
        elif point.name in retired:
            draft.place(replace(point, position=draft.free_position()), kind="restore", reason="imported again")
        else:
            draft.add(point)
    arrange(draft, theirs)
    return notes


def merge_three_way(
    draft: Draft, base: Playbook, theirs: Playbook, retired: Retired, *, was_erased_since: bool = False
) -> tuple[str, ...]:
    """Bring into the draft what changed from *base*, the common ancestor, to *theirs*.

    Counters add both sides' votes. A text changed on both sides: the later one is live, the other is in the
    history. A point that one side retired and the other reworded stays. Source: design, section 7. With
    *was_erased_since* something was forgotten after *base*: what may be that in *theirs* counts as unchanged.
    """
    notes: list[str] = []
    if was_erased_since:
        theirs, held_back = as_forgotten({**retired, **base.by_name}, theirs)
        notes += held_back
    draft.reserve(theirs.by_name)
    ours = draft.playbook()
    theirs_later = _is_later(theirs.header, base.header, ours.header)
    ours_alone = {
        normalised(point.text): point.name
        for point in reversed(ours.points)
        if point.name not in base.by_name and point.name not in theirs.by_name
    }
    for point in theirs.points:
        before, here = base.by_name.get(point.name), ours.by_name.get(point.name)
        if before is None:
            twin = None if here is not None and here.text == point.text else ours_alone.get(normalised(point.text))
            _merge_new(draft, point, here if twin is None else draft[twin], retired, notes)
        elif here is not None:
            _combine(draft, before, here, point, notes, theirs_later=theirs_later)
        elif point.text != before.text and point.name in retired:
            gone = retired[point.name]
            helpful, harmful = _summed(before, gone, point)
            back = replace(point, helpful=helpful, harmful=harmful, position=gone.position)
            draft.place(back, kind="restore", reason="reworded on the other side")
            notes.append(f"{point.name} had been retired here and reworded there; it is back with the new text")
    for before in base.points:
        here = ours.by_name.get(before.name)
        if here is None or before.name in theirs.by_name:
            continue
        if here.text == before.text:
            draft.retire(before.name, reason="removed on the other side")
        else:
            notes.append(f"{before.name} was removed there and reworded here; it stays")
    if theirs_decides(base, ours, theirs):
        arrange(draft, theirs)
    return tuple(notes)


def merge_headers(base: Header, ours: Header, theirs: Header, *, was_erased_since: bool = False) -> Header:
    """Our header with every top-level key that *theirs* changed, added or removed since *base*.

    `last_updated` stays ours: it is told by the revision, not merged.
    """
    if was_erased_since:
        theirs = header_as_forgotten(base, theirs)
    known, fields = dict(base.fields), dict(ours.fields)
    for key, value in theirs.fields:
        if key != "last_updated" and (key not in known or json.dumps(known[key]) != json.dumps(value)):
            fields[key] = value
    for key in known:
        if key not in dict(theirs.fields) and key not in ("sections", "last_updated"):
            fields.pop(key, None)
    newline = ours.final_newline if theirs.final_newline == base.final_newline else theirs.final_newline
    return Header(tuple(fields.items()), newline)


def _next_twin(twins: dict[str, list[str]], text: str) -> str | None:
    """The first of the points that say *text* which isn't taken yet; the last one serves as often as it must."""
    names = twins.get(text, [])
    return names.pop(0) if len(names) > 1 else next(iter(names), None)


def _higher_counters(here: KeyPoint, there: KeyPoint) -> KeyPoint:
    """Our point with the higher of both counters: one may be an older copy of the other."""
    return replace(here, helpful=max(here.helpful, there.helpful), harmful=max(here.harmful, there.harmful))


def _summed(before: KeyPoint, here: KeyPoint, there: KeyPoint) -> tuple[int, int]:
    """The counters with the votes that both sides took since *before*."""
    return (
        max(0, here.helpful + there.helpful - before.helpful),
        max(0, here.harmful + there.harmful - before.harmful),
    )


def _set(draft: Draft, here: KeyPoint, wanted: KeyPoint) -> None:
    wanted = replace(wanted, position=here.position)
    if wanted != here:
        only_votes = replace(wanted, helpful=here.helpful, harmful=here.harmful) == here
        draft.change(wanted, kind="vote" if only_votes else "edit")


def _add_theirs(draft: Draft, point: KeyPoint, notes: list[str]) -> None:
    if not draft.is_used(point.name):
        draft.add(point)
        return
    name = draft.new_name(point.section)
    draft.add(replace(point, name=name), reason=f"came in as {point.name}, a name that belongs to another text here")
    notes.append(f"{point.name} belongs to another text here; the incoming one is now {name}")


def _merge_new(draft: Draft, point: KeyPoint, here: KeyPoint | None, retired: Retired, notes: list[str]) -> None:
    gone = retired.get(point.name)
    if here is not None and normalised(here.text) == normalised(point.text):  # both sides learnt it on their own
        both = replace(here, helpful=here.helpful + point.helpful, harmful=here.harmful + point.harmful)
        _set(draft, here, both)
    elif here is None and gone is not None and gone.text == point.text:
        draft.place(_higher_counters(gone, point), kind="restore", reason="put back on the other side")
    else:
        _add_theirs(draft, point, notes)


def _combine(
    draft: Draft, before: KeyPoint, here: KeyPoint, there: KeyPoint, notes: list[str], *, theirs_later: bool
) -> None:
    helpful, harmful = _summed(before, here, there)
    merged = replace(
        here,
        section=here.section if there.section == before.section else there.section,
        helpful=helpful,
        harmful=harmful,
    )
    if there.text in (before.text, here.text):
        _set(draft, here, merged)
    elif here.text == before.text:
        _set(draft, here, replace(merged, text=there.text))
    else:
        reason = "reworded on both sides; the later text stays, the other is in the history"
        draft.change(replace(merged, text=there.text), kind="edit", reason=reason)
        if not theirs_later:
            draft.change(replace(draft[here.name], text=here.text), kind="edit", reason=reason)
        kept = "theirs" if theirs_later else "ours"
        notes.append(f"{here.name} was reworded on both sides; {kept} is live, the other is in the history")


def _is_later(theirs: Header, base: Header, ours: Header) -> bool:
    """Whether the other side's text is the later one. A file edited by hand, its time untouched, is."""
    there, here = _time(theirs.last_updated), _time(ours.last_updated)
    if theirs.last_updated == base.last_updated or there is None or here is None:
        return True
    return there >= here


def _time(value: str | None) -> datetime | None:
    try:
        parsed = datetime.fromisoformat(value) if value else None
    except ValueError:
        return None
    return parsed.replace(tzinfo=UTC) if parsed is not None and parsed.tzinfo is None else parsed


# What comes in from an older copy of a playbook: nothing that was forgotten here since comes back with it.
#
# Pure. A forgotten point is known by its name, and a passage that was taken out by what stands around its mark.


def may_have_been(text: str, blanked: str) -> bool:
    """Whether *text* may be what stood in *blanked* before something of it was forgotten."""
    if MARK not in blanked or text == blanked:
        return False
    return bool(re.fullmatch(".*".join(map(re.escape, blanked.split(MARK))), text, re.DOTALL))


def as_forgotten(known: Mapping[str, KeyPoint], theirs: Playbook) -> tuple[Playbook, tuple[str, ...]]:
    """*theirs*, which may come from before something was forgotten in the points *known* by name, and a word on each.

    Where a text may be what stood in one of them, it is taken for what that says now: the other side hasn't changed it.
    """
    points, notes = [], []
    for point in theirs.points:
        before = known.get(point.name)
        if before is not None and may_have_been(point.text, before.text):
            notes.append(f"{point.name}: the text that came in may hold what was forgotten here; ours stays")
            point = replace(point, text=before.text)
        points.append(point)
    return replace(theirs, points=tuple(points)), tuple(notes)


def header_as_forgotten(base: Header, theirs: Header) -> Header:
    """*theirs*, likewise: the top-level keys and values that may be what was forgotten in *base* count as unchanged."""
    known = dict(base.fields)
    if MARK not in encoded(known):
        return theirs
    kept: dict[str, Any] = {}
    for key, value in theirs.fields:
        twins = [key] if key in known else [twin for twin in known if may_have_been(key, twin)]
        old = next((twin for twin in twins if _is_unchanged(value, known[twin], is_named=twin == key)), None)
        kept[key if old is None else old] = value if old is None else known[old]
    return Header(tuple(kept.items()), theirs.final_newline)


def without_forgotten(theirs: Playbook, forgotten: Collection[str]) -> tuple[Playbook, tuple[str, ...]]:
    """*theirs* without the points whose names are *forgotten* here, and a word on each for the user."""
    left_out = [point.name for point in theirs.points if point.name in forgotten]
    if not left_out:
        return theirs, ()
    kept = tuple(point for point in theirs.points if point.name not in forgotten)
    return replace(theirs, points=kept), tuple(
        f"{name} was forgotten here; the text that came in for it was left out" for name in left_out
    )


def _is_unchanged(value: object, known: object, *, is_named: bool) -> bool:
    """Whether *value* may be what *known* was; under the same name equal ones need no second look."""
    now, before = encoded(value), encoded(known)
    return may_have_been(now, before) or (now == before and not is_named)


# The order of the points where two playbooks become one: whose it is, and putting ours into it.


def theirs_decides(base: Playbook, ours: Playbook, theirs: Playbook) -> bool:
    """Whether the order is to be the other side's: we left it alone, and they changed it or we added nothing."""
    if _common_order(ours, base, theirs) != _common_order(base, ours, theirs):
        return False
    they_moved = _common_order(theirs, base, ours) != _common_order(base, theirs, ours)
    return they_moved or ours.by_name.keys() == base.by_name.keys()


def arrange(draft: Draft, like: Playbook) -> None:
    """Put the draft's points into the order of *like*; those that it doesn't have come last in their section."""
    rank = {point.name: place for place, point in enumerate(like.points)}
    by_section: dict[str, list[KeyPoint]] = {section: [] for section in SECTION_ORDER}
    for point in draft.points():
        by_section[point.section].append(point)
    for points in by_section.values():
        wanted = sorted(points, key=lambda point: rank.get(point.name, len(rank)))
        if wanted != points:
            _renumber(draft, wanted)


def _common_order(of: Playbook, *others: Playbook) -> list[str]:
    """The names of *of* that all the *others* have too, in the order of *of*."""
    return [point.name for point in of.points if all(point.name in other.by_name for other in others)]


def _renumber(draft: Draft, points: Sequence[KeyPoint]) -> None:
    for point in points:
        draft.place(replace(point, position=draft.free_position()), kind="move")
