"""The pages in a real Chromium: what a person sees and does, by mouse and by keyboard, with a script and without."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from playbook_db.claude_code.setup import guards
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
def test_an_audit_finds_nothing_serious(seen: Seen, axe: str, path: str) -> None:
    """On any page, in either theme: contrast, labels, headings, names of what can be pressed; and nothing stands out to
    the side, at 380 pixels neither."""
    seen.go(path)
    assert browser.audit(seen.driver, axe) == []
    browser.resize(seen.driver, 1200, scheme="dark")
    assert browser.audit(seen.driver, axe, "color-contrast") == []
    for width in browser.WIDTHS:
        browser.resize(seen.driver, width)
        wide = seen.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} pixels at {width}"


@pytest.mark.smoke
def test_the_browser_asks_this_machine_alone(seen: Seen) -> None:
    """By its own list of requests; and it has nothing to complain of."""
    browser.requested(seen.driver)
    seen.driver.get_log("browser")
    for path in PAGES:
        seen.go(path)

    asked = browser.requested(seen.driver)
    assert len(asked) >= len(PAGES)
    assert {each for each in asked if not each.startswith((f"{seen.root}/", "data:"))} == set()
    assert [entry for entry in seen.driver.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.smoke
def test_a_search_answers_while_one_types(seen: Seen) -> None:
    """What is found takes the list's place, the address leads back to it, and the count is read out."""
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


@pytest.mark.smoke
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


@pytest.mark.smoke
def test_keys_can_be_turned_off(seen: Seen) -> None:
    """Whoever speaks to the machine, or hits keys by mistake, has them do nothing."""
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


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
@pytest.mark.smoke
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


@pytest.mark.parametrize(("choice", "text"), [("Keep the current text", "third"), ("Use the earlier text", "first")])
def test_what_was_changed_again_is_a_choice(seen: Seen, axe: str, choice: str, text: str) -> None:
    """Both texts are shown, and nothing is written before."""
    with seen.project() as project:
        name = edit.add(project, f"The first of {choice}").changes[0].point.name
        changed = edit.edit(project, name, text=f"The second of {choice}")
        edit.edit(project, name, text=f"The third of {choice}")
    seen.go(f"/history/{changed.revision}")
    seen.click("Undo this revision")
    assert f"The third of {choice}" in seen.text
    assert browser.audit(seen.driver, axe) == []
    assert f"The third of {choice}" in texts(seen)
    seen.press(choice)

    assert f"The {text} of {choice}" in texts(seen)


@pytest.mark.smoke
def test_two_states_are_compared(seen: Seen) -> None:
    """By the form of the history."""
    with seen.project() as project:
        before = edit.add(project, "There before").revision
        edit.add(project, "Added after that")
    seen.go("/history")
    seen.press("Compare two states")
    seen.field("From").send_keys(str(before))
    seen.press("Compare")

    assert "Added after that" in seen.text


def a_point(seen: Seen, text: str) -> str:
    """A point that says *text*, by its name."""
    with seen.project() as project:
        return edit.add(project, text).changes[0].point.name


def details(seen: Seen, name: str) -> PointRecord:
    """The point as it is in the database."""
    with seen.project() as project:
        return edit.find(project, name)


def test_a_double_click_is_one_vote(seen: Seen) -> None:
    """The second click comes before the answer to the first."""
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
def test_a_point_from_its_first_word_to_its_end(seen: Seen, by: str) -> None:
    """Added, voted on, pinned, edited, retired, restored, promoted and forgotten, each on its page."""
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


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
@pytest.mark.smoke
def test_a_guard_is_created_and_removed(seen: Seen, axe: str, by: str) -> None:
    """On the page of its point; the audit finds nothing while it is there."""
    act, folder = seen.click if by == "mouse" else seen.press, str(seen.folder)
    name = a_point(seen, f"Guarded by {by}")
    seen.go(f"/points/{name}")
    seen.open_details("Show this point before some tool calls", by)
    seen.fill_in("Calls of", "Bash(git push *)", by=by)
    act("Create the guard")
    assert guards.read(folder) == [guards.PointGuard(name, "Bash(git push *)", "ask")]
    assert browser.audit(seen.driver, axe) == []
    seen.fill_in("Calls of", "Bash(*)", by=by)
    act("Replace the guard")
    assert "A guard's pattern names a tool" in seen.text
    assert browser.audit(seen.driver, axe) == []
    act("Remove the guard")
    assert guards.read(folder) == []


@pytest.mark.smoke
def test_an_edit_of_what_was_changed_meanwhile_overwrites_nothing(seen: Seen, axe: str) -> None:
    """Both texts are shown; what was typed isn't lost, and saving it then is a choice."""
    name = a_point(seen, "Meanwhile one")
    seen.go(f"/points/{name}")
    seen.fill_in("Text", ", mine")
    with seen.project() as project:
        edit.edit(project, name, text="Meanwhile two")
    seen.click("Save")
    assert details(seen, name).point.text == "Meanwhile two"
    assert "Meanwhile two" in seen.text
    assert browser.audit(seen.driver, axe) == []
    assert seen.field("Text").get_property("value") == "Meanwhile one, mine"
    seen.click("Save")

    assert details(seen, name).point.text == "Meanwhile one, mine"


@pytest.mark.smoke
def test_what_was_done_can_be_undone_where_it_is_told(seen: Seen) -> None:
    """The line says which revision it was, and leads to it."""
    name = a_point(seen, "Retired too soon")
    seen.go(f"/points/{name}")
    seen.open_details(FOLDED)
    seen.click("Retire")
    seen.and_wait(seen.driver.find_element(By.CSS_SELECTOR, ".said a").click)
    seen.click("Undo this revision")

    assert details(seen, name).retired is None


@pytest.mark.smoke
def test_points_are_filtered_and_sorted(seen: Seen) -> None:
    """By section, state and order, at once where a script runs."""
    name = a_point(seen, "Filtered away")
    with seen.project() as project:
        edit.retire(project, name)
    seen.go("/points")
    Select(seen.field("State")).select_by_visible_text("retired")
    seen.until(lambda: "state=retired" in seen.driver.current_url and "Filtered away" in seen.text)
    Select(seen.field("State")).select_by_visible_text("live")
    seen.until(lambda: "Filtered away" not in seen.text)
    Select(seen.field("Section")).select_by_visible_text("PROJECT CONTEXT")
    seen.until(lambda: "section=ctx" in seen.driver.current_url)
    seen.until(
        lambda: {link.text[:4] for link in seen.driver.find_elements(By.CSS_SELECTOR, "#results .name")} == {"ctx-"}
    )


@pytest.mark.smoke
def test_all_is_done_without_a_script(without_script: Seen) -> None:
    """Search, add, vote, edit, retire, review and undo, where the browser runs none."""
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
def test_a_page_of_another_program_here_changes_and_reads_nothing(seen: Seen, tmp_path: Path, kind: str) -> None:
    """Though the browser sends it our cookie: to it all ports of this machine are one site."""
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


def test_a_server_on_another_port_gets_neither_the_cookie_nor_the_referrer(seen: Seen) -> None:
    """Though the browser sends it cookies of this machine: ours only below a path that nobody else knows."""
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


def a_failed_job(seen: Seen, session: str) -> int:
    """A job that failed, by its number."""
    with seen.project() as project, project.store.write(project.key) as book:
        given = {"session_id": session, "transcript_path": f"/home/ada/{session}.jsonl"}
        jobs.add(book.connection, book.playbook_id, given, now=book.now)
        jobs.claim(book.connection, now=book.now, lease_until=book.now)
        (job,) = (each for each in jobs.read_all(book.connection) if each.session_id == session)
        jobs.finish(book.connection, job, error="the model was away", now=book.now)
    return job.id


def states(seen: Seen) -> dict[int, str]:
    """The state of each job."""
    with seen.project() as project, project.store.snapshot() as connection:
        return {each.id: each.state for each in jobs.read_all(connection)}


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
@pytest.mark.smoke
def test_what_failed_is_tried_again_or_removed(seen: Seen, axe: str, by: str) -> None:
    """Each job by buttons of its own, which say to a screen reader which one they mean."""
    number = a_failed_job(seen, f"failed-{by}")
    seen.go("/sessions")
    assert "the model was away" in seen.text
    assert browser.audit(seen.driver, axe) == []
    for label, outcome in ((f"Try again job {number}", "queued"), (f"Remove job {number}", None)):
        button = seen.driver.find_element(By.CSS_SELECTOR, f"button[aria-label='{label}']")
        if by == "mouse":
            seen.and_wait(button.click)
        else:
            seen.tab_to_element(button)
            seen.and_wait(lambda: seen.keys(Keys.ENTER))
        assert states(seen).get(number) == outcome


@pytest.mark.smoke
def test_one_goes_from_project_to_project(seen: Seen) -> None:
    """And what is done then is done there."""
    seen.go("/projects")
    seen.press("Your personal playbook")
    seen.open_details("Add a point")
    seen.fill_in("Text", "For all my projects", within="#add")
    seen.click("Add")
    assert "For all my projects" in seen.users_texts()
    seen.go("/projects")
    seen.press(str(seen.folder))

    assert "For all my projects" not in texts(seen)
    assert seen.driver.find_element(By.CSS_SELECTOR, ".project b").text == seen.folder.name
