"""The page of numbers: charts, and the tables beside them."""

import re
from pathlib import Path

from playbook_db.services.reading import statistics
from tests.web import filled_playbook
from tests.web.conftest import Answer, pages_in

_USES = ("shown", "followed", "cited", "ignored", "helpful", "harmful")


def _charts(answer: Answer) -> list[str]:
    return re.findall(r"<svg[^>]* role=\"img\".*?</svg>", answer.body, re.DOTALL)


def _table(answer: Answer, heading: str) -> list[list[str]]:
    part = answer.body.partition(f'aria-label="{heading}, as a table"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", part.partition("<tbody>")[2], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_tables_and_charts_have_the_numbers_of_stats(tmp_path: Path) -> None:
    with pages_in(tmp_path, filled_playbook.fill) as pages:
        answer = pages.see("/numbers")
        with pages.opened() as project:
            stats = statistics.gather(project)

    votes = _table(answer, "Helpful and harmful by week")
    assert [(int(row[1]), int(row[2])) for row in votes] == [(week.helpful, week.harmful) for week in stats.weeks]
    costs = _table(answer, "Cost by week")
    asked = [(str(week.monday), week) for week in reversed(stats.weeks) if week.calls]
    assert costs == [[day, f"{week.calls:,}", f"{week.tokens:,}", f"${week.cost_usd:,.2f}"] for day, week in asked]
    in_votes, in_costs = (re.findall("<title>(.*?)</title>", chart) for chart in _charts(answer))
    assert in_votes == [f"{week}: {helpful} helpful, {harmful} harmful" for week, helpful, harmful in votes]
    assert {f"{week}: {cost}" for week, _, _, cost in costs} <= set(in_costs)
    uses = answer.body.partition('aria-label="Use of points"')[2].partition("</table>")[0]
    assert re.findall(r"<th[^>]*>(\w+)</th>", uses) == [name.capitalize() for name in _USES]
    assert re.findall(r"<td[^>]*>([\d,]+)</td>", uses) == [f"{getattr(stats.use, name):,}" for name in _USES]
