"""The history: each revision can be read again as it was."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import KeyPoint, Playbook, highest_number
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store
from tests.builders import last_revision, playbook_values, texts
from tests.databases import NewProject
from tests.tiers import few

pytestmark = pytest.mark.postgres

_operations = st.lists(
    st.one_of(
        st.builds(
            lambda text, section: {"type": "ADD", "text": text, "section": section},
            texts,
            st.sampled_from([*SECTION_SLUGS, "nowhere"]),
        ),
        st.builds(
            lambda number, text: {"type": "UPDATE", "target_id": f"oth-{number:03d}", "text": text},
            st.integers(1, 4),
            texts,
        ),
        st.builds(lambda number: {"type": "DELETE", "target_id": f"oth-{number:03d}"}, st.integers(1, 4)),
        st.builds(
            lambda ids, text: {"type": "MERGE", "source_ids": ids, "merged_text": text},
            st.lists(st.sampled_from([f"oth-{number:03d}" for number in range(1, 5)]), min_size=2, max_size=3),
            texts,
        ),
        st.just("nonsense"),
    ),
    max_size=6,
)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), _operations),
        st.tuples(st.just("import"), playbook_values()),
        st.tuples(st.just("replace"), playbook_values()),
        st.tuples(st.just("prune"), st.none()),
    ),
    max_size=6,
)


def _do(project: Project, step: str, what: Any) -> None:
    if step == "apply":
        edit.apply_batch(project, what, origin="a test")
    elif step == "prune":
        edit.prune(project)
    else:
        reading = playbook_file.decode(playbook_file.encode(what), source="a test")
        import_export.import_playbook(project, reading, source="a test", replace=step == "replace")


@pytest.mark.slow
@few
@given(steps=_steps)
def test_each_revision_can_be_read_again(new_project: NewProject, steps: list[tuple[str, Any]]) -> None:
    project = new_project()
    then = {0: import_export.export_playbook(project)}
    for step, what in steps:
        _do(project, step, what)
        then[last_revision(project)] = import_export.export_playbook(project)

    with project.store.read(project.key) as book:
        assert {revision: playbook_file.encode(book.at(revision)) for revision in then} == then
    assert maintenance.check(project.store) == []


@pytest.mark.sqlite
def test_no_name_is_used_twice(project: Project) -> None:
    """A late vote for a retired point must not count for a new one."""
    edit.add(project, "use type hints", section="pat")
    edit.retire(project, "pat-001")

    edit.apply_batch(
        project, [{"type": "ADD", "text": "prefer pathlib", "section": "patterns & approaches"}], origin="x"
    )

    assert list(read_playbook(project).by_name) == ["pat-002"]


@pytest.mark.parametrize("are_retired", [False, True])
def test_database_and_rules_agree_on_the_last_number(project: Project, are_retired: bool) -> None:
    """A new name follows it."""
    names = ["oth-999", "oth-01000", "oth-12a", "oth--7000", "oth_5000", f"oth-{10**18}", "oth-٣٠٠٠", "pat-007"]
    points = [KeyPoint(name, f"advice {number}", "OTHERS", position=number) for number, name in enumerate(names, 1)]
    reading = playbook_file.decode(playbook_file.encode(Playbook(tuple(points))), source="a test")
    import_export.import_playbook(project, reading, source="a test")
    if are_retired:
        edit.retire(project, *names)

    with project.store.read(project.key) as book:
        found = {prefix: book.highest_number(prefix) for prefix in (*SECTION_SLUGS.values(), "kpt")}
    assert found == {prefix: highest_number(names, prefix) for prefix in found}
    assert edit.add(project, "more advice").changes[0].point.name == "oth-1001"


@pytest.mark.sqlite
def test_revisions_have_increasing_times(store: Store, folder: Path) -> None:
    """The clock may stand still or go back."""
    project = Project.in_folder(store, str(folder))
    moment = datetime(2026, 1, 1, tzinfo=UTC)

    for text in ("one", "two", "three"):
        with store.write(project.key, now=moment) as book:
            book.draft.add(KeyPoint(book.draft.new_name("OTHERS"), text))
            book.commit("edit", "a test")

    with store.snapshot() as connection:
        times = [row[0] for row in connection.exec_driver_sql("SELECT time FROM revisions ORDER BY number")]
    assert times == sorted(set(times))
    assert len(times) == 3
