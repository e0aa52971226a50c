"""Playbook files through the database: what goes in comes out."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import Header, Playbook
from playbook_db.services import edit, import_export
from playbook_db.services.projects import Project, read_playbook
from playbook_db.store.repository import RevisionResult
from tests.builders import a_flat_dict, a_sections_dict, an_entry, playbook_values, texts
from tests.databases import NewProject

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


@given(playbook=playbook_values(), extra=_extra_keys, newline=st.booleans())
def test_a_canonical_file_comes_out_as_it_went_in(
    new_project: NewProject, playbook: Playbook, extra: dict[str, Any], newline: bool
) -> None:
    """export(import(F)) is F to the byte: unknown keys, `last_updated`, order and final newline included; and
    importing what was exported adds no revision."""
    fields = (*Header().fields[:2], *extra.items(), ("sections", None))
    canonical = playbook_file.encode(Playbook(playbook.points, header=Header(tuple(dict(fields).items()), newline)))
    project = new_project()
    _read_in(project, canonical)

    assert import_export.export_playbook(project) == canonical
    assert _read_in(project, canonical).revision is None
    assert _read_in(project, canonical, replace=True).revision is None


def test_long_and_odd_texts_come_out_as_they_went_in(project: Project) -> None:
    """100 kB, line breaks, braces, quotes, NUL, emoji and right-to-left marks are nothing but text."""
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


def test_a_flat_file_comes_out_flat_again_on_request(project: Project) -> None:
    """The flat layout is for tools that still read it."""
    canonical = _text(a_flat_dict(an_entry("kpt_001"), an_entry("kpt_007", "prefer pathlib", 2, 1)))

    _read_in(project, canonical)

    assert import_export.export_playbook(project, layout="flat") == canonical
    assert json.loads(import_export.export_playbook(project))["sections"]["OTHERS"][1]["name"] == "kpt_007"


def test_importing_again_changes_nothing(project: Project) -> None:
    """A file that is in already, of an older shape even, adds no revision."""
    older = json.dumps(a_flat_dict("use type hints", {"text": "prefer pathlib", "score": 2}))

    assert _read_in(project, older).revision == 1
    assert _read_in(project, older).revision is None


def test_a_name_that_means_something_else_here_is_given_anew(project: Project) -> None:
    """Neither text is lost, the one that was here keeps its name, and the user hears of it."""
    edit.add(project, "use type hints")

    revised = _read_in(project, _text(a_sections_dict({"OTHERS": [an_entry("oth-001", "prefer pathlib")]})))

    assert {p.name: p.text for p in read_playbook(project).points} == {
        "oth-001": "use type hints",
        "oth-002": "prefer pathlib",
    }
    assert list(revised.notes) == ["oth-001 belongs to another text here; the incoming one is now oth-002"]


def test_a_retired_point_comes_back_with_a_file_that_has_it(project: Project) -> None:
    """Importing is a wish to have what the file holds."""
    content = _text(a_sections_dict({"OTHERS": [an_entry("oth-001", helpful=2)]}))
    _read_in(project, content)
    edit.retire(project, "oth-001")

    _read_in(project, content)

    assert read_playbook(project).by_name["oth-001"].helpful == 2


def test_replacing_makes_the_playbook_equal_to_the_file(project: Project) -> None:
    """What the file lacks is retired, not erased; order, header and counters are the file's."""
    edit.add(project, "use type hints", section="pat")
    edit.add(project, "prefer pathlib")
    content = _text(
        a_sections_dict({"OTHERS": [an_entry("oth-009", "new"), an_entry("oth-001", "prefer pathlib", 7)]}, owner="us")
    )

    _read_in(project, content, replace=True)

    assert import_export.export_playbook(project) == content
    assert list(edit.list_retired(project)) == ["pat-001"]
