"""The place of a quote in a session, and how far that place is trusted."""

import pytest

from playbook_db.domain.trust.evidence import (
    ASSISTANT,
    ASSISTANTS_WORDS,
    HERE,
    MAX_QUOTE_CHARS,
    OUTSIDE,
    USER,
    Evidence,
    Place,
    find_evidence,
    read_json,
)

SAID = Place(USER, "the user", "No, we use pnpm here - never “npm”.")
RUN = Place(
    HERE,
    "Bash: pytest -q",
    "collected 3 items\n\n\x1b[31mE   assert 1 ==\n     2\x1b[0m\n[... 90 characters left out ...]\n1 failed, 2 passed",
)
FILE = Place(HERE, "Read: a.py", "12\tdef total(cart):\n13\t    return round(cart)")
PAGE = Place(OUTSIDE, "WebFetch: https://docs.example", "def total(cart): is usual. 1 failed, 2 passed is bad.")
PLACES = (SAID, RUN, FILE)


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("we use pnpm here", SAID),
        ('NO, WE USE PNPM HERE - never "npm".', SAID),
        ('User: "we use pnpm here"', SAID),
        ("E assert 1 == 2", RUN),
        ("tool(Bash): pytest -q\n1 failed, 2 passed", RUN),
        ("collected 3 items ... 1 failed, 2 passed", RUN),
        ("`return round(cart)`", FILE),
        ("pnpm here", SAID),
    ],
)
def test_quote_is_found_in_any_form(quote: str, place: Place) -> None:
    """White space, case, colors, quotation marks, ellipses, or a command before its output; 8 letters are enough."""
    assert find_evidence([quote], PLACES) == [Evidence(" ".join(quote.split()), place.label, place.trust)]


STATED = Place(ASSISTANT, ASSISTANTS_WORDS, "So half-cents go down, except for refunds.")


@pytest.mark.parametrize(
    ("places", "trust"),
    [
        ((STATED, Place(USER, "the user", "Exactly")), USER),
        ((STATED, Place(USER, "the user", "No. Exactly the other way")), OUTSIDE),
        ((STATED, RUN, Place(USER, "the user", "Exactly")), OUTSIDE),
        ((STATED, PAGE), OUTSIDE),
        ((Place(USER, "the user", "Exactly"), STATED), OUTSIDE),
    ],
)
def test_users_may_accept_the_assistants_words(places: list[Place], trust: str) -> None:
    """Both quotes are needed, with nothing between them."""
    stated, _ = find_evidence(["half-cents go down", "Exactly"], places)

    assert stated.trust == trust
    assert find_evidence(["half-cents go down"], places)[0].trust == OUTSIDE


@pytest.mark.parametrize(
    "quote",
    [
        "we always use pnpm",
        "1 failed, 2 passed ... collected 3 items",
        "we use pnpm ... 1 failed, 2 passed",
        "no",
        "pytest -q",
        "a ... e ... i ... o",
    ],
)
def test_unknown_quote_is_from_outside(quote: str) -> None:
    assert find_evidence([quote], PLACES) == [Evidence(quote, "", OUTSIDE)]


def test_quote_in_a_page_is_from_outside() -> None:
    quotes = ["1 failed, 2 passed", "def total(cart)", "return round(cart)"]

    assert [one.trust for one in find_evidence(quotes, (*PLACES, PAGE))] == [OUTSIDE, OUTSIDE, HERE]
    assert find_evidence(["def total(cart)"], (PAGE, FILE))[0].place == PAGE.label


def test_assistants_words_are_no_evidence() -> None:
    own = Place(ASSISTANT, ASSISTANTS_WORDS, "I think that we use pnpm here, and yarn there.")
    found = find_evidence(["we use pnpm here", "and yarn there"], (own, *PLACES))

    assert [(one.trust, one.source) for one in found] == [(USER, "the user's words"), (OUTSIDE, ASSISTANTS_WORDS)]
    assert find_evidence(["1 failed, 2 passed"], PLACES)[0].source == "seen here; Bash: pytest -q"
    assert find_evidence(["never said"], PLACES)[0].source == "in no place of the session"


def test_short_message_of_the_user_is_evidence() -> None:
    (said,) = find_evidence(["Down."], [Place(USER, "the user", "Down.")])
    (printed,) = find_evidence(["Done."], [Place(HERE, "Bash: make", "Done.")])

    assert (said.trust, said.is_found, printed.is_found) == (USER, True, False)
    assert find_evidence(["请用 uv 安装"], [Place(USER, "the user", "不,请用 uv 安装,谢谢")])[0].trust == USER


def test_long_quote_is_cut() -> None:
    long = find_evidence(["x" * 1000, " ", None, 3], PLACES)  # type: ignore[list-item]

    assert [len(one.quote) for one in long] == [MAX_QUOTE_CHARS]
    assert long[0].quote.endswith("…")


def test_older_names_of_trust_are_read() -> None:
    texts = [f'[{{"quote": "q", "place": "p", "trust": "{trust}"}}]' for trust in ("tests", "files", "fetched", "user")]

    assert [read_json(text)[0].trust for text in texts] == [HERE, HERE, OUTSIDE, USER]
