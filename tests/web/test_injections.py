"""Texts that anybody may have written stand on the pages as texts, whatever they say."""

from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from selenium.webdriver.common.by import By

from playbook_db.domain.prompt_text import shown
from tests.web import browser
from tests.web.injections import TEXTS, fill
from tests.web.seeing import Seen, seeing

pytestmark = pytest.mark.nightly

FOLDER = "\"><img src=x onerror=window.pwned=1> {{ 7*7 }} '"
_MOST = {"one point": 25, "forget": 1}  # pages of a kind that are looked at; of any other
_MOST_OF_ANY = 8
_WATCH = """
window.attempts = [];
for (const name of ['alert', 'confirm', 'prompt', 'print', 'open']) window[name] = () => window.attempts.push(name);
addEventListener('securitypolicyviolation', event => window.attempts.push(
    `${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
# What no page of ours has, however it came there.
_FOREIGN = """
const ours = new Set(['page.js', 'style.css'].map((name) => `${arguments[0]}/static/${name}`));
const isForeign = (element) =>
    [...element.attributes].some(({ name }) => /^(on.*|style|srcdoc|formaction)$/.test(name))
    || /^(iframe|object|embed|base|style|frame|frameset|template|video|audio|img|plaintext|xmp)$/i.test(element.tagName)
    || (element.tagName === 'SCRIPT' && !ours.has(element.getAttribute('src')))
    || (element.tagName === 'LINK' && element.rel === 'stylesheet' && !ours.has(element.getAttribute('href')))
    || (element.tagName === 'META' && element.httpEquiv !== '')
    || (element.tagName === 'A' && element.origin !== location.origin)
    || (element.tagName === 'FORM' && new URL(element.getAttribute('action'), location).origin !== location.origin);
return {
    foreign: [...document.querySelectorAll('*')].filter(isForeign).map((element) => element.outerHTML.slice(0, 200)),
    attempts: [...window.attempts, ...(window.pwned === undefined ? [] : ['pwned'])],
    text: document.body.textContent + '\\n' + document.title,
    links: [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href')),
    width: document.documentElement.scrollWidth,
    wide: [...document.querySelectorAll('main *')].filter((element) => element.getBoundingClientRect().right > 380)
        .map((element) => element.outerHTML.slice(0, 100)).slice(0, 9),
}
"""


@pytest.fixture(scope="module")
def polluted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """The pages of a playbook that says such things everywhere, of a folder that is called so, too."""
    with seeing(tmp_path_factory.mktemp("said"), fill, FOLDER) as opened:
        opened.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
        browser.resize(opened.driver, 380)
        yield opened


def plain(text: str) -> str:
    """*text* as it stands on a page, white space aside."""
    return "".join(shown(text).split())


@pytest.mark.smoke
def test_no_text_runs_as_markup(polluted: Seen) -> None:
    """Every text is shown as it is, and no page loads anything from elsewhere."""
    driver, root = polluted.driver, urlsplit(polluted.root).path
    browser.requested(driver)
    waiting, seen, kinds, texts = ["/points"], {"/points"}, dict[str, int](), list[str]()
    while waiting:
        path = waiting.pop(0)
        polluted.go(path)
        page = driver.execute_script(_FOREIGN, root)
        assert page["attempts"] == [], path
        assert page["foreign"] == [], path
        assert page["width"] <= 380, (path, page["wide"])
        texts.append("".join(page["text"].split()))
        for address in filter(lambda link: link.startswith("/"), page["links"]):
            assert address.startswith(f"{root}/")
            link = address.removeprefix(root)
            parts = link.partition("?")[0].split("/")[1:]
            kind = "one point" if parts[0] == "points" and len(parts) == 2 else parts[0]
            is_enough = kinds.get(kind, 0) >= _MOST.get(kind, _MOST_OF_ANY)
            if link in seen or is_enough:
                continue
            kinds[kind] = kinds.get(kind, 0) + 1
            seen.add(link)
            waiting.append(link)

    asked = browser.requested(driver)
    assert {each for each in asked if not each.startswith((f"{polluted.root}/", "data:"))} == set()
    assert len(TEXTS) >= 200
    missing = [text for text in TEXTS if not any(plain(text) in page for page in texts)]
    assert missing == []


def test_markup_can_be_edited(polluted: Seen) -> None:
    text = "</textarea><script>window.pwned=1</script>"
    polluted.go("/points")
    with polluted.project() as project, project.store.read(project.key) as book:
        point = next(point for point in book.live_points() if point.text.endswith(text))
    polluted.go(f"/points/{quote(point.name, safe='')}")
    field = polluted.driver.find_element(By.NAME, "text")

    assert field.get_property("value") == point.text
    field.send_keys(" and more")
    polluted.click("Save")
    with polluted.project() as project, project.store.read(project.key) as book:
        saved = book.live_point(point.name)
    assert saved is not None
    assert saved.text == f"{point.text} and more"
