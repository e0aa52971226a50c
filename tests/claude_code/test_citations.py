"""Which key points a text cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.transcripts.chunks import cited_names

cited = st.from_regex(r"(?:u?(?:pat|mis|pref|ctx|oth)-[0-9]{1,4}|kpt_[0-9]{1,4})", fullmatch=True)


def test_citations_are_found_once_in_order() -> None:
    found = cited_names(["Based on [pat-001] and [mis-002], I recommend...", "Also applying [pat-001] here, [ctx-3]"])
    assert found == ("pat-001", "mis-002", "ctx-3")


def test_own_playbooks_names_are_found() -> None:
    texts = ["As [upat-001, pat-001] say", "and [uoth-012]; [uupat-001] is none"]
    assert cited_names(texts) == ("upat-001", "pat-001", "uoth-012")


@pytest.mark.parametrize("text", ["[pat-001, kpt_002]", "[pat-001 ; kpt_002]", "[pat-001,\n kpt_002]"])
def test_brackets_may_hold_several_names(text: str) -> None:
    assert cited_names([text]) == ("pat-001", "kpt_002")


@pytest.mark.parametrize(
    "text", ["pat-001", "(pat-001)", "[pat_001]", "[kpt-001]", "[ukpt_001]", "[pat-001x]", "[PAT-001]", "[see pat-001]"]
)
def test_similar_text_is_no_citation(text: str) -> None:
    assert cited_names([text]) == ()


@given(st.lists(st.lists(cited, min_size=1, max_size=3), max_size=4))
def test_each_citation_is_found(groups: list[list[str]]) -> None:
    all_names = [name for group in groups for name in group]
    found = cited_names([f"as in [{', '.join(group)}]: [x] and so on" for group in groups])
    assert found == tuple(dict.fromkeys(all_names))
