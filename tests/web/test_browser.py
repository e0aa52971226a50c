"""The pages in a real Chromium: what a person sees and does, by mouse and by keyboard, with a script and without."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from playbook_db.services.projects import Project, open_project
from tests.web import browser
from tests.web.filled_playbook import fill

PAGES = ("/points", "/points/pat-002", "/points/oth-003")
_PATIENCE_S = 10.0
_MOST_TABS = 250


@dataclass(slots=True)
class Seen:
    """The pages at `root` in a browser, and whose they are."""

    driver: Chrome
    root: str
    folder: Path
    url: str

    def project(self) -> "Project":
        """What is in the database."""
        with open_project(self.url, str(self.folder), notify=print) as project:
            return project

    def go(self, path: str) -> None:
        """Open that page."""
        self.driver.get(f"{self.root}{path}")

    @property
    def text(self) -> str:
        """All that the page shows."""
        return str(self.driver.find_element(By.TAG_NAME, "body").text)

    def button(self, text: str) -> WebElement:
        """The first button or link that says *text*."""
        quoted = f"[normalize-space(text())='{text}']"
        return self.driver.find_element(By.XPATH, f"//main//button{quoted} | //main//a{quoted}")

    def click(self, text: str) -> None:
        """Click what says *text*; the next page is there afterwards."""
        self._and_wait(self.button(text).click)

    def field(self, label: str) -> WebElement:
        """The control with that label."""
        quoted = f"//label[normalize-space(text())='{label}']"
        return self.driver.find_element(By.XPATH, f"{quoted}//*[self::input or self::textarea or self::select]")

    def keys(self, *keys: str) -> None:
        """Type, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, text: str) -> None:
        """Go on with the Tab key until the focus is on what says *text*, or is labelled so."""
        for _ in range(_MOST_TABS):
            self.keys(Keys.TAB)
            at = self.driver.execute_script(
                "const at = document.activeElement; if (!at) return '';"
                "const label = at.labels && at.labels[0];"
                "return label ? [...label.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('')"
                " : at.textContent"
            )
            if " ".join(str(at).split()).split(" ⌨")[0] == text:
                return
        raise AssertionError(f"The Tab key never comes to {text!r}.")

    def press(self, text: str) -> None:
        """Press what says *text* by keyboard alone; the next page is there afterwards."""
        self.tab_to(text)
        self._and_wait(lambda: self.keys(Keys.ENTER))

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait until *is_so*."""
        WebDriverWait(self.driver, _PATIENCE_S, 0.05).until(lambda _: is_so())

    def _and_wait(self, act: Callable[[], object]) -> None:
        before = self.driver.execute_script("return window.performance.timeOrigin")
        act()
        self.until(lambda: self.driver.execute_script(
            "return document.readyState === 'complete' && window.performance.timeOrigin") not in (False, before)
        )  # fmt: skip


def _seen(made: Path, *, javascript: bool = True) -> Iterator[Seen]:
    home, folder = made / "home", made / "hafen"
    (folder / ".claude").mkdir(parents=True)
    home.mkdir()
    url = f"sqlite:///{home}/.claude/playbook/playbook.db"
    with open_project(url, str(folder), notify=print) as project:
        fill(project)
    try:
        opened = browser.browser(javascript=javascript)
        with browser.serving(folder, home) as address, opened as driver:
            driver.get(address)
            parts = urlsplit(driver.current_url)
            yield Seen(driver, f"{parts.scheme}://{parts.netloc}", folder, url)
    except browser.BrowserMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """One server and one browser for all tests of the module."""
    yield from _seen(tmp_path_factory.mktemp("seen"))


@pytest.fixture
def seen(served: Seen) -> Seen:
    """The pages, as wide as a usual window."""
    browser.resize(served.driver, 1200)
    return served


@pytest.fixture(scope="module")
def without_script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """The pages in a browser that runs no script."""
    yield from _seen(tmp_path_factory.mktemp("plain"), javascript=False)


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
    seen.go(path)
    browser.resize(seen.driver, 1200, scheme=scheme)

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
