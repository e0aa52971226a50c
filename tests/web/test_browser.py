"""The pages in a real Chromium: what a person sees and does, by mouse and by keyboard, with a script and without."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

from playbook_db.services import edit, review
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


def a_proposal(seen: Seen, text: str) -> str:
    """A proposal to add *text*, and its number as it is shown."""
    with seen.project() as project, project.store.write(project.key) as book:
        made = book.add_proposal({"type": "ADD", "text": text}, "ADD", (), "fetched", "a session")
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


def test_a_proposal_is_decided_by_one_key(seen: Seen) -> None:
    """By a accepted, by r rejected, by e edited; the next one comes up each time."""
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


def test_a_proposal_is_decided_by_mouse(seen: Seen) -> None:
    """Each of the three by its button."""
    first, second, third = (a_proposal(seen, f"A mouse {number} suffices") for number in ("alpha", "beta", "gamma"))
    seen.go(f"/review?proposal={first}")
    seen.click("Accept")
    seen.click("Reject")
    seen.click("Edit and accept")
    seen.field("In your words").send_keys(Keys.END, ", too")
    seen.click("Accept in these words")

    said = [text for text in texts(seen) if text.startswith("A mouse")]
    assert said == ["A mouse alpha suffices", "A mouse gamma suffices, too"]
    assert not {first, second, third} & set(waiting(seen))


def test_keys_can_be_seen_and_turned_off(seen: Seen) -> None:
    """Whoever speaks to the machine, or hits keys by mistake, has them do nothing."""
    proposal = a_proposal(seen, "Keys can be turned off")
    seen.go(f"/review?proposal={proposal}")
    seen.keys("?")
    assert "next proposal" in seen.driver.find_element(By.TAG_NAME, "dialog").text
    seen.keys(Keys.SPACE, Keys.ESCAPE)
    seen.keys("a")
    assert proposal in waiting(seen)
    seen.keys("?")
    seen.keys(Keys.SPACE, Keys.ESCAPE)
    seen.and_wait(lambda: seen.keys("a"))
    assert proposal not in waiting(seen)


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_revision_is_undone(seen: Seen, by: str) -> None:
    """And the undo can be undone where it is told."""
    act = seen.click if by == "mouse" else seen.press
    with seen.project() as project:
        made = edit.add(project, f"Undone by {by}")
    seen.go(f"/history/{made.revision}")
    act("Undo this revision")
    assert f"Undone by {by}" not in texts(seen)
    act("Undo this revision")
    assert f"Undone by {by}" in texts(seen)


@pytest.mark.parametrize(
    ("choice", "text"), [("Keep what stands now there", "third"), ("Take what the undo brings back", "first")]
)
def test_what_was_changed_again_is_a_choice(seen: Seen, choice: str, text: str) -> None:
    """Both texts are shown, and nothing is written before."""
    with seen.project() as project:
        name = edit.add(project, f"The first of {choice}").changes[0].point.name
        changed = edit.edit(project, name, text=f"The second of {choice}")
        edit.edit(project, name, text=f"The third of {choice}")
    seen.go(f"/history/{changed.revision}")
    seen.click("Undo this revision")
    assert f"The third of {choice}" in seen.text
    assert f"The third of {choice}" in texts(seen)
    seen.press(choice)

    assert f"The {text} of {choice}" in texts(seen)


def test_two_states_are_compared_and_the_playbook_goes_back(seen: Seen) -> None:
    """By the forms of the history."""
    with seen.project() as project:
        before = edit.add(project, "There before").revision
        edit.add(project, "Added after that")
    seen.go("/history")
    seen.field("Differences from").send_keys(str(before))
    seen.press("Compare")
    assert "Added after that" in seen.text
    seen.go(f"/history/restore?at={before}")
    seen.click("Restore")

    assert "There before" in texts(seen)
    assert "Added after that" not in texts(seen)
