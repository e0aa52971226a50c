"""Points that harmed sessions rest."""

import json
from pathlib import Path

import pytest

from playbook_db.services.playbook import edit
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture
from tests.learning.conftest import Learner, answers, curation, reflection, write_session

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import


@pytest.mark.nightly(after=1)
@pytest.mark.postgres
def test_harmful_point_rests_until_a_helpful_vote(learner: Learner, playbook: Playbook, tmp_path: Path) -> None:  # noqa: F811
    """It helped before, so it isn't retired; `render` leaves it out."""
    for _ in range(5):
        edit.vote(learner.project, "pat-001", "helpful")
    edit.add(learner.project, "say what was run", section="pref")
    url = ["--db", str(learner.project.store.url)]
    for number in range(3):
        assert "pat-001" in playbook("render", *url).out.split("## ", 1)[1]
        path = write_session(tmp_path / f"s-{number}.jsonl", f"mend the bug first, attempt {number}")
        learner.learn(path, *answers(reflection(("pat-001", "harmful")), curation()))

    first, second = playbook("list", *url).out.splitlines()
    assert first.endswith("\trests")
    assert not second.endswith("\trests")
    assert json.loads(playbook("show", "pat-001", "--json", *url).out)["resting"] is True
    assert "; resting: sessions don't get it" in playbook("show", "pat-001", *url).out
    assert "pat-001" not in playbook("render", *url).out.split("## ", 1)[1]

    playbook("vote", "pat-001", "helpful", *url)

    assert "[pat-001] helpful=6 harmful=3" in playbook("render", *url).out
