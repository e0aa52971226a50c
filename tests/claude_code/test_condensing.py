"""What a reader gets of what was said and done."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.transcripts.condensing import (
    CALL_LIMIT,
    ERROR_LIMIT,
    NO_OUTPUT,
    RESULT_LIMIT,
    WORDS_LIMIT,
    condense,
    cut_middle,
    share,
)
from playbook_db.claude_code.transcripts.parts import Part

NOISE = "".join(f"collecting module number {index} of many\n" for index in range(2_000))
parts = st.builds(Part, st.sampled_from(["text", "thinking", "call", "result"]), st.text(max_size=3_000), st.booleans())


def a_call(name: str, given: object) -> Part:
    """A call as the transcript's reader hands it on."""
    return Part("call", f"{name} {json.dumps(given, ensure_ascii=False)}")


@pytest.mark.parametrize("kind", ["text", "thinking", "result"])
def test_what_is_short_stays_as_it_is(kind: str) -> None:
    """Only white space around it goes."""
    assert condense(Part(kind, "\n  first\n\n  second \n")) == "first\n\n  second"


def test_words_are_cut_only_beyond_a_generous_limit() -> None:
    """Twenty thousand characters are whole; of more, both ends stay and the number between is told."""
    whole = "word " * (WORDS_LIMIT // 5)
    cut = condense(Part("text", "BEGIN" + "x" * 2 * WORDS_LIMIT + "END"))

    assert condense(Part("text", whole)) == whole.strip()
    assert cut.startswith("BEGINx")
    assert cut.endswith("xEND")
    assert len(cut) <= WORDS_LIMIT


def test_the_number_of_characters_left_out_is_right() -> None:
    """What is kept and what is told to be left out make the whole."""
    text = "abcdefghij" * 100
    head, told, tail = cut_middle(text, 200).split("\n")

    assert text.startswith(head)
    assert text.endswith(tail)
    assert told == f"[... {len(text) - len(head) - len(tail)} characters left out ...]"


def test_a_call_is_one_line() -> None:
    """`tool(NAME): ` and what was given; line breaks are written as `\\n`."""
    assert condense(a_call("Bash", {"command": "pytest -q\nruff check"})) == r"tool(Bash): pytest -q\nruff check"
    assert condense(a_call("Grep", {"pattern": "x", "n": 3, "in": ["a"]})) == 'tool(Grep): pattern=x; n=3; in=["a"]'
    assert condense(a_call("Now", {})) == "tool(Now):"
    assert condense(Part("call", "Odd not json\u2028at all")) == r"tool(Odd): not json\nat all"


def test_no_nul_comes_back_out_of_a_calls_json() -> None:
    """JSON hides it as an escape, in a key as in a value; no request and no database takes it."""
    assert condense(a_call("Bash", {"\0": 1, "b": "\0"})) == "tool(Bash): \ufffd=1; b=\ufffd"


def test_of_a_long_input_the_short_values_stay_whole() -> None:
    """The path of an edited file is told however long its new content is."""
    told = condense(a_call("Write", {"content": "line\n" * 5_000, "file_path": "/home/dev/project/a.py"}))

    assert "file_path=/home/dev/project/a.py" in told
    assert "characters left out" in told
    assert len(told) <= CALL_LIMIT
    assert "\n" not in told


def test_a_result_without_output_says_so() -> None:
    """That a command said nothing may be the news."""
    assert condense(Part("result", " \n")) == NO_OUTPUT


def test_colours_of_a_terminal_and_its_line_ends_go() -> None:
    """They tell nothing and hide the errors."""
    assert condense(Part("result", "\x1b[1;31mFAILED\x1b[0m x\r\nend")) == "FAILED x\nend"


EVIDENCE = [
    "Exit code 137",
    "Process exited with status 2",
    "ValueError: 'x' is not in list",
    "java.lang.IllegalStateException: closed",
    "src/main.rs:3: error[E0308]: mismatched types",
    "a.c:3:1: error: expected ';'",
    "[error] /home/dev/Main.scala:3: type mismatch",
    "error Command failed with exit code 1.",
    "Error (10170): Verilog HDL syntax error at top.v(3)",
    "WARNING: DATA RACE",
    "fatal: not a git repository",
    "thread 'main' panicked at src/main.rs:2:5:",
    "Traceback (most recent call last):",
    "FAILED tests/test_a.py::test_b - assert 1 == 2",
    "3 failed, 12 passed in 0.5s",
    "Tests:       1 failed, 2 passed, 3 total",
    "test result: ok. 5 passed; 0 failed",
    "Ran 12 tests in 0.1s",
    "--- FAIL: TestSum (0.00s)",
    "bash: foo: command not found",
    "cat: x: No such file or directory",
    "Permission denied (publickey)",
    "npm ERR! code ELIFECYCLE",
    'src/a.ts(3,1): error TS2304: Cannot find name "x".',
    '  File "/home/dev/a.py", line 3, in f',
    "    at main (/home/dev/a.js:3:1)",
]


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_evidence_of_what_worked_outlives_the_noise_around_it(evidence: str) -> None:
    """In the middle of a long output, with equal noise before and after."""
    told = condense(Part("result", f"{NOISE}{evidence}\n{NOISE}"))

    assert evidence in told
    assert told.startswith("collecting module number 0")
    assert told.endswith("collecting module number 1999 of many")
    assert told.count("characters left out") == 2
    assert len(told) <= RESULT_LIMIT


def test_what_looks_rare_outlives_what_is_said_by_the_thousand() -> None:
    """Errors that are expected and repeated, warnings, and tests with such words in their names come last."""
    storm = "".join(
        f"10:00:{index} ERROR app.cart could not reach node {index}, trying again\n"
        f"tests/fatal/test_panic.py::test_error_{index} PASSED\nsrc/a.c:{index}:3: warning: unused variable\n"
        for index in range(3_000)
    )
    failure = "tests/test_price.py:14: AssertionError: total is off\n"
    told = condense(Part("result", f"{storm}{failure}{storm}"))

    assert failure in told


def test_what_stands_around_a_rare_error_is_kept() -> None:
    """Where it is, what was expected, and the file under whose heading it stands."""
    failure = (
        "/home/dev/shop/cart.js\n  1:2  warning  Unexpected console\n  3:4  error  'x' is not defined\n"
        "    Expected: 3\n    Received: 4\n      at cart.js:3:4\n"
    )
    told = condense(Part("result", f"{NOISE}{failure}{NOISE}"))

    for line in failure.splitlines():
        assert line in told or "warning" in line


def test_evidence_in_the_middle_of_megabytes_is_found() -> None:
    """All of a result is searched, not its ends alone."""
    told = condense(Part("result", f"{NOISE * 30}fatal: not a git repository\n{NOISE * 30}"))

    assert "fatal: not a git repository" in told


def test_what_a_progress_bar_wrote_over_hides_nothing() -> None:
    """Each state of a bar is a line of its own, so what follows on it is one too."""
    bar = "".join(f"{index}% done\r" for index in range(1_000))
    told = condense(Part("result", f"{bar}error: no space left\r{bar}"))

    assert "\nerror: no space left\n" in told


def test_an_error_may_be_longer() -> None:
    """A failed call teaches more than one that worked."""
    shown, failed = (condense(Part("result", NOISE, is_error)) for is_error in (False, True))

    assert RESULT_LIMIT * 0.9 < len(shown) <= RESULT_LIMIT
    assert ERROR_LIMIT * 0.9 < len(failed) <= ERROR_LIMIT


def test_of_much_evidence_the_last_and_the_first_stay() -> None:
    """A summary stands at the end, the first error is often the cause of the others."""
    errors = "".join(f"Error: number {index}\n" for index in range(1_000))
    told = condense(Part("result", f"{NOISE}{errors}{NOISE}"))

    assert "Error: number 0\n" in told
    assert "Error: number 999\n" in told
    assert "Error: number 500\n" not in told


def test_evidence_in_one_endless_line_is_found() -> None:
    """Minified output has no lines; what is around the error is kept."""
    told = condense(Part("result", "x;" * 50_000 + " TypeError: undefined is no function " + "y;" * 50_000))

    assert "TypeError: undefined is no function" in told
    assert len(told) <= RESULT_LIMIT


def test_a_gap_shorter_than_the_word_for_it_is_kept() -> None:
    """Nothing is won by leaving it out."""
    told = condense(Part("result", f"{NOISE}Error: one\nand\nError: two\n{NOISE}"))

    assert "Error: one\nand\nError: two" in told


def test_what_a_result_says_is_left_out_adds_up() -> None:
    """Kept characters and those told to be left out make the whole."""
    text = f"{NOISE}Exit code 1\n{NOISE}3 failed\n{NOISE}".strip()
    told = condense(Part("result", text))
    kept = told.split("\n[... ")
    left_out = [int(gap.split(" ", 1)[0]) for gap in kept[1:]]
    pieces = [kept[0], *(gap.split("...]\n", 1)[1] for gap in kept[1:])]

    assert sum(left_out) + sum(map(len, pieces)) == len(text)
    assert all(piece in text for piece in pieces)


@given(part=parts, limit=st.integers(0, 4_000))
def test_the_limit_is_kept_and_the_outcome_is_the_same_each_time(part: Part, limit: int) -> None:
    """Whatever the text is."""
    told = condense(part, limit)

    assert len(told) <= limit
    assert told == condense(part, limit)


@given(st.text("a\n", max_size=50), st.integers(0, 300), st.integers(400, 3_000))
def test_the_limit_is_kept_by_texts_full_of_evidence(line: str, times: int, limit: int) -> None:
    """The words in the gaps count too."""
    assert len(condense(Part("result", f"{line}\nError\n{line}" * times), limit)) <= limit


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(-5, 2_000))
def test_shares_never_exceed_the_total_nor_any_size(sizes: list[int], total: int) -> None:
    """Nothing is kept back while some size isn't met, but for what can't be divided."""
    shares = share(sizes, total)

    assert all(one <= size for one, size in zip(shares, sizes, strict=True))
    assert sum(shares) <= max(total, 0)
    assert sum(shares) >= min(sum(sizes), total) - len(sizes)


def test_small_sizes_are_met_first() -> None:
    """What is smaller than an equal share leaves the rest to the others."""
    assert share([10, 1_000, 30], 100) == (10, 60, 30)
