"""A person before the pages: what the browser shows, and how it is clicked and typed on."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.wait import WebDriverWait

from playbook_db.services.opening import open_project
from playbook_db.services.project import Project
from tests.web import browser

_PATIENCE_S = 300.0
_MOST_TABS = 250
_LABEL = """
const at = document.activeElement, label = at.labels && at.labels[0];
const texts = label ? [...label.childNodes].filter(node => node.nodeType === 3) : [...at.childNodes].filter(
    node => node.nodeType === 3 || node.tagName !== 'KBD');
return texts.map(node => node.textContent).join('')
"""


@dataclass(slots=True)
class Seen:
    """The pages at `root` in a browser, and whose they are."""

    driver: Chrome
    root: str
    folder: Path
    url: str

    @contextlib.contextmanager
    def project(self) -> Iterator[Project]:
        """The project that is shown, as another process has it."""
        with open_project(self.url, str(self.folder), notify=print) as project:
            yield project

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
        self.and_wait(self.button(text).click)

    def field(self, label: str) -> WebElement:
        """The control with that label."""
        quoted = f"//label[normalize-space(text())='{label}']"
        return self.driver.find_element(By.XPATH, f"{quoted}//*[self::input or self::textarea or self::select]")

    def open_details(self, text: str, by: str = "mouse") -> None:
        """Open what *text* hides, by mouse or by keyboard."""
        if by == "keyboard":
            self.tab_to(text)
            self.keys(Keys.ENTER)
        else:
            summary = self.driver.find_element(By.XPATH, f"//summary[normalize-space(text())='{text}']")
            if summary.find_element(By.XPATH, "..").get_attribute("open") is None:
                summary.click()

    def fill_in(self, label: str, text: str, within: str = "main", by: str = "mouse") -> None:
        """Type *text* behind what the control of that label, in the element *within*, holds."""
        if by == "keyboard":
            self.tab_to(label)
        else:
            element = self.driver.find_element(By.CSS_SELECTOR, within)
            quoted = f".//label[normalize-space(text())='{label}']//*[self::input or self::textarea]"
            element.find_element(By.XPATH, quoted).click()
        with_control = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL)
        with_control.send_keys(text).perform()

    def tick(self, label: str, by: str = "mouse") -> None:
        """Tick that box where it isn't yet."""
        quoted = f'//label[normalize-space(.)="{label}"]//input'
        box = self.driver.find_element(By.XPATH, quoted)
        if by == "keyboard" and not box.is_selected():
            self.tab_to(label)
            self.keys(Keys.SPACE)
        elif not box.is_selected():
            box.click()
        assert box.is_selected()

    def users_texts(self) -> list[str]:
        """What the points of the user's own playbook say."""
        with self.project() as project:
            own = Project.of_user(project.store)
            with own.store.read(own.key) as book:
                return [point.text for point in book.live_points()]

    def keys(self, *keys: str) -> None:
        """Type, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, text: str) -> None:
        """Go on with the Tab key until the focus is on what says *text*, or is labelled so."""
        for _ in range(_MOST_TABS):
            self.keys(Keys.TAB)
            if " ".join(str(self.driver.execute_script(_LABEL)).split()) == text:
                return
        raise AssertionError(f"The Tab key never comes to {text!r}.")

    def tab_to_element(self, element: WebElement) -> None:
        """Go on with the Tab key until the focus is on *element*."""
        for _ in range(_MOST_TABS):
            self.keys(Keys.TAB)
            if self.driver.switch_to.active_element == element:
                return
        raise AssertionError("The Tab key never comes there.")

    def press(self, text: str) -> None:
        """Press what says *text* by keyboard alone; the next page is there afterwards."""
        self.tab_to(text)
        self.and_wait(lambda: self.keys(Keys.ENTER))

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait until *is_so*."""
        WebDriverWait(self.driver, _PATIENCE_S, 0.05).until(lambda _: is_so())

    def and_wait(self, act: Callable[[], object]) -> None:
        """Do *act*, which leads to another page; that is there afterwards."""
        before = self.driver.find_element(By.TAG_NAME, "html")
        act()
        self.until(lambda: expected_conditions.staleness_of(before)(self.driver))


@contextlib.contextmanager
def seeing(
    made: Path, fill: Callable[[Project], None], name: str = "hafen", *, javascript: bool = True
) -> Iterator[Seen]:
    """The pages of a project in *made* that *fill* has filled, in a browser; skips where there is none."""
    home, folder = made / "home", made / name
    (folder / ".claude").mkdir(parents=True)
    home.mkdir()
    url = f"sqlite:///{home}/.claude/playbook/playbook.db"
    with open_project(url, str(folder), notify=print) as project:
        fill(project)
    try:
        opened = browser.browser(javascript=javascript)
        with browser.serving(folder, home) as address, opened as driver:
            driver.get(address)
            yield Seen(driver, driver.current_url.partition("?")[0].rstrip("/"), folder, url)
    except browser.BrowserMissingError as missing:
        pytest.skip(str(missing))
