"""The pages in a real Chromium: what a person sees and does, by mouse and by keyboard, with a script and without."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By

from tests.web import browser
from tests.web.filled_playbook import fill
from tests.web.seeing import Seen, seeing

PAGES = (
    "/points", "/points/pat-002", "/points/oth-003", "/history", "/history/50", "/history/at/20",
    "/history/diff?from=10&to=50", "/history/restore?at=20", "/review", "/review?edit=1", "/sessions", "/numbers",
)  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """One server and one browser for all tests of the module."""
    with seeing(tmp_path_factory.mktemp("seen"), fill) as opened:
        yield opened


@pytest.fixture
def seen(served: Seen) -> Seen:
    """The pages, as wide as a usual window."""
    browser.resize(served.driver, 1200)
    return served


@pytest.fixture(scope="module")
def without_script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """The pages in a browser that runs no script."""
    with seeing(tmp_path_factory.mktemp("plain"), fill, javascript=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def axe() -> str:
    """The audit."""
    try:
        return browser.ensure_axe()
    except browser.BrowserMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_an_audit_finds_nothing_serious(seen: Seen, axe: str, path: str, scheme: browser.Scheme) -> None:
    """On any page, in either theme: contrast, labels, headings, names of what can be pressed."""
    browser.resize(seen.driver, 1200, scheme=scheme)
    seen.go(path)

    assert browser.audit(seen.driver, axe) == []


@pytest.mark.parametrize("path", PAGES)
def test_a_narrow_page_scrolls_only_downwards(seen: Seen, path: str) -> None:
    """At 380 pixels, nothing stands out to the side."""
    seen.go(path)
    for width in browser.WIDTHS:
        browser.resize(seen.driver, width)
        wide = seen.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} pixels at {width}"


def test_the_browser_asks_this_machine_alone(seen: Seen) -> None:
    """By its own list of requests; and it has nothing to complain of."""
    browser.requested(seen.driver)
    for path in PAGES:
        seen.go(path)

    asked = browser.requested(seen.driver)
    assert len(asked) >= len(PAGES)
    assert {each for each in asked if not each.startswith((f"{seen.root}/", "data:"))} == set()
    assert [entry for entry in seen.driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_search_answers_while_one_types(seen: Seen) -> None:
    """What is found takes the list's place, the address leads back to it, and the count is read out."""
    seen.go("/points")
    seen.keys("/")
    seen.keys("timezone calendar")

    seen.until(lambda: "q=timezone+calendar" in seen.driver.current_url)
    seen.until(lambda: seen.driver.find_element(By.ID, "announced").get_property("textContent"))
    assert "Playwright" in seen.text
    assert "vitest" not in seen.text
    seen.driver.refresh()
    assert "Playwright" in seen.text
    seen.driver.back()
    seen.until(lambda: "q=" not in seen.driver.current_url)
