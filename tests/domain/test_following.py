"""When acts follow a point, and when they show that it was ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality import trials as labeled
from playbook_db.domain.trust.following import CORRECTED, FAILED, REFUSED, Act, Trial, judge

PYTEST = "Run tests with `uv run pytest`, never bare `pytest`."
REFUSED_CONNECTION = "If `ECONNREFUSED 127.0.0.1:5433` appears, start the database with `make db`."
GENERATED = "`src/api.ts` is generated: edit `openapi.yaml` and run `make gen`."
OUTPUT = "Error: connect ECONNREFUSED 127.0.0.1:5433\n  at TCPConnectWrap"


def ran(command: str, outcome: str = "", error: str = "") -> Act:
    return Act("", "Bash", command, outcome, error)


def test_rule_agrees_with_held_out_labels() -> None:
    """docs/internals/evidence.md states these figures."""
    right = [
        [labeled.is_right(case, judge(case["point"], labeled.acts_of(case))) for case in labeled.cases(split)]
        for split in labeled.SPLITS
    ]

    assert [sum(half) for half in right] == [20, 18]
    assert labeled.errors("held-out") == (11, 17, 2, 19556)


@pytest.mark.parametrize(
    ("text", "acts", "trial"),
    [
        (PYTEST, [ran("cd server && uv run pytest -x")], Trial(followed=True)),
        (PYTEST, [ran("uv run pytest", FAILED, "1 failed")], Trial(followed=True)),
        (PYTEST, [ran("pytest -x", FAILED, "no such plugin")], Trial(False, 1, 1)),
        (PYTEST, [ran("pytest -x")], Trial()),
        (PYTEST, [ran("pytest"), ran("pytest", FAILED), ran("uv run pytest")], Trial(True, 1, 1)),
        (REFUSED_CONNECTION, [ran("npm test", FAILED, OUTPUT)], Trial(False, 1, 1)),
        (REFUSED_CONNECTION, [*[ran("npm test", FAILED, OUTPUT)] * 3, ran("make db")], Trial(True, 2, 2)),
        (REFUSED_CONNECTION, [ran("npm test", FAILED, "Error: connect ECONNREFUSED 127.0.0.1:80")], Trial()),
        (GENERATED, [Act("", "Edit", "/home/ann/shop/src/api.ts", REFUSED)], Trial(ignored=1)),
        (GENERATED, [Act("", "Edit", "/home/ann/shop/openapi.yaml")], Trial(followed=True)),
        (GENERATED, [Act("", "", "no, src/api.ts is generated, edit openapi.yaml", CORRECTED)], Trial(ignored=1)),
        ("Never run `rm -rf build` before `make stop`.", [ran("rm -rf build", FAILED, "busy")], Trial()),
        ("Don't use npm here — use `pnpm`.", [ran("pnpm test", FAILED, "1 failed")], Trial(followed=True)),
        ("The log says ERROR twice.", [ran("make", FAILED, "error: no rule")], Trial()),
    ],
)
def test_only_clear_cases_count(text: str, acts: list[Act], trial: Trial) -> None:
    assert judge(text, acts) == trial


@given(st.text(), st.text(), st.sampled_from(["", FAILED, REFUSED, CORRECTED]), st.text())
def test_any_text_can_be_judged(text: str, command: str, outcome: str, error: str) -> None:
    for point in (text, f"use `{text}`, not `{command}`"):
        trial = judge(point, [ran(command, outcome, error)])

        assert 0 <= trial.failed_calls <= trial.ignored <= 1
