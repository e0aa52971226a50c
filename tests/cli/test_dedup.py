"""dedup, as a script and a person see it."""

import pytest

from tests.cli.conftest import Playbook, on_terminal


@pytest.fixture
def alike(playbook: Playbook) -> Playbook:
    """The command, with a playbook of which two points are alike."""
    for text in ("Use uv, not pip, for packages", "Never push to main", "Packages come with uv, not with pip"):
        playbook("add", text)
    playbook("vote", "oth-003", "helpful")
    return playbook


def test_a_pair_is_two_lines_in_a_pipe(alike: Playbook) -> None:
    """How much alike they are, once, then name, votes and text of each; what can be done is said on stderr."""
    result = alike("dedup")

    assert result.code == 0
    assert result.out.splitlines() == [
        "0.67\toth-001\t0\t0\tUse uv, not pip, for packages",
        "\toth-003\t1\t0\tPackages come with uv, not with pip",
    ]
    assert "playbook dedup --merge oth-001 oth-003" in result.err
    assert "playbook dedup --apart oth-001 oth-003" in result.err


def test_pairs_for_programs_are_one_json_document(alike: Playbook) -> None:
    """Keys and their order are a promise."""
    (pair,) = alike("dedup", "--json").json["candidates"]

    assert list(pair) == ["likeness", "points"]
    assert [(point["name"], point["helpful"]) for point in pair["points"]] == [("oth-001", 0), ("oth-003", 1)]
    assert alike("dedup", "--json").err == ""


def test_what_is_decided_is_done_and_said(alike: Playbook) -> None:
    """--apart leaves the playbook as it is, --merge is a revision of its own."""
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


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--merge", "oth-001", "oth-404"), 1, "oth-404"),
        (("--apart", "oth-001", "oth-001"), 1, "Name two different points"),
        (("--merge", "oth-001", "oth-003", "--apart", "oth-001", "oth-003"), 2, "not both"),
        (("--merge", "oth-001"), 2, "requires 2 arguments"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_can_not_be_done_is_explained(alike: Playbook, arguments: tuple[str, ...], code: int, said: str) -> None:
    """A known error is 1, wrong usage 2; nothing has changed."""
    result = alike("dedup", *arguments)

    assert (result.code, result.out) == (code, "")
    assert said in result.err
    assert len(alike("list").out.splitlines()) == 3


@pytest.mark.slow
def test_a_person_sees_both_points_below_each_other(alike: Playbook) -> None:
    """Within the terminal's width."""
    seen = on_terminal("dedup")

    first, second = (line.split() for line in seen.partition("playbook:")[0].splitlines() if "oth-" in line)
    assert first[:7] == ["0.67", "oth-001", "0", "0", "Use", "uv,", "not"]
    assert second[:6] == ["oth-003", "1", "0", "Packages", "come", "with"]
    assert max(map(len, seen.splitlines())) <= 80
