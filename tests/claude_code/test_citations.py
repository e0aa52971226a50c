"""Which key points a text cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.transcripts.chunks import cited_names

cited = st.from_regex(r"(?:u?(?:pat|mis|pref|ctx|oth)-[0-9]{1,4}|kpt_[0-9]{1,4})", fullmatch=True)


def test_citations_are_found_once_each_in_the_order_of_the_first() -> None:
    """A name that is cited in several texts comes once."""
    found = cited_names(["Based on [pat-001] and [mis-002], I recommend...", "Also applying [pat-001] here, [ctx-3]"])

    assert found == ("pat-001", "mis-002", "ctx-3")


def test_text_without_citations_has_none() -> None:
    """No text, no citations; neither where there are texts that cite nothing."""
    assert cited_names([]) == ()
    assert cited_names(["Sure, here is the solution...", ""]) == ()


def test_names_of_the_users_own_playbook_are_found_too() -> None:
    """Beside the project's, each as it is written."""
    assert cited_names(["As [upat-001, pat-001] say", "and [uoth-012]; [uupat-001] is none"]) == (
        "upat-001",
        "pat-001",
        "uoth-012",
    )


def test_legacy_names_are_found_too() -> None:
    """Both forms of names count, as files have both."""
    assert cited_names(["Following [kpt_001] and [oth-003], I suggest..."]) == ("kpt_001", "oth-003")


@pytest.mark.parametrize(
    "text",
    ["[pat-001, kpt_002]", "[pat-001,kpt_002]", "[pat-001 ; kpt_002]", "[pat-001,\n kpt_002]", "[pat-001][kpt_002]"],
)
def test_several_names_may_share_a_pair_of_brackets(text: str) -> None:
    """Models cite in lists."""
    assert cited_names([text]) == ("pat-001", "kpt_002")


@pytest.mark.parametrize(
    "text",
    [
        "pat-001",
        "(pat-001)",
        "[pat]",
        "[pat-]",
        "[pat_001]",
        "[kpt-001]",
        "[foo-001]",
        "[ukpt_001]",
        "[xpat-001]",
        "[pat-001x]",
        "[PAT-001]",
        "[see pat-001]",
        "[pat-001, see mis-002]",
    ],
)
def test_what_only_looks_like_a_citation_is_none(text: str) -> None:
    """A citation is names of our forms, alone in brackets."""
    assert cited_names([text]) == ()


@given(st.lists(st.lists(cited, min_size=1, max_size=3), max_size=4))
def test_every_citation_is_found_wherever_it_stands(groups: list[list[str]]) -> None:
    """What stands in brackets is found, in order, and nothing twice."""
    all_names = [name for group in groups for name in group]

    found = cited_names([f"as in [{', '.join(group)}]: [x] and so on" for group in groups])

    assert found == tuple(dict.fromkeys(all_names))


@given(st.lists(st.text()))
def test_no_text_makes_a_name_come_twice(texts: list[str]) -> None:
    """Names are never repeated, whatever the texts hold."""
    found = cited_names([*texts, *texts, "[pat-001] [pat-001]"])

    assert len(set(found)) == len(found)
    assert "pat-001" in found
