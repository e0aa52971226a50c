"""The page of numbers: its pictures, which obey the page's policy, and the tables beside them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, open_store
from playbook_db.services.reading import statistics
from playbook_db.store.playbook.learning import Call
from tests.web import filled_playbook
from tests.web.conftest import Answer, Visitor, served

_USES = ("shown", "followed", "cited", "ignored", "helpful", "harmful")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Visitor, Project]]:
    """Who opened the pages of a project that was worked on for weeks, and the project."""
    place = tmp_path_factory.mktemp("numbers")
    home, folder = place / "home", place / "project"
    for made in (home, folder / ".claude"):
        made.mkdir(parents=True)
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store:
        project = Project.in_folder(store, str(folder))
        filled_playbook.fill(project)
        with served(folder, home) as address:
            visitor = Visitor(address)
            assert visitor.open().status == 303
            yield visitor, project


def _pictures(answer: Answer) -> list[str]:
    return re.findall(r"<svg[^>]* role=\"img\".*?</svg>", answer.body, re.DOTALL)


def _table(answer: Answer, heading: str) -> list[list[str]]:
    part = answer.body.partition(f'aria-label="{heading}, as a table"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", part.partition("<tbody>")[2], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_each_picture_stands_beside_its_numbers(site: tuple[Visitor, Project]) -> None:
    """As a table, and for who can't see it in words."""
    visitor, project = site
    stats = statistics.gather(project)

    answer = visitor.see("/numbers")

    assert answer.status == 200
    assert len(_pictures(answer)) == 2
    votes = _table(answer, "Helpful and harmful by week")
    assert [(int(row[1]), int(row[2])) for row in votes] == [(week.helpful, week.harmful) for week in stats.weeks]
    costs = _table(answer, "Cost by week")
    asked = [(str(week.monday), week) for week in reversed(stats.weeks) if week.calls]
    assert costs == [[day, f"{week.calls:,}", f"{week.tokens:,}", f"${week.cost_usd:,.2f}"] for day, week in asked]


def test_the_use_of_points_is_counted(site: tuple[Visitor, Project]) -> None:
    """The same numbers as in `stats`."""
    visitor, project = site
    use = statistics.gather(project).use

    table = visitor.see("/numbers").body.partition('aria-label="Use of points"')[2].partition("</table>")[0]

    assert re.findall(r"<th[^>]*>(\w+)</th>", table) == [name.capitalize() for name in _USES]
    assert re.findall(r"<td[^>]*>([\d,]+)</td>", table) == [f"{getattr(use, name):,}" for name in _USES]
    assert all(getattr(use, name) for name in ("shown", "cited", "helpful"))


def test_fewer_than_three_values_are_no_chart(tmp_path: Path) -> None:
    """They are told in words and in the table."""
    home, folder = tmp_path / "home", tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store:
        project = Project.in_folder(store, str(folder))
        edit.add(project, "Run the tests.")
        edit.vote(project, "oth-001", "helpful")
        with served(folder, home) as address:
            visitor = Visitor(address)
            visitor.open()
            before = visitor.see("/numbers")

    assert _pictures(before) == []
    assert "1 helpful and 0 harmful votes since" in before.body
    assert before.body.count("A chart appears here once there are three values.") == 1
    assert [row[1:] for row in _table(before, "Helpful and harmful by week")] == [["1", "0"]]


def test_weeks_are_listed_though_no_price_is_known(tmp_path: Path) -> None:
    """With their calls and tokens, and a dash in place of the cost."""
    home, folder = tmp_path / "home", tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store:
        project = Project.in_folder(store, str(folder))
        with project.store.write(project.key) as book:
            book.add_call(Call("reflect", "a-model-of-ours", 1_200, 34, 0, None, 900), session_id="one")
        with served(folder, home) as address:
            visitor = Visitor(address)
            visitor.open()
            unpriced = visitor.see("/numbers")
            with project.store.write(project.key, now=datetime.now(UTC) - timedelta(days=7)) as book:
                book.add_call(Call("reflect", "claude-sonnet-4-5", 1_000, 10, 0, 0.25, 900), session_id="one")
            priced = visitor.see("/numbers")

    assert "The prices of the models that were called are unknown." in unpriced.body
    assert [row[1:] for row in _table(unpriced, "Cost by week")] == [["1", "1,234", "–"]]
    assert [row[1:] for row in _table(priced, "Cost by week")] == [["1", "1,234", "–"], ["1", "1,010", "$0.25"]]


def test_a_column_tells_its_values_where_somebody_points_at_it(site: tuple[Visitor, Project]) -> None:
    """Those of its row in the table, each with its series if there are several."""
    answer = site[0].see("/numbers")
    votes, costs = (re.findall("<title>(.*?)</title>", picture) for picture in _pictures(answer))

    table = _table(answer, "Helpful and harmful by week")
    assert votes == [f"{week}: {helpful} helpful, {harmful} harmful" for week, helpful, harmful in table]
    assert {f"{week}: {cost}" for week, _, _, cost in _table(answer, "Cost by week")} <= set(costs)


def test_the_pictures_obey_the_policy_of_the_page(site: tuple[Visitor, Project]) -> None:
    """No style, no script, no reference, no id: they have their look from the style sheet, in both themes."""
    visitor, _ = site
    answer = visitor.see("/numbers")
    sheet = visitor.see("/static/style.css").body

    for picture in _pictures(answer):
        root = ElementTree.fromstring(picture)  # noqa: S314 - our own
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        names = {name for element in root.iter() for name in element.attrib}
        assert tags <= {"svg", "g", "path", "rect", "text", "title"}
        assert not names & {"style", "id", "href", "fill", "stroke"}
        assert not any(name.startswith("on") or "href" in name for name in names)
        assert root.attrib["aria-label"].endswith(".")
    assert "style=" not in answer.body.replace('rel="stylesheet"', "")
    for color in (".chart text", ".chart path", ".chart rect", ".chart .helpful", ".chart .harmful"):
        assert f"{color} {{" in sheet


def test_a_playbook_of_nothing_is_told_in_sentences(site: tuple[Visitor, Project]) -> None:
    """The user's own: no point, no vote, no session, no cost."""
    answer = site[0].see("/numbers", project="user")

    assert answer.status == 200
    assert _pictures(answer) == []
    for sentence in ("No point was voted on", "No session was shown", "No model was called"):
        assert sentence in answer.body
