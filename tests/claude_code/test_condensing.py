"""Long parts of a transcript are shortened, and errors are kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.transcripts.condensing import (
    CALL_LIMIT,
    ERROR_LIMIT,
    RESULT_LIMIT,
    WORDS_LIMIT,
    condense,
)
from playbook_db.claude_code.transcripts.parts import Part

NOISE = "".join(f"collecting module number {index} of many\n" for index in range(2_000))
parts = st.builds(Part, st.sampled_from(["text", "thinking", "call", "result"]), st.text(max_size=3_000), st.booleans())


def a_call(name: str, given: object) -> Part:
    """A call as the reader of transcripts returns it."""
    return Part("call", f"{name} {json.dumps(given, ensure_ascii=False)}")


@pytest.mark.parametrize("kind", ["text", "thinking", "result"])
def test_short_text_is_unchanged(kind: str) -> None:
    assert condense(Part(kind, "\n  first\n\n  second \n")) == "first\n\n  second"


def test_long_words_keep_both_ends() -> None:
    whole = "word " * (WORDS_LIMIT // 5)
    cut = condense(Part("text", "BEGIN" + "x" * 2 * WORDS_LIMIT + "END"))
    assert condense(Part("text", whole)) == whole.strip()
    assert cut.startswith("BEGINx")
    assert cut.endswith("xEND")
    assert len(cut) <= WORDS_LIMIT


def test_call_is_one_line() -> None:
    assert condense(a_call("Bash", {"command": "pytest -q\nruff check"})) == r"tool(Bash): pytest -q\nruff check"
    assert condense(a_call("Grep", {"pattern": "x", "n": 3, "in": ["a"]})) == 'tool(Grep): pattern=x; n=3; in=["a"]'
    assert condense(a_call("Now", {})) == "tool(Now):"
    assert condense(Part("call", "Odd not json\u2028at all")) == r"tool(Odd): not json\nat all"


def test_call_has_no_nul() -> None:
    """JSON hides a NUL as an escape."""
    assert condense(a_call("Bash", {"\0": 1, "b": "\0"})) == "tool(Bash): \ufffd=1; b=\ufffd"


def test_short_values_of_an_input_stay_whole() -> None:
    short = condense(a_call("Write", {"content": "line\n" * 5_000, "file_path": "/home/dev/project/a.py"}))
    assert "file_path=/home/dev/project/a.py" in short
    assert "characters left out" in short
    assert len(short) <= CALL_LIMIT
    assert "\n" not in short


def test_terminal_colors_are_removed() -> None:
    assert condense(Part("result", "\x1b[1;31mFAILED\x1b[0m x\r\nend")) == "FAILED x\nend"


EVIDENCE = [
    "Exit code 137",
    "ValueError: 'x' is not in list",
    "src/main.rs:3: error[E0308]: mismatched types",
    "WARNING: DATA RACE",
    "fatal: not a git repository",
    "thread 'main' panicked at src/main.rs:2:5:",
    "FAILED tests/test_a.py::test_b - assert 1 == 2",
    "test result: ok. 5 passed; 0 failed",
    "bash: foo: command not found",
    "npm ERR! code ELIFECYCLE",
    '  File "/home/dev/a.py", line 3, in f',
]


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_evidence_survives_noise(evidence: str) -> None:
    short = condense(Part("result", f"{NOISE}{evidence}\n{NOISE}"))
    assert evidence in short
    assert short.startswith("collecting module number 0")
    assert short.endswith("collecting module number 1999 of many")
    assert short.count("characters left out") == 2
    assert len(short) <= RESULT_LIMIT


def test_rare_error_survives_frequent_ones() -> None:
    storm = "".join(
        f"10:00:{index} ERROR app.cart could not reach node {index}, trying again\n"
        f"tests/fatal/test_panic.py::test_error_{index} PASSED\nsrc/a.c:{index}:3: warning: unused variable\n"
        for index in range(3_000)
    )
    failure = "tests/test_price.py:14: AssertionError: total is off\n"
    short = condense(Part("result", f"{storm}{failure}{storm}"))

    assert failure in short


def test_lines_around_an_error_are_kept() -> None:
    failure = (
        "/home/dev/shop/cart.js\n  1:2  warning  Unexpected console\n  3:4  error  'x' is not defined\n"
        "    Expected: 3\n    Received: 4\n      at cart.js:3:4\n"
    )
    short = condense(Part("result", f"{NOISE}{failure}{NOISE}"))

    for line in failure.splitlines():
        assert line in short or "warning" in line


def test_progress_bar_hides_no_error() -> None:
    bar = "".join(f"{index}% done\r" for index in range(1_000))
    short = condense(Part("result", f"{bar}error: no space left\r{bar}"))
    assert "\nerror: no space left\n" in short


def test_errors_may_be_longer() -> None:
    shown, failed = (condense(Part("result", NOISE, is_error)) for is_error in (False, True))
    assert RESULT_LIMIT * 0.9 < len(shown) <= RESULT_LIMIT
    assert ERROR_LIMIT * 0.9 < len(failed) <= ERROR_LIMIT


def test_first_and_last_errors_stay() -> None:
    errors = "".join(f"Error: number {index}\n" for index in range(1_000))
    short = condense(Part("result", f"{NOISE}{errors}{NOISE}"))
    assert "Error: number 0\n" in short
    assert "Error: number 999\n" in short
    assert "Error: number 500\n" not in short


def test_error_in_a_long_line_is_found() -> None:
    short = condense(Part("result", "x;" * 50_000 + " TypeError: undefined is no function " + "y;" * 50_000))
    assert "TypeError: undefined is no function" in short
    assert len(short) <= RESULT_LIMIT


def test_left_out_characters_add_up() -> None:
    text = f"{NOISE}Exit code 1\n{NOISE}3 failed\n{NOISE}".strip()
    short = condense(Part("result", text))
    kept = short.split("\n[... ")
    left_out = [int(gap.split(" ", 1)[0]) for gap in kept[1:]]
    pieces = [kept[0], *(gap.split("...]\n", 1)[1] for gap in kept[1:])]

    assert sum(left_out) + sum(map(len, pieces)) == len(text)
    assert all(piece in text for piece in pieces)


@given(part=parts, limit=st.integers(0, 4_000))
def test_limit_is_kept(part: Part, limit: int) -> None:
    short = condense(part, limit)
    assert len(short) <= limit
    assert short == condense(part, limit)
