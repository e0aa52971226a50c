"""Points that sessions say do harm come to rest by the worker, and wake by a command."""

import json
from pathlib import Path

import pytest

from playbook_db.claude_code.learner import learn_transcript
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture
from tests.learning.conftest import MessagesApi, answers, curation, model_at, reflection
from tests.transcripts import TranscriptBuilder

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import


@pytest.mark.nightly(after=1)
@pytest.mark.postgres
def test_three_sessions_that_a_point_harmed_let_it_rest_until_somebody_votes_for_it(
    learner_project: Project,
    playbook: Playbook,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It had helped before, so nothing retires it; `list` and `show` say that it rests, `render` leaves it out."""
    for _ in range(5):
        edit.vote(learner_project, "pat-001", "helpful")
    edit.add(learner_project, "say what was run", section="pref")
    url = ["--db", str(learner_project.store.url)]
    with MessagesApi(*answers(reflection(("pat-001", "harmful")), curation())) as api:
        model = model_at(api, monkeypatch)
        for number in range(3):
            assert "pat-001" in playbook("render", *url).out.split("## ", 1)[1]
            session = TranscriptBuilder(f"s-{number}")
            session.user("mend the bug first, and say what it was")
            session.assistant(f"Following [pat-001], I run the tests: attempt {number}.")
            learn_transcript(learner_project, session.write(tmp_path / f"s-{number}.jsonl"), model)

    first, second = playbook("list", *url).out.splitlines()
    assert first.endswith("\trests")
    assert not second.endswith("\trests")
    assert json.loads(playbook("show", "pat-001", "--json", *url).out)["resting"] is True
    assert "; resting: sessions don't get it" in playbook("show", "pat-001", *url).out
    assert "pat-001" not in playbook("render", *url).out.split("## ", 1)[1]
    assert [entry["name"] for entry in json.loads(playbook("list", "--json", *url).out)] == ["pat-001", "pref-001"]

    playbook("vote", "pat-001", "helpful", *url)

    assert "[pat-001] helpful=6 harmful=3" in playbook("render", *url).out
