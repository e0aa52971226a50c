"""The pages in a real Chromium: what a person sees and does, by mouse and by keyboard, with a script and without."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from playbook_db.services.playbook import edit, review
from playbook_db.store import jobs
from playbook_db.store.queries.list_queries import PointRecord
from tests.web import browser
from tests.web.filled_playbook import fill
from tests.web.other_server import OtherServer
from tests.web.seeing import Seen, seeing

pytestmark = pytest.mark.nightly

PAGES = (
    "/", "/points", "/points?state=retired", "/points?q=nothing+like+it", "/points/pat-002", "/points/oth-003",
    "/forget/pat-002", "/history", "/history/50", "/history/at/20", "/history/diff?from=10&to=50",
    "/review", "/review?proposal=p2&edit=1", "/sessions", "/numbers", "/projects",
)  # fmt: skip
FOLDED = "Retire, move or forget this point"
OF_NOTHING = ("", "points", "history", "review", "sessions", "numbers")


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


@pytest.mark.parametrize("path", [*PAGES, "/nothing", *(f"/{page}?project=user" for page in OF_NOTHING)])
def test_pages_are_accessible_in_both_themes(seen: Seen, axe: str, path: str) -> None:
    """No page scrolls sideways, even at 380 pixels."""
    seen.go(path)
    assert browser.audit(seen.driver, axe) == []
    browser.resize(seen.driver, 1200, scheme="dark")
    assert browser.audit(seen.driver, axe, "color-contrast") == []
    for width in browser.WIDTHS:
        browser.resize(seen.driver, width)
        wide = seen.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} pixels at {width}"


@pytest.mark.smoke
def test_browser_asks_only_this_machine(seen: Seen) -> None:
    browser.requested(seen.driver)
    seen.driver.get_log("browser")
    for path in PAGES:
        seen.go(path)

    asked = browser.requested(seen.driver)
    assert len(asked) >= len(PAGES)
    assert {each for each in asked if not each.startswith((f"{seen.root}/", "data:"))} == set()
    assert [entry for entry in seen.driver.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.smoke
def test_search_answers_while_typing(seen: Seen) -> None:
    seen.go("/points")
    seen.field("Search").send_keys("timezone calendar")

    seen.until(lambda: "q=timezone+calendar" in seen.driver.current_url)
    seen.until(lambda: seen.driver.find_element(By.ID, "announced").get_property("textContent"))
    assert "Playwright" in seen.text
    assert "vitest" not in seen.text
    seen.driver.refresh()
    assert "Playwright" in seen.text
    seen.driver.back()
    seen.until(lambda: "q=" not in seen.driver.current_url)


def a_proposal(seen: Seen, text: str) -> str:
    """A proposal to add *text*, and its number as it is shown."""
    with seen.project() as project, project.store.write(project.key) as book:
        made = book.add_proposal({"type": "ADD", "text": text}, "ADD", (), "outside", "a session")
    assert made is not None
    return f"p{made.id}"


def texts(seen: Seen) -> list[str]:
    """What the live points say."""
    with seen.project() as project, project.store.read(project.key) as book:
        return [point.text for point in book.live_points()]


def waiting(seen: Seen) -> list[str]:
    """The proposals that wait."""
    with seen.project() as project:
        return [item.name for item in review.waiting(project)]


@pytest.mark.smoke
def test_one_key_decides_a_proposal(seen: Seen) -> None:
    first, second, third = (a_proposal(seen, f"One key {number} suffices") for number in ("alpha", "beta", "gamma"))
    seen.go(f"/review?proposal={first}")
    seen.and_wait(lambda: seen.keys("a"))
    assert f"{first} accepted" in seen.text
    seen.and_wait(lambda: seen.keys("r"))
    assert f"{second} rejected" in seen.text
    seen.and_wait(lambda: seen.keys("e"))
    seen.keys(Keys.END, " and more, are a and r")  # keys while typing are text
    seen.press("Accept in these words")

    said = [text for text in texts(seen) if text.startswith("One key")]
    assert said == ["One key alpha suffices", "One key gamma suffices and more, are a and r"]
    assert not {first, second, third} & set(waiting(seen))


@pytest.mark.smoke
def test_keys_can_be_turned_off(seen: Seen) -> None:
    proposal = a_proposal(seen, "Keys can be turned off")
    seen.go(f"/review?proposal={proposal}")
    assert seen.field("Use these keys").is_selected()
    seen.field("Use these keys").click()
    seen.keys("a")
    seen.driver.refresh()
    seen.keys("a")
    assert proposal in waiting(seen)
    seen.field("Use these keys").click()
    seen.and_wait(lambda: seen.keys("a"))
    assert proposal not in waiting(seen)


def details(seen: Seen, name: str) -> PointRecord:
    """The point as it is in the database."""
    with seen.project() as project:
        return edit.find(project, name)


def test_double_click_is_one_vote(seen: Seen) -> None:
    with seen.project() as project:
        edit.add(project, "Voted on once", section="pat")
        with project.store.write(project.key) as book:
            name = next(each.name for each in book.live_points() if each.text == "Voted on once")
    seen.go(f"/points/{name}")
    button = "document.querySelector('[value=helpful]').click()"
    seen.driver.execute_script(f"{button}; setTimeout(() => {button}, 5)")
    seen.go(f"/points/{name}")

    assert details(seen, name).point.helpful == 1


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
@pytest.mark.smoke
def test_keyboard_is_enough_for_a_point(seen: Seen, by: str) -> None:
    """A point is added, voted on, pinned, edited, retired, restored, promoted and forgotten."""
    act = seen.click if by == "mouse" else seen.press
    seen.go("/points")
    seen.open_details("Add a point", by)
    seen.fill_in("Text", f"Added by {by}", within="#add", by=by)
    act("Add")
    name = seen.driver.find_element(By.TAG_NAME, "h1").text
    assert details(seen, name).point.text == f"Added by {by}"

    for vote in ("Helpful", "Harmful", "Neutral", "Pin"):
        act(vote)
    act("Unpin")
    act("Pin")
    point = details(seen, name).point
    assert (point.helpful, point.harmful) == (1, 1)
    assert "shown first in every session" in seen.text
    seen.fill_in("Text", " and edited", by=by)
    act("Save")
    assert details(seen, name).point.text == f"Added by {by} and edited"
    assert seen.driver.find_element(By.CSS_SELECTOR, ".life ins").text.strip() == "and edited"
    seen.open_details(FOLDED, by)
    seen.fill_in("Reason", "It has served", by=by)
    act("Retire")
    retired = details(seen, name).retired
    assert retired is not None
    assert retired.reason == "It has served"
    act("Restore")
    assert details(seen, name).retired is None
    seen.open_details(FOLDED, by)
    seen.tick("keep a copy in this project", by)
    act("Promote to your personal playbook")
    assert f"Added by {by} and edited" in seen.users_texts()

    seen.go(f"/points/{name}")
    seen.open_details(FOLDED, by)
    act("Forget …")
    assert f"Added by {by} and edited" not in seen.driver.find_element(By.TAG_NAME, "h1").text
    seen.tick("I know that this can't be undone", by)
    act("Erase it for good")
    assert f"Added by {by}" not in "".join(texts(seen))
    seen.go(f"/points/{name}")
    assert f"Added by {by}" not in seen.text


@pytest.mark.smoke
def test_everything_works_without_a_script(without_script: Seen) -> None:
    seen = without_script
    seen.go("/points")
    seen.and_wait(lambda: seen.field("Search").send_keys("vitest", Keys.ENTER))
    assert "q=vitest" in seen.driver.current_url
    seen.go("/points")
    seen.driver.find_element(By.CSS_SELECTOR, "#add summary").click()
    seen.driver.find_element(By.CSS_SELECTOR, "#add textarea").send_keys("Done without a script")
    seen.click("Add")
    seen.click("Helpful")
    seen.field("Text").send_keys(", all of it")
    seen.click("Save")
    seen.open_details(FOLDED)
    seen.click("Retire")
    seen.click("Restore")
    assert "Done without a script, all of it" in texts(seen)
    seen.go("/review")
    seen.click("Accept")
    assert "p1 accepted" in seen.text
    seen.and_wait(seen.driver.find_element(By.CSS_SELECTOR, ".said a").click)
    seen.click("Undo this revision")

    assert not [text for text in texts(seen) if text.startswith("Run `pnpm test --run`")]


_LEAVE = "location.assign(arguments[0])"
_ELSEWHERE = """<!doctype html><title>elsewhere</title>
<form id="form" method="post" action="{root}/points" enctype="{kind}"><input name="text" value="from elsewhere"></form>
<script>
const body = new URLSearchParams("text=from elsewhere");
fetch("{root}/points", {{method: "POST", mode: "no-cors", credentials: "include", body}})
.catch(() => 0).then(() => fetch("{root}/points", {{credentials: "include"}}))
.then((answer) => answer.text()).then((text) => document.title = text, () => document.title = "refused")
.then(() => document.getElementById("form").submit());
</script>"""


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"])
def test_page_on_another_port_changes_nothing(seen: Seen, tmp_path: Path, kind: str) -> None:
    """Browsers send our cookie to all ports of this machine."""
    (tmp_path / "index.html").write_text(_ELSEWHERE.format(root=seen.root, kind=kind), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as elsewhere:  # fmt: skip
        assert elsewhere.stdout is not None
        address = elsewhere.stdout.readline().rpartition("(")[2].rstrip("/) .\n")
        seen.driver.get(address)
        seen.until(lambda: seen.driver.current_url.startswith(seen.root))
        elsewhere.terminate()

    assert "The request is from another site's page" in seen.text
    assert "from elsewhere" not in texts(seen)
    seen.driver.get_log("browser")


def test_another_port_gets_no_cookie_or_referrer(seen: Seen) -> None:
    with OtherServer() as other, OtherServer() as third:
        for path in ("/", "/points", "/s/anything/", f"/s/{'0' * 32}/points"):
            for server in (other, third):
                seen.go("/points")
                seen.and_wait(lambda to=server.address + path: seen.driver.execute_script(_LEAVE, to))
        asked = [*other.asked, *third.asked]
        ours = urlsplit(seen.root)
        assert {each for each in asked if "playbook-" in each[1] or ours.netloc in each[2]} == set()

        # What they would have seen: a cookie for all paths, a referrer, and ours at the very path of the pages.
        assert all("everywhere=1" in cookies for _, cookies, _ in third.asked)
        seen.and_wait(lambda: seen.driver.execute_script(_LEAVE, f"{other.address}{ours.path}/"))
        cookies, referrer = next(each[1:] for each in other.asked if each[0] == f"{ours.path}/")
        assert ("playbook-" in cookies, referrer) == (True, f"{third.address}/")


def states(seen: Seen) -> dict[int, str]:
    """The state of each job."""
    with seen.project() as project, project.store.snapshot() as connection:
        return {each.id: each.state for each in jobs.read_all(connection)}
