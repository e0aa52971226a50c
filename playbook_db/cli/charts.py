"""The numbers of `stats` as a picture: one SVG document, its charts drawn by pygal (the extra `web`).

It holds no script and refers to nothing outside: what pygal adds of that is taken out.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

import pygal
from pygal.style import Style
from rich.cells import cell_len

from playbook_db.cli.output import count_of, one_line, readable_size
from playbook_db.domain.times import local
from playbook_db.services.statistics import Growth, Statistics, Week

MOST_BARS = 60  # weeks; more of them are shown as months
_SVG = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT, _GAP, _HEAD = 590, 330, 16, 70  # of a chart, between charts, of the title; in pixels
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_INK, _PAPER, _CARD = "#24292f", "#f6f8fa", "#ffffff"
_GREEN, _RED, _PALE, _BLUE, _VIOLET, _AMBER = "#2da44e", "#cf222e", "#d0d7de", "#0969da", "#8250df", "#bf8700"
_TITLE_COLUMNS = 80  # of the folder's end; a Chinese character takes two
_LABELS = 6  # dates along a chart; more would run into one another

_Chart = Any  # pygal has no types

# pygal's finder serves maps, which nobody draws here, and Python 3.11 warns of it at every import that follows.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]


def picture(numbers: Statistics) -> bytes:
    """The statistics as an SVG document: six charts under a title."""
    charts = [*_bar_charts(numbers), _sizes(numbers.time, numbers.file)]
    width = 2 * _WIDTH + 3 * _GAP
    height = _HEAD + (len(charts) + 1) // 2 * (_HEIGHT + _GAP)
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.Element(f"{{{_SVG}}}svg", viewBox=f"0 0 {width} {height}", role="img")
    _set(root, width=width, height=height)
    title = f"The playbook of {_end(one_line(numbers.project))}"
    subtitle = f"{local(numbers.time)[:10]} · {count_of(numbers.live, 'live point')}, "
    subtitle += count_of(sum(numbers.revisions.values()), "revision")
    _node(root, "title").text = title
    _node(root, "rect", width=width, height=height, fill=_PAPER)
    for text, y, size, weight in ((title, 32, 20, 600), (subtitle, 54, 13, 400)):
        style = {"font-family": _FONT, "font-size": size, "font-weight": weight, "fill": _INK}
        _node(root, "text", x=_GAP, y=y, **style).text = text
    for place, chart in enumerate(charts):
        row, column = divmod(place, 2)
        x, y = _GAP + column * (_WIDTH + _GAP), _HEAD + row * (_HEIGHT + _GAP)
        _node(root, "rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=6, fill=_CARD)
        root.append(_placed(chart, x, y))
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _bar_charts(numbers: Statistics) -> list[_Chart]:
    period, labels, weeks = _periods(numbers.weeks)
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
        _chart(pygal.StackedBar, "votes", f"Votes by {period}", (_GREEN, _RED, _PALE), labels, votes),
        _chart(pygal.HorizontalStackedBar, "sections", "Points by section", (_BLUE, _PALE),
               [each.section.capitalize() for each in sections], points, max_scale=5),
        _chart(pygal.HorizontalBar, "use", f"Points in sessions{since}", (_BLUE,), shares, {"times": times},
               max_scale=5),
        _chart(pygal.Bar, "ages", "Live points by age", (_BLUE,), groups, {"points": ages}, print_values=True,
               print_values_position="top"),
        _chart(pygal.Bar, "costs", cost, (_AMBER,), labels, {"cost": costs}, show=_dollars, order_min=-2),
    ]  # fmt: skip


def _sizes(time: str, file: Growth) -> _Chart:
    sizes = [*file.backups, *([(time, file.size_bytes)] if file.size_bytes is not None else [])]
    largest = max((size for _, size in sizes), default=0)
    unit, scale = ("MiB", 1024**2) if largest >= 1024**2 else ("KiB", 1024)  # of the chart, so that its steps are round
    now = "" if file.size_bytes is None else f", {readable_size(file.size_bytes)} now"
    seconds = [datetime.fromisoformat(time).timestamp() for time, _ in sizes]
    values = [(second, size / scale) for second, (_, size) in zip(seconds, sizes, strict=True)]
    chart = _chart(
        pygal.XY, "sizes", f"Size of the file (all projects) at each backup{now}", (_BLUE,), (),
        {"size": values if len(values) > 1 else []}, no_data_text="no backup yet",
        show=lambda size: f"{size:,.{unit == 'MiB':d}f} {unit}", order_min=-1, opacity=".25", fill=True, dots_size=3,
        margin_right=40, x_value_formatter=lambda second: f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d}",
    )  # fmt: skip
    if len(values) > 1:
        step = (seconds[-1] - seconds[0]) / (_LABELS - 1)
        chart.x_labels = [seconds[0] + step * number for number in range(_LABELS)]
        chart.range = (0, largest / scale)
    return chart


def _periods(weeks: Sequence[Week]) -> tuple[str, list[str], list[list[Week]]]:
    """The bars of a chart: a week each, or a month each (the one that the week begins in) where there are too many."""
    period, length = ("month", 7) if len(weeks) > MOST_BARS else ("week", 10)
    groups = groupby(weeks, key=lambda week: week.monday.isoformat()[:length])
    bars = [(label, list(some)) for label, some in groups]
    return period, [label for label, _ in bars], [some for _, some in bars]


def _chart(
    kind: Callable[..., _Chart],
    key: str,
    title: str,
    colours: Sequence[str],
    labels: Sequence[str],
    series: Mapping[str, Sequence[Any]],
    *,
    show: Callable[[float], str] = lambda value: f"{value:,.0f}",
    opacity: str = "1",
    **options: object,
) -> _Chart:
    """A chart of the *series*, by name, or of none where all are zero; *key* names it within the document, *show* words
    its values."""
    style = Style(
        font_family=_FONT, background="transparent", plot_background="transparent", colors=colours, opacity=opacity,
        value_colors=(_INK,) * len(colours), foreground=_INK, foreground_strong=_INK, foreground_subtle=_PALE,
        guide_stroke_color=_PALE, major_guide_stroke_color=_PALE, guide_stroke_dasharray="none", transition="none",
        major_guide_stroke_dasharray="none", title_font_size=15, label_font_size=11, major_label_font_size=11,
        legend_font_size=12, value_font_size=12, no_data_font_size=14,
    )  # fmt: skip
    settings = {
        "style": style, "js": (), "width": _WIDTH, "height": _HEIGHT, "margin": 14, "title": title,
        "x_labels": list(labels), "truncate_label": -1, "value_formatter": show, "max_scale": 8, "order_min": 0,
        "show_legend": len(series) > 1, "legend_at_bottom": True, "legend_at_bottom_columns": len(colours),
        "legend_box_size": 11, "no_data_text": "nothing yet",
    }  # fmt: skip
    chart = kind(**(settings | options))
    chart.uuid = key
    if len(labels) > _LABELS:
        chart.config(show_minor_x_labels=False, x_labels_major_every=-(-len(labels) // _LABELS))
    if any(value for values in series.values() for value in values):
        for name, values in series.items():
            chart.add(name, values)
    else:
        chart.config(show_x_labels=False, show_y_labels=False, show_x_guides=False, show_y_guides=False)
    return chart


def _placed(chart: _Chart, x: int, y: int) -> ElementTree.Element:
    """The chart's own SVG element, at its place in the document, without scripts and what only they look for."""
    svg = ElementTree.fromstring(chart.render())  # noqa: S314 - pygal has just written it
    for parent in list(svg.iter()):
        for child in list(parent):
            child.attrib.pop("id", None)
            if child.tag == f"{{{_SVG}}}script":
                parent.remove(child)
    return _set(svg, x=x, y=y, width=_WIDTH, height=_HEIGHT)


def _node(parent: ElementTree.Element, tag: str, **attributes: object) -> ElementTree.Element:
    return _set(ElementTree.SubElement(parent, f"{{{_SVG}}}{tag}"), **attributes)


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
