"""Playbook files through the database: what goes in comes out."""

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
from tests.builders import a_flat_dict, a_sections_dict, an_entry, list_retired, playbook_values, texts
from tests.databases import NewProject
from tests.tiers import few

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


def test_flat_layout_can_be_exported(project: Project) -> None:
    canonical = _text(a_flat_dict(an_entry("kpt_001"), an_entry("kpt_007", "prefer pathlib", 2, 1)))

    _read_in(project, canonical)

    assert import_export.export_playbook(project, layout="flat") == canonical
    assert json.loads(import_export.export_playbook(project))["sections"]["OTHERS"][1]["name"] == "kpt_007"


def test_equal_texts_are_imported_once(project: Project) -> None:
    """Case, spaces and closing punctuation don't count."""
    edit.add(project, "use type hints")
    file = _text(
        a_sections_dict(
            {
                "OTHERS": [
                    an_entry("oth-001", "use type hints", 1, 0),
                    an_entry("oth-002", "Use  TYPE hints.", 3, 1),
                    an_entry("oth-003", "prefer pathlib", 1, 0),
                    an_entry("oth-004", "Prefer pathlib!", 0, 2),
                ]
            }
        )
    )

    revised = _read_in(project, file)

    points = [(point.name, point.text, point.helpful, point.harmful) for point in read_playbook(project).points]
    assert points == [("oth-001", "use type hints", 3, 1), ("oth-003", "prefer pathlib", 1, 2)]
    assert [note for note in revised.notes if "with the same text" in note] == [
        "oth-002 is oth-001 here, with the same text",
        "oth-004 is oth-003 here, with the same text",
    ]
    assert _read_in(project, file).revision is None


def test_retired_point_stays_retired_beside_its_equal(project: Project) -> None:
    edit.add(project, "use type hints")
    edit.add(project, "prefer pathlib")
    edit.retire(project, "oth-002")
    edit.edit(project, "oth-001", text="Prefer pathlib.")

    _read_in(project, _text(a_sections_dict({"OTHERS": [an_entry("oth-002", "prefer pathlib", 2, 0)]})))

    points = [(point.name, point.text, point.helpful) for point in read_playbook(project).points]
    assert points == [("oth-001", "Prefer pathlib.", 2)]


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
    edit.add(project, "use type hints")
    edit.add(project, "prefer pathlib")
    edit.add(project, "say why")
    older = import_export.export_playbook(project)
    edit.edit(project, "oth-001", text="use type hints everywhere")
    edit.edit(project, "oth-002", text="prefer pathlib to os.path")
    for name in ("oth-002", "oth-003"):
        edit.retire(project, name)

    for text in (older, older.replace("use type", "Use  type").replace("oth-003", "kpt_003")):
        revised = _read_in(project, text)
        assert revised.revision is None
        assert "oth-001 was reworded here since; the earlier text was left out" in revised.notes
        assert "it stays so, unless you import with --restore" in revised.notes[-1]
    reading = playbook_file.decode(older, source="F")
    import_export.import_playbook(project, reading, source="F", restore=True)
    live = {name: point.text for name, point in read_playbook(project).by_name.items()}
    assert live == {
        "oth-001": "use type hints everywhere",
        "oth-002": "prefer pathlib to os.path",
        "oth-003": "say why",
    }


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

    told = "2 entries have other keys (note, tags, weight), which are kept in the database"
    assert [note for note in first.notes if told in note]
    assert again.revision is None
    assert not [note for note in again.notes if "other keys" in note]
    assert "weight" not in import_export.export_playbook(project)
    exported = import_export.export_playbook(project, with_extras=True)
    assert '"weight": 7,\n        "tags": [\n          "é"\n        ]\n      }' in exported
    kept = {entry["name"]: entry for entry in json.loads(exported)["sections"]["OTHERS"]}
    assert kept["oth-001"]["note"] == "n"  # which has the text "use mypy" here
    assert kept["oth-003"]["weight"] == 7
    later = _read_in(project, _text(a_sections_dict({"OTHERS": [entries[0] | {"tags": ["z"]}]})))
    with project.store.read(project.key) as book:
        assert book.source_and_message(book.revision) == ("import", "imported F, with other keys of oth-003")
    assert later.extras == {"oth-003": '{"weight": 7, "tags": ["z"]}'}
    edit.retire(project, "oth-003")
    edit.restore(project, "oth-003")
    assert '"weight": 7' in import_export.export_playbook(project, with_extras=True)
