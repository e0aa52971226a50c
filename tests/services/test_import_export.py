"""Importing and exporting files."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import Header, Playbook
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.playbook.repository import RevisionResult
from tests.builders import a_sections_dict, an_entry, list_retired, playbook_values, texts
from tests.databases import NewProject
from tests.tiers import few

pytestmark = pytest.mark.sqlite


_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
_extra_keys = st.dictionaries(texts.filter(lambda key: key not in ("sections", "key_points")), _json_values, max_size=3)


def _read_in(project: Project, text: str, *, replace: bool = False) -> RevisionResult:
    return import_export.import_playbook(project, playbook_file.decode(text, source="F"), source="F", replace=replace)


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


@few
@given(playbook=playbook_values(), extra=_extra_keys, newline=st.booleans())
@pytest.mark.postgres
def test_canonical_file_survives_byte_for_byte(
    new_project: NewProject, playbook: Playbook, extra: dict[str, Any], newline: bool
) -> None:
    """Importing an export adds no revision."""
    fields = (*Header().fields[:2], *extra.items(), ("sections", None))
    canonical = playbook_file.encode(Playbook(playbook.points, header=Header(tuple(dict(fields).items()), newline)))
    project = new_project()
    _read_in(project, canonical)

    assert import_export.export_playbook(project) == canonical
    assert _read_in(project, canonical).revision is None
    assert _read_in(project, canonical, replace=True).revision is None


@pytest.mark.postgres
def test_long_and_odd_texts_survive(project: Project) -> None:
    odd = [
        "x" * 100_000,
        "a\nb\r\nc\u2028d",
        '{key_points} {"a": 1} %s',
        "nul \x00 inside",
        "🦊\u200f\ufeff",
        "\\u0041",
    ]
    content = a_sections_dict({"OTHERS": [an_entry(f"oth-{n:03d}", text) for n, text in enumerate(odd, 1)]})
    canonical = _text(content)

    _read_in(project, canonical)

    assert import_export.export_playbook(project) == canonical


def test_equal_texts_are_imported_once(project: Project) -> None:
    """Case, spaces and closing punctuation don't count."""
    edit.add(project, "use type hints")
    entries = [
        an_entry("oth-001", "use type hints", 1, 0), an_entry("oth-002", "Use  TYPE hints.", 3, 1),
        an_entry("oth-003", "prefer pathlib", 1, 0), an_entry("oth-004", "Prefer pathlib!", 0, 2),
    ]  # fmt: skip
    file = _text(a_sections_dict({"OTHERS": entries}))

    revised = _read_in(project, file)

    points = [(point.name, point.text, point.helpful, point.harmful) for point in read_playbook(project).points]
    assert points == [("oth-001", "use type hints", 3, 1), ("oth-003", "prefer pathlib", 1, 2)]
    assert "oth-002 is oth-001 here, with the same text" in revised.notes
    assert _read_in(project, file).revision is None


def test_equal_texts_of_a_first_import_stay_two(project: Project) -> None:
    """So do those of `--replace`."""
    canonical = _text(
        a_sections_dict({"OTHERS": [an_entry("oth-001", "use hints"), an_entry("oth-002", "Use hints.", 2, 1)]})
    )

    _read_in(project, canonical)
    assert import_export.export_playbook(project) == canonical
    assert _read_in(project, canonical).revision is None

    edit.retire(project, "oth-001")
    _read_in(project, canonical, replace=True)
    assert import_export.export_playbook(project) == canonical


def test_older_export_brings_nothing_back(project: Project) -> None:
    """Only `restore` brings retired points back."""
    for text in ("use type hints", "prefer pathlib"):
        edit.add(project, text)
    older = import_export.export_playbook(project)
    edit.edit(project, "oth-001", text="use type hints everywhere")
    edit.edit(project, "oth-002", text="prefer pathlib to os.path")
    edit.retire(project, "oth-002")

    for text in (older, older.replace("use type", "Use  type").replace("oth-002", "kpt_003")):
        revised = _read_in(project, text)
        assert revised.revision is None
        assert "oth-001 was reworded here since; the earlier text was left out" in revised.notes
        assert "it stays so, unless you import with --restore" in revised.notes[-1]
    reading = playbook_file.decode(older, source="F")
    import_export.import_playbook(project, reading, source="F", restore=True)
    texts = [point.text for point in read_playbook(project).points]
    assert texts == ["use type hints everywhere", "prefer pathlib to os.path"]


def test_import_adds_new_top_level_keys(project: Project) -> None:
    _read_in(project, _text(a_sections_dict({}, owner="us")))
    _read_in(project, _text(a_sections_dict({}, owner="them", team="a")))

    exported = json.loads(import_export.export_playbook(project))

    assert (exported["owner"], exported["team"]) == ("us", "a")


@pytest.mark.postgres
def test_replace_makes_the_playbook_equal_to_the_file(project: Project) -> None:
    """What the file lacks is retired."""
    edit.add(project, "use type hints", section="pat")
    edit.add(project, "prefer pathlib")
    content = _text(
        a_sections_dict({"OTHERS": [an_entry("oth-009", "new"), an_entry("oth-001", "prefer pathlib", 7)]}, owner="us")
    )

    _read_in(project, content, replace=True)

    assert import_export.export_playbook(project) == content
    assert list(list_retired(project)) == ["pat-001"]


def test_other_keys_of_entries_are_kept(project: Project) -> None:
    """Only `with_extras` exports them."""
    edit.add(project, "use mypy")
    entries = [an_entry("oth-001", "use ruff"), an_entry("oth-002", "Use mypy.")]
    text = _text(a_sections_dict({"OTHERS": [entries[0] | {"weight": 7, "tags": ["é"]}, entries[1] | {"note": "n"}]}))

    first, again = _read_in(project, text), _read_in(project, text)
    edit.retire(project, "oth-003")
    edit.restore(project, "oth-003")

    message = "2 entries have other keys (note, tags, weight), which are kept in the database"
    assert [note for note in first.notes if message in note]
    assert again.revision is None
    assert "weight" not in import_export.export_playbook(project)
    exported = json.loads(import_export.export_playbook(project, with_extras=True))
    kept = {entry["name"]: entry for entry in exported["sections"]["OTHERS"]}
    assert kept["oth-001"]["note"] == "n"  # which has the text "use mypy" here
    assert (kept["oth-003"]["weight"], kept["oth-003"]["tags"]) == (7, ["é"])
