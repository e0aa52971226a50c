"""What `playbook render` prints is what the hook tells a session."""

import json
from pathlib import Path

import pytest
from hypothesis import given

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import KeyPoint, playbook_of
from playbook_db.domain.prompt_text import render_points
from playbook_db.services import templates
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import open_store
from tests.builders import a_sections_dict, an_entry, key_point_lists
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture
from tests.tiers import few

_SECTIONS = ("PATTERNS & APPROACHES", "MISTAKES TO AVOID", "OTHERS")


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client in the project's folder, with an empty database."""
    return running.a_client(folder, home, is_patient=True)


def _fill(client: Client, count: int, length: int) -> None:
    with open_store(f"sqlite:///{client.database}") as store:
        project = Project.in_folder(store, str(client.folder))
        for number in range(count):
            edit.add(project, f"{number} " + "💡 é\u2028" * (length // 4), section=_SECTIONS[number % 3])
        for point in read_playbook(project).points[3:]:
            edit.vote(project, point.name, "helpful")


@pytest.mark.slow
@pytest.mark.parametrize(("count", "length"), [(1, 4), (6, 80), (40, 400)])
def test_the_command_prints_what_the_hook_tells(
    client: Client,
    playbook: Playbook,  # noqa: F811
    count: int,
    length: int,
) -> None:
    """The same database, the same text, whether all fits or not."""
    _fill(client, count, length)

    told = client.inject().context

    assert playbook("render").out == told
    assert ("more key points" in told) is (count == 40)


@pytest.mark.slow
def test_where_nothing_is_told_nothing_is_printed(client: Client, playbook: Playbook) -> None:  # noqa: F811
    """An empty playbook."""
    assert client.inject().out == b"{}\n"
    assert playbook("render").out == ""


@few
@given(key_point_lists())
def test_where_all_fits_the_whole_is_told(project: Project, points: list[KeyPoint]) -> None:
    """The choice changes nothing there."""
    sections: dict[str, list[object]] = {}
    for point in playbook_of(points).points:
        entry = an_entry(point.name, point.text, point.helpful, point.harmful)
        sections.setdefault(point.section, []).append(entry)
    data = json.dumps(a_sections_dict(sections)).encode()
    import_export.import_playbook(project, playbook_file.decode(data, source="test"), source="test")

    told = import_export.prompt(project)

    whole = templates.fill_points(render_points(read_playbook(project).points))
    if len(whole) < 4000:
        assert told == whole
