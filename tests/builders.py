"""Small makers of values for tests, and the strategies of the property tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import (
    Header,
    KeyPoint,
    Playbook,
    RetiredPoint,
    playbook_of,
    why_name_unusable,
    why_text_unusable,
)
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services.project import Project


def a_key_point(name: str = "pat-001", text: str = "use type hints", **fields: Any) -> KeyPoint:
    return KeyPoint(name, text, **{"section": "PATTERNS & APPROACHES", **fields})


def a_playbook(*points: KeyPoint) -> Playbook:
    return playbook_of(points)


def a_draft(*points: KeyPoint, spent: tuple[str, ...] = (), flat: bool = False) -> Draft:
    """A draft in which the names *spent* were used before."""
    return Draft(replace(playbook_of(points), spent=frozenset(spent)), flat=flat)


def a_flat_dict(*entries: Any, **fields: Any) -> dict[str, Any]:
    return {"version": "1.0", "last_updated": None, "key_points": list(entries), **fields}


def a_sections_dict(sections: dict[str, list[Any]], **fields: Any) -> dict[str, Any]:
    """A playbook file's content with all five sections."""
    return {
        "version": "1.0",
        "last_updated": None,
        "sections": {title: sections.get(title, []) for title in SECTION_SLUGS},
        **fields,
    }


def an_entry(name: str, text: str = "use type hints", helpful: int = 0, harmful: int = 0) -> dict[str, Any]:
    return {"name": name, "text": text, "helpful": helpful, "harmful": harmful}


def list_retired(project: Project) -> dict[str, RetiredPoint]:
    with project.store.read(project.key) as book:
        return book.retired()


def last_revision(project: Project) -> int:
    with project.store.read(project.key) as book:
        return book.revision


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80).filter(
    lambda text: why_text_unusable(text) is None
)
counters = st.integers(0, 2**53)
section_names = st.sampled_from(list(SECTION_SLUGS))
few_texts = st.sampled_from(["use ruff", "Use  ruff.", "use mypy", "use mypy!", "write tests", "no globals", "…", "?"])
names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="[]"), min_size=1)
names = names.filter(lambda name: why_name_unusable(name) is None)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=6,
)


@st.composite
def key_point_lists(
    draw: st.DrawFn,
    max_size: int = 8,
    *,
    numbers: st.SearchStrategy[int] = st.integers(1, 40),  # noqa: B008 - a strategy is a value
    of: st.SearchStrategy[str] = texts,
    votes: st.SearchStrategy[int] = counters,
) -> list[KeyPoint]:
    """Points with different names of our forms, in any section and order."""
    points = []
    for number in draw(st.lists(numbers, unique=True, max_size=max_size)):
        section = draw(section_names)
        prefix = draw(st.sampled_from([SECTION_SLUGS[section], "kpt"]))
        name = f"{prefix}_{number:03d}" if prefix == "kpt" else f"{prefix}-{number:03d}"
        points.append(KeyPoint(name, draw(of), section, draw(votes), draw(votes)))
    return points


@st.composite
def playbook_values(draw: st.DrawFn, max_size: int = 8) -> Playbook:
    return playbook_of(draw(key_point_lists(max_size=max_size)))


@st.composite
def playbooks_of_few_texts(draw: st.DrawFn) -> Playbook:
    """Playbooks that often have equal texts, or one name for two texts."""
    points = draw(key_point_lists(max_size=5, numbers=st.integers(1, 4), of=few_texts, votes=st.integers(0, 4)))
    return playbook_of(points)


@st.composite
def versions_of(draw: st.DrawFn, base: Playbook) -> Playbook:
    """Later versions of *base*: with votes, new texts, moves, retired and added points."""
    points = []
    for point in base.points:
        fate = draw(st.sampled_from(["stays", "voted", "reworded", "moved", "removed"]))
        if fate == "voted":
            point = replace(point, helpful=draw(st.integers(0, 9)), harmful=draw(st.integers(0, 9)))
        elif fate == "reworded":
            point = replace(point, text=draw(few_texts | texts))
        elif fate == "moved":
            point = replace(point, section=draw(section_names))
        if fate != "removed":
            points.append(point)
    added = draw(key_point_lists(max_size=3, numbers=st.integers(41, 43), of=few_texts, votes=st.integers(0, 4)))
    points += added
    return playbook_of(draw(st.permutations(points)) if draw(st.booleans()) else points)


@st.composite
def headers(draw: st.DrawFn) -> Header:
    """Any top-level keys with any JSON value."""
    keys = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["version", "last_updated"])
    known = draw(
        st.dictionaries(keys.filter(lambda key: key not in ("sections", "key_points")), json_values, max_size=4)
    )
    fields = list(known.items())
    fields.insert(draw(st.integers(0, len(fields))), ("sections", None))
    return Header(tuple(fields), final_newline=draw(st.booleans()))


@st.composite
def filed_playbooks(draw: st.DrawFn) -> Playbook:
    """Playbooks of a file: any names, any header; positions start at 1."""
    used = draw(st.lists(names, unique=True, max_size=5))
    points = [KeyPoint(name, draw(texts), draw(section_names), draw(counters), draw(counters)) for name in used]
    return playbook_of(playbook_of(points).points, header=draw(headers()))


def a_worktree(repository: Path, linked: Path) -> Path:
    """Make the folder *linked* a worktree of *repository*, without running git."""
    entry = repository / ".git" / "worktrees" / linked.name
    entry.mkdir(parents=True)
    linked.mkdir(exist_ok=True)
    (entry / "commondir").write_text("../..\n")
    (entry / "gitdir").write_text(f"{linked}/.git\n")
    (linked / ".git").write_text(f"gitdir: {entry}\n")
    return linked


def learned_to(project: Project, path: str) -> int:
    with project.store.read(project.key) as book:
        return book.learned_to(path)
