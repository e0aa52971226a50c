"""The explanation of why a point was shown with a prompt or a file, or was not."""

from pathlib import Path

import pytest

from playbook_db.claude_code import as_prompt
from playbook_db.errors import DatabaseError
from tests.claude_code import running
from tests.claude_code.running import Client

pytestmark = pytest.mark.slow  # starts processes

POINTS = (
    "`drain_queue` gives up at night", "drain_queue needs a lock in src/work.py", "drain the sink",
    "src/work.py keeps its lock", "`RetryPolicy` needs jitter", "RetryPolicy is old",
    "drain_queue, the long story: " + "x" * 2400,
)  # fmt: skip
PROMPT = "why does drain_queue hang when the night shift of the second warehouse begins its work"


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    """The client of a project with more points than a session's start can show. The last but one rests."""
    made = running.a_client(folder, home, is_patient=True)
    large = [f"service {number} keeps a ledger: " + "y" * 900 for number in range(10)]
    made.fill(*POINTS, *map(str, range(30)), *large)
    made.change(f"UPDATE key_points SET pinned = 1 WHERE id > {len(POINTS)}")
    made.change("UPDATE key_points SET resting = 1 WHERE name = 'oth-006'")
    (folder / "src").mkdir()
    (folder / "src" / "work.py").write_text("class RetryPolicy: ...\ndef drain_queue(): ...\n")
    return made


def _explained(client: Client, file: str | None = None) -> dict[tuple[str, str], str]:
    _, found = as_prompt.explain(f"sqlite:///{client.database}", str(client.folder), PROMPT, file)
    return {(each.moment, each.point.name): each.reason for each in found if each.moment != "start"}


def _names(context: str) -> set[str]:
    return {line.split("]")[0][1:] for line in context.splitlines() if line.startswith("[")}


def test_explanation_equals_the_hooks_output(client: Client) -> None:
    start, found = as_prompt.explain(f"sqlite:///{client.database}", str(client.folder), PROMPT, "src/work.py")
    shown = {
        moment: {each.point.name for each in found if each.reason.startswith(f"shown with the {moment}")}
        for moment in ("prompt", "file")
    }
    call = client.call("Read", file_path=str(client.folder / "src/work.py"))

    assert client.inject(client.start()).context == start
    assert shown == {
        "prompt": _names(client.remind(client.prompt(PROMPT)).context),
        "file": _names(client.run("tool", call).context),
    }
    assert all(shown.values())


def test_each_hidden_point_has_a_reason(client: Client) -> None:
    reasons = _explained(client, "src/work.py")

    assert reasons["prompt", "oth-001"] == reasons["file", "oth-001"]
    assert reasons["prompt", "oth-001"].startswith("shown with the prompt: score ")
    assert reasons["file", "oth-005"].startswith("shown with the file")
    assert reasons["file", "oth-006"] == "rests"
    assert reasons["prompt", "oth-007"] == "no space"
    assert reasons["prompt", "oth-003"].startswith("doesn't fit enough: score 0.")
    assert reasons["file", "oth-003"] == "doesn't fit enough: names neither it nor its code"


def test_unreadable_database_is_an_error(client: Client) -> None:
    for damage in (lambda: client.database.write_bytes(b"x" * 5000), client.database.unlink):
        damage()
        with pytest.raises(DatabaseError):
            _explained(client)
