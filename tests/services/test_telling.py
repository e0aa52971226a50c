"""What `playbook render` prints is what the hook tells a session."""

from pathlib import Path

import pytest

from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture

_SECTIONS = ("PATTERNS & APPROACHES", "MISTAKES TO AVOID", "OTHERS")


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
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
def test_render_prints_what_the_hook_shows(
    client: Client,
    playbook: Playbook,  # noqa: F811
    count: int,
    length: int,
) -> None:
    _fill(client, count, length)

    told = client.inject().context

    assert playbook("render").out == told
    assert ("more key points" in told) is (count == 40)


@pytest.mark.slow
def test_empty_playbook_renders_nothing(client: Client, playbook: Playbook) -> None:  # noqa: F811
    assert client.inject().out == b"{}\n"
    assert playbook("render").out == ""
