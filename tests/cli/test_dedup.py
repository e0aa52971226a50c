"""dedup."""

import pytest

from tests.cli.conftest import Playbook


@pytest.fixture
def alike(playbook: Playbook) -> Playbook:
    """The command, for a playbook with two similar points."""
    for text in ("Use uv, not pip, for packages", "Never push to main", "Packages come with uv, not with pip"):
        playbook("add", text)
    playbook("vote", "oth-003", "helpful")
    return playbook


def test_pair_is_two_lines_in_a_pipe(alike: Playbook) -> None:
    result = alike("dedup")
    (pair,) = alike("dedup", "--json").json["candidates"]

    assert result.code == 0
    assert result.out.splitlines() == [
        "0.67\toth-001\t0\t0\tUse uv, not pip, for packages",
        "\toth-003\t1\t0\tPackages come with uv, not with pip",
    ]
    assert "playbook dedup --merge oth-001 oth-003" in result.err
    assert "playbook dedup --apart oth-001 oth-003" in result.err
    assert [(point["name"], point["helpful"]) for point in pair["points"]] == [("oth-001", 0), ("oth-003", 1)]


def test_pair_is_kept_apart_or_merged(alike: Playbook) -> None:
    kept = alike("dedup", "--apart", "oth-001", "oth-003")
    assert (kept.code, kept.out) == (0, "oth-001 and oth-003 are kept apart until one of their texts changes\n")
    assert alike("dedup", "--apart", "oth-003", "oth-001", "--json").json["apart"] == ["oth-003", "oth-001"]
    assert (alike("dedup").out, alike("dedup").code) == ("", 0)
    assert "no two key points are similar" in alike("dedup").err
    assert alike("dedup", "--json").json["candidates"] == []

    merged = alike("dedup", "--merge", "oth-001", "oth-003")

    assert merged.code == 0
    assert merged.out.splitlines()[:2] == [
        "edit      oth-001 [OTHERS] +1 -0 Use uv, not pip, for packages (added the votes of its duplicate oth-003)",
        "retire    oth-003: duplicate of oth-001",
    ]
    (revision,) = alike("log", "--source", "dedup", "--json").json
    assert revision["message"] == "merged oth-003 into oth-001"
