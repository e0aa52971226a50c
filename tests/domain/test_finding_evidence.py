"""Where a quote stands, and what class that gives it."""

import pytest

from playbook_db.domain.trust.evidence import (
    ASSISTANT,
    ASSISTANTS_WORDS,
    FETCHED,
    FILES,
    MAX_QUOTE_CHARS,
    TESTS,
    USER,
    Evidence,
    Place,
    find_evidence,
    lowest,
)

SAID = Place(USER, "the user", "No, we use pnpm here - never “npm”.")
RUN = Place(
    TESTS,
    "Bash: pytest -q",
    "collected 3 items\n\n\x1b[31mE   assert 1 ==\n     2\x1b[0m\n[... 90 characters left out ...]\n1 failed, 2 passed",
)
FILE = Place(FILES, "Read: a.py", "12\tdef total(cart):\n13\t    return round(cart)")
PAGE = Place(FETCHED, "WebFetch: https://docs.example", "def total(cart): is usual. 1 failed, 2 passed is bad.")
PLACES = (SAID, RUN, FILE)


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("we use pnpm here", SAID),
        ('NO, WE USE PNPM HERE - never "npm".', SAID),
        ('User: "we use pnpm here"', SAID),
        ("E assert 1 == 2", RUN),
        ("pytest -q: E   assert 1 == 2", RUN),
        ("tool(Bash): pytest -q\n1 failed, 2 passed", RUN),
        ("collected 3 items ... 1 failed, 2 passed", RUN),
        ("collected 3 items … 2 passed", RUN),
        ("`return round(cart)`", FILE),
    ],
)
def test_quote_is_found_however_it_is_set(quote: str, place: Place) -> None:
    """White space, case, colours, quotation marks, ellipses, and the command that stands before its output."""
    assert find_evidence([quote], PLACES) == [Evidence(" ".join(quote.split()), place.label, place.trust)]


@pytest.mark.parametrize(
    "quote",
    [
        "we always use pnpm",
        "1 failed, 2 passed ... collected 3 items",
        "we use pnpm ... 1 failed, 2 passed",
        "no",
        "pytest -q",
        "a ... e ... i ... o",
        "c ... o ... l ... l ... e ... c ... t ... e ... d",
        "...",
    ],
)
def test_what_stands_nowhere_is_fetched(quote: str) -> None:
    """Nor is what stands anywhere a proof: a few characters, or pieces out of order and of several places."""
    assert find_evidence([quote], PLACES) == [Evidence(quote, "", FETCHED)]


def test_quote_in_a_better_and_in_a_fetched_place_is_fetched() -> None:
    """A page may have been first."""
    quotes = ["1 failed, 2 passed", "def total(cart)", "return round(cart)"]

    assert [one.trust for one in find_evidence(quotes, (*PLACES, PAGE))] == [FETCHED, FETCHED, FILES]
    assert find_evidence(["def total(cart)"], (PAGE, FILE))[0].place == PAGE.label


def test_assistants_words_are_no_evidence_but_named() -> None:
    """They take nothing from a quote that stands elsewhere, too."""
    own = Place(ASSISTANT, ASSISTANTS_WORDS, "I think that we use pnpm here, and yarn there.")
    found = find_evidence(["we use pnpm here", "and yarn there"], (own, *PLACES))

    assert [(one.trust, one.source) for one in found] == [(USER, "the user's words"), (FETCHED, ASSISTANTS_WORDS)]
    assert find_evidence(["1 failed, 2 passed"], PLACES)[0].source == "tests or builds; Bash: pytest -q"
    assert find_evidence(["never said"], PLACES)[0].source == "fetched; in no place of the session"


def test_short_word_counts_where_it_is_all_that_was_said() -> None:
    """Users are brief."""
    assert find_evidence(["uv!"], [Place(USER, "the user", "uv!")])[0].trust == USER
    assert find_evidence(["请用 uv 安装"], [Place(USER, "the user", "不,请用 uv 安装,谢谢")])[0].trust == USER


def test_quote_is_kept_short_and_blank_ones_are_not() -> None:
    """What is no text is none either."""
    long = find_evidence(["x" * 1000, " ", None, 3], PLACES)  # type: ignore[list-item]

    assert [len(one.quote) for one in long] == [MAX_QUOTE_CHARS]
    assert long[0].quote.endswith("…")


def test_lesson_takes_the_lowest_class_of_its_evidence() -> None:
    """One genuine quote among others makes no lesson; no evidence at all is the lowest."""
    mixed = find_evidence(["we use pnpm here", "1 failed, 2 passed"], PLACES)

    assert lowest(mixed) == TESTS
    assert lowest(find_evidence(["we use pnpm here", "never said"], PLACES)) == FETCHED
    assert lowest([]) == FETCHED
