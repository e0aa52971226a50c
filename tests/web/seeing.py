"""A person in front of a browser, who looks, clicks and types."""

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
from playbook_db.services.project import Project, read_playbook
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
    """The pages at `root` in a browser, and their project."""

    driver: Chrome
    root: str
    folder: Path
    url: str

    @contextlib.contextmanager
    def project(self) -> Iterator[Project]:
        """The project, as another process opens it."""
        with open_project(self.url, str(self.folder), notify=print) as project:
            yield project

    def go(self, path: str) -> None:
        """Open a page."""
        self.driver.get(f"{self.root}{path}")

    @property
    def text(self) -> str:
        """The text of the page."""
        return str(self.driver.find_element(By.TAG_NAME, "body").text)

    def button(self, text: str) -> WebElement:
        """The first button or link with that text."""
        quoted = f"[normalize-space(text())='{text}']"
        return self.driver.find_element(By.XPATH, f"//main//button{quoted} | //main//a{quoted}")

    def click(self, text: str) -> None:
        """Click the button *text*, and wait for the next page."""
        self.and_wait(self.button(text).click)

    def field(self, label: str) -> WebElement:
        """The control with that label."""
        quoted = f"//label[normalize-space(text())='{label}']"
        return self.driver.find_element(By.XPATH, f"{quoted}//*[self::input or self::textarea or self::select]")

    def open_details(self, text: str) -> None:
        """Open the folded part *text* by keyboard."""
        self.tab_to(text)
        self.keys(Keys.ENTER)

    def fill_in(self, label: str, text: str) -> None:
        """Type *text* at the end of the field with that label, by keyboard."""
        self.tab_to(label)
        with_control = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL)
        with_control.send_keys(text).perform()

    def texts(self, *, is_users: bool = False) -> list[str]:
        """The texts of the live points, or of the personal ones."""
        with self.project() as project:
            return [
                point.text for point in read_playbook(Project.of_user(project.store) if is_users else project).points
            ]

    def keys(self, *keys: str) -> None:
        """Type, wherever the focus is."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, text: str) -> None:
        """Press Tab until the focus is on the element with that text or label."""
        for _ in range(_MOST_TABS):
            self.keys(Keys.TAB)
            if " ".join(str(self.driver.execute_script(_LABEL)).split()) == text:
                return
        raise AssertionError(f"The Tab key never reaches {text!r}.")

    def press(self, text: str) -> None:
        """Press the button *text* by keyboard, and wait for the next page."""
        self.tab_to(text)
        self.and_wait(lambda: self.keys(Keys.ENTER))

    def until(self, is_so: Callable[[], object]) -> None:
        """Wait until *is_so* returns a true value."""
        WebDriverWait(self.driver, _PATIENCE_S, 0.05).until(lambda _: is_so())

    def and_wait(self, act: Callable[[], object]) -> None:
        """Do *act*, and wait for the next page."""
        before = self.driver.find_element(By.TAG_NAME, "html")
        act()
        self.until(lambda: expected_conditions.staleness_of(before)(self.driver))


@contextlib.contextmanager
def seeing(
    made: Path, fill: Callable[[Project], None], name: str = "hafen", *, javascript: bool = True
) -> Iterator[Seen]:
    """The pages of a project filled by *fill*, in a browser; skips if there is none."""
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
