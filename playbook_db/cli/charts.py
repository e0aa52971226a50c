"""The numbers of `stats` as a picture: one SVG document, its charts drawn by pygal (the extra `web`).

It holds no script and refers to nothing outside: what pygal adds of that is taken out.
"""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pygal
from rich.cells import cell_len

from playbook_db.cli.output import count_of, one_line, readable_size
from playbook_db.domain.times import local
from playbook_db.services import drawing
from playbook_db.services.statistics import Growth, Statistics
from playbook_db.services.trends import by_period

_GAP, _HEAD = 16, 70  # between charts, of the title; in pixels
_PAPER, _CARD = "#f6f8fa", "#ffffff"
_GREEN, _RED, _BLUE, _VIOLET, _AMBER = "#2da44e", "#cf222e", "#0969da", "#8250df", "#bf8700"
_TITLE_COLUMNS = 80  # of the folder's end; a Chinese character takes two


def picture(numbers: Statistics) -> bytes:
    """The statistics as an SVG document: six charts under a title."""
    charts = [*_bar_charts(numbers), _sizes(numbers.time, numbers.file)]
    width = 2 * drawing.WIDTH + 3 * _GAP
    height = _HEAD + (len(charts) + 1) // 2 * (drawing.HEIGHT + _GAP)
    ElementTree.register_namespace("", drawing.SVG)
    root = ElementTree.Element(f"{{{drawing.SVG}}}svg", viewBox=f"0 0 {width} {height}", role="img")
    _set(root, width=width, height=height)
    title = f"The playbook of {_end(one_line(numbers.project))}"
    subtitle = f"{local(numbers.time)[:10]} · {count_of(numbers.live, 'live point')}, "
    subtitle += count_of(sum(numbers.revisions.values()), "revision")
    _node(root, "title").text = title
    _node(root, "rect", width=width, height=height, fill=_PAPER)
    for text, y, size, weight in ((title, 32, 20, 600), (subtitle, 54, 13, 400)):
        style = {"font-family": drawing.FONT, "font-size": size, "font-weight": weight, "fill": drawing.INK}
        _node(root, "text", x=_GAP, y=y, **style).text = text
    for place, chart in enumerate(charts):
        row, column = divmod(place, 2)
        x, y = _GAP + column * (drawing.WIDTH + _GAP), _HEAD + row * (drawing.HEIGHT + _GAP)
        _node(root, "rect", x=x, y=y, width=drawing.WIDTH, height=drawing.HEIGHT, rx=6, fill=_CARD)
        root.append(_placed(chart, x, y))
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _bar_charts(numbers: Statistics) -> list[drawing.Chart]:
    period, labels, weeks = by_period(numbers.weeks)
    votes = {kind: [sum(getattr(week, kind) for week in some) for some in weeks] for kind in numbers.votes}
    sections = numbers.sections[::-1]  # pygal begins at the bottom
    points = {"live": [each.live for each in sections], "retired": [each.retired for each in sections]}
    use = numbers.use
    counts = {"harmful votes": use.harmful, "helpful votes": use.helpful, "cited": use.cited, "shown": use.shown}
    shares = [f"{name}: {count:,} ({use.share_of_shown(count) or 0:.1%})" for name, count in counts.items()]
    bars = zip(counts.values(), (_RED, _GREEN, _VIOLET, _BLUE), strict=True)
    times = [{"value": count, "color": colour} for count, colour in bars] if use.shown else []
    since = f" since {local(use.shown_since)[:10]}" if use.shown_since else ""
    groups, ages = zip(*numbers.age_groups, strict=True)
    costs = [sum(week.cost_usd for week in some) for some in weeks]
    cost = f"What learning cost by {period}: {_dollars(numbers.learning.cost_usd)} in all"
    return [
        drawing.chart(pygal.StackedBar, "votes", f"Votes by {period}", (_GREEN, _RED, drawing.PALE), labels, votes),
        drawing.chart(pygal.HorizontalStackedBar, "sections", "Points by section", (_BLUE, drawing.PALE),
               [each.section.capitalize() for each in sections], points, max_scale=5),
        drawing.chart(pygal.HorizontalBar, "use", f"Points in sessions{since}", (_BLUE,), shares, {"times": times},
               max_scale=5),
        drawing.chart(pygal.Bar, "ages", "Live points by age", (_BLUE,), groups, {"points": ages}, print_values=True,
               print_values_position="top"),
        drawing.chart(pygal.Bar, "costs", cost, (_AMBER,), labels, {"cost": costs}, show=_dollars, order_min=-2),
    ]  # fmt: skip


def _sizes(time: str, file: Growth) -> drawing.Chart:
    sizes = [*file.backups, *([(time, file.size_bytes)] if file.size_bytes is not None else [])]
    largest = max((size for _, size in sizes), default=0)
    unit, scale = ("MiB", 1024**2) if largest >= 1024**2 else ("KiB", 1024)  # of the chart, so that its steps are round
    now = "" if file.size_bytes is None else f", {readable_size(file.size_bytes)} now"
    seconds = [datetime.fromisoformat(time).timestamp() for time, _ in sizes]
    values = [(second, size / scale) for second, (_, size) in zip(seconds, sizes, strict=True)]
    chart = drawing.chart(
        pygal.XY, "sizes", f"Size of the file (all projects) at each backup{now}", (_BLUE,), (),
        {"size": values if len(values) > 1 else []}, no_data_text="no backup yet",
        show=lambda size: f"{size:,.{unit == 'MiB':d}f} {unit}", order_min=-1, opacity=".25", fill=True, dots_size=3,
        margin_right=40, x_value_formatter=lambda second: f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d}",
    )  # fmt: skip
    if len(values) > 1:
        step = (seconds[-1] - seconds[0]) / (drawing.LABELS - 1)
        chart.x_labels = [seconds[0] + step * number for number in range(drawing.LABELS)]
        chart.range = (0, largest / scale)
    return chart


def _placed(chart: drawing.Chart, x: int, y: int) -> ElementTree.Element:
    """The chart's own SVG element, at its place in the document, without scripts and what only they look for."""
    svg = drawing.drawn(chart)
    return _set(svg, x=x, y=y, width=drawing.WIDTH, height=drawing.HEIGHT)


def _node(parent: ElementTree.Element, tag: str, **attributes: object) -> ElementTree.Element:
    return _set(ElementTree.SubElement(parent, f"{{{drawing.SVG}}}{tag}"), **attributes)


def _set(element: ElementTree.Element, **attributes: object) -> ElementTree.Element:
    for name, value in attributes.items():
        element.set(name, str(value))
    return element


def _end(folder: str) -> str:
    """As much of the end of *folder* as the title has room for."""
    shown = folder
    while cell_len(shown) > _TITLE_COLUMNS:
        shown = shown[1:]
    return shown if shown == folder else f"…{shown}"


def _dollars(value: float) -> str:
    return f"${value:,.2f}"
