"""What each page shows; `__snapshots__/test_outputs.ambr` has it.

If a change is meant, `pytest tests/web/test_outputs.py --snapshot-update` records the new page.
"""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from syrupy.assertion import SnapshotAssertion

from playbook_db.web import application
from tests import recording
from tests.web.conftest import Pages, pages_in

PATHS = (
    "/", "/points", "/points/oth-002", "/forget/oth-002", "/shown", "/projects", "/review", "/sessions",
    f"/sessions/{recording.SESSION}", "/numbers", "/history", "/history/8", "/history/at", "/history/at/3",
    "/history/diff?from=3&to=8", "/history/diff?from=yesterday", "/history/diff?from=8", "/history/at/0?project=user",
    "/history/6",
    "/history?name=ctx-001", "/history?since=7", "/history?name=ctx-001&by=a+stranger", "/history?since=someday",
    "/history/99999", "/history/none", "/history/at/x", "/points?q=pip&sort=votes", "/points?q=uv&section=oth",
    "/points?q=uv&state=pinned", "/points?state=retired", "/points/ctx-001", "/points/mis-001",
    "/points/oth-009", "/points/upref-001?project=user", "/shown?q=zebra&file=../outside.py", "/shown?q=uv",
    "/review?proposal=p2", "/review?proposal=p1&edit=1", "/sessions/nobody",
)  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLAYBOOK_ACTOR", "ann@laptop")
        with pages_in(tmp_path_factory.mktemp("outputs"), recording.fill) as opened:
            yield opened


@pytest.mark.parametrize("path", PATHS)
def test_page_is_as_recorded(pages: Pages, path: str, snapshot: SnapshotAssertion) -> None:
    """Only its status and its texts count."""
    answer = pages.see(path)

    text = _text(answer.body).replace(str(pages.folder), recording.FOLDER)
    assert f"{answer.status}\n{recording.steady(text)}" == snapshot


def _text(page: str) -> str:
    """A line for each block of *page*."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", page.partition("<main")[2].partition(">")[2])
    page = re.sub(r"<ins>(.*?)</ins>", r"{+\1+}", re.sub(r"<del>(.*?)</del>", r"[-\1-]", page))
    page = re.sub(r"</t[dh]>", " ", re.sub(r"\s+", " ", page))
    page = re.sub(r"</?(?:a|b|code|em|span|strong|time|kbd|mark|label|small|td|th)\b[^>]*>", "", page)
    return "".join(f"{line.strip()}\n" for line in unescape(re.sub(r"<[^>]*>", "\n", page)).split("\n") if line.strip())


def test_each_page_is_recorded() -> None:
    patterns = [
        re.sub(r"\{.*?\}", "[^/]+", path)
        for pages in application._PAGES
        for method, path in pages.ROUTES
        if method == "GET"
    ]

    assert [each for each in patterns if not any(re.fullmatch(each, path.partition("?")[0]) for path in PATHS)] == []
