"""The commands promote and demote."""

from tests.cli.conftest import Playbook


def test_promote_and_demote_are_reversible(playbook: Playbook) -> None:
    playbook("add", "say it briefly", "--section", "pref")

    promoted = playbook("promote", "pref-001")

    assert promoted.code == 0
    assert "add       upref-001 [USER PREFERENCES] say it briefly (promoted from pref-001 of " in promoted.out
    assert "retire    pref-001: promoted to upref-001" in promoted.out
    assert "revision 1 of your personal playbook" in promoted.out
    assert "promoted to upref-001" in playbook("show", "pref-001").out + playbook("why", "pref-001").out
    assert "promoted from pref-001 of /" in playbook("show", "upref-001").out
    assert "Promoted from pref-001 of /" in playbook("why", "upref-001").out

    back = playbook("demote", "upref-001", "--json").json

    assert (back["name"], back["copy"], back["dry_run"]) == ("upref-001", "pref-002", False)
    assert [back[side]["changes"][0]["kind"] for side in ("copied", "retired")] == ["add", "retire"]
    assert "nothing to do: upref-001 has its copy, pref-002" in playbook("demote", "upref-001").out
