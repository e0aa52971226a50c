"""The statistics as a picture: one SVG document that stands for itself, its charts drawn by pygal.

No script and no reference to anything outside: what pygal adds of that is taken out.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

import pygal
from pygal.style import Style
from rich.cells import cell_len

from playbook_db.cli.output import count_of, one_line, readable_size
from playbook_db.domain.sections import SLUG_SECTIONS
from playbook_db.services.statistics import Statistics, Week

MOST_BARS = 60  # weeks; more of them are shown as months
_SVG = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT, _GAP, _HEAD = 590, 330, 16, 70  # of a chart, between charts, of the title; in pixels
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_INK, _PAPER, _CARD = "#24292f", "#f6f8fa", "#ffffff"
_GREEN, _RED, _PALE, _BLUE, _VIOLET, _AMBER = "#2da44e", "#cf222e", "#d0d7de", "#0969da", "#8250df", "#bf8700"
_TITLE_COLUMNS = 80  # of the folder's end; a Chinese character takes two
_LABELS = 6  # dates along a chart; more would run into one another

_Chart = Any  # pygal tells no types


def picture(found: Statistics) -> bytes:
    """The statistics as an SVG document: six charts under a title."""
    charts = [_votes(found), _sections(found), _use(found), _ages(found), _costs(found), _sizes(found)]
    width = 2 * _WIDTH + 3 * _GAP
    height = _HEAD + (len(charts) + 1) // 2 * (_HEIGHT + _GAP)
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.Element(
        f"{{{_SVG}}}svg", width=str(width), height=str(height), viewBox=f"0 0 {width} {height}", role="img"
    )
    title = f"The playbook of {_end(one_line(found.project))}"
    _node(root, "title").text = title
    _node(root, "rect", width=str(width), height=str(height), fill=_PAPER)
    for text, y, size, weight in ((title, 32, 20, "600"), (_told(found), 54, 13, "400")):
        style = {"font-family": _FONT, "font-size": str(size), "font-weight": weight, "fill": _INK}
        _node(root, "text", x=str(_GAP), y=str(y), **style).text = text
    for place, chart in enumerate(charts):
        row, column = divmod(place, 2)
        x, y = _GAP + column * (_WIDTH + _GAP), _HEAD + row * (_HEIGHT + _GAP)
        _node(root, "rect", x=str(x), y=str(y), width=str(_WIDTH), height=str(_HEIGHT), rx="6", fill=_CARD)
        root.append(_placed(chart, x, y))
    drawn: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return drawn


def _end(folder: str) -> str:
    """As much of the end of *folder* as the title has room for."""
    shown = folder
    while cell_len(shown) > _TITLE_COLUMNS:
        shown = shown[1:]
    return shown if shown == folder else f"…{shown}"


def _told(found: Statistics) -> str:
    revisions = count_of(sum(found.revisions.values()), "revision")
    return f"{found.time[:10]} · {count_of(found.live, 'live point')}, {revisions}"


def _votes(found: Statistics) -> _Chart:
    period, labels, weeks = _periods(found.weeks)
    chart = _chart(pygal.StackedBar, "votes", f"Votes by {period}", (_GREEN, _RED, _PALE), labels)
    if any(week.helpful or week.harmful or week.neutral for week in found.weeks):
        chart.add("helpful", [sum(week.helpful for week in some) for some in weeks])
        chart.add("harmful", [sum(week.harmful for week in some) for some in weeks])
        chart.add("neutral", [sum(week.neutral for week in some) for some in weeks])
    return chart


def _sections(found: Statistics) -> _Chart:
    lines = found.sections[::-1]  # pygal begins at the bottom
    labels = [SLUG_SECTIONS[section.slug].capitalize() for section in lines]
    chart = _chart(pygal.HorizontalStackedBar, "sections", "Points by section", (_BLUE, _PALE), labels, max_scale=5)
    if found.live or found.retired:
        chart.add("live", [section.live for section in lines])
        chart.add("retired", [section.retired for section in lines])
    return chart


def _use(found: Statistics) -> _Chart:
    use = found.use
    bars = (
        ("shown", use.shown, _BLUE), ("cited", use.cited, _VIOLET),
        ("helpful votes", use.helpful, _GREEN), ("harmful votes", use.harmful, _RED),
    )[::-1]  # fmt: skip
    labels = [f"{name}: {count:,} ({use.share_of_shown(count) or 0:.1%})" for name, count, _ in bars]
    since = f" since {use.shown_since[:10]}" if use.shown_since else ""
    title = f"Points in sessions{since}"
    chart = _chart(pygal.HorizontalBar, "use", title, (_BLUE,), labels, show_legend=False, max_scale=5)
    if use.shown:
        chart.add("times", [{"value": count, "color": colour} for _, count, colour in bars])
    return chart


def _ages(found: Statistics) -> _Chart:
    labels, counts = zip(*found.age_groups, strict=True)
    chart = _chart(pygal.Bar, "ages", "Live points by age", (_BLUE,), labels, show_legend=False)
    if found.live:
        chart.add("points", counts)
        chart.config(print_values=True, print_values_position="top")
    return chart


def _costs(found: Statistics) -> _Chart:
    period, labels, weeks = _periods(found.weeks)
    title = f"What learning cost by {period}: {_dollars(found.learning.cost_usd)} in all"
    chart = _chart(pygal.Bar, "costs", title, (_AMBER,), labels, show=_dollars, show_legend=False, order_min=-2)
    if found.learning.calls:
        chart.add("cost", [sum(week.cost_usd for week in some) for some in weeks])
    return chart


def _sizes(found: Statistics) -> _Chart:
    sizes = [(datetime.fromisoformat(time), size) for time, size in found.file.backups]
    if found.file.size_bytes is not None:
        sizes.append((datetime.fromisoformat(found.time), found.file.size_bytes))
    largest = max((size for _, size in sizes), default=0)
    unit, scale = ("MiB", 1024**2) if largest >= 1024**2 else ("KiB", 1024)  # of the chart, so that its steps are round
    now = "" if found.file.size_bytes is None else f", {readable_size(found.file.size_bytes)} now"
    chart = _chart(
        pygal.DateTimeLine, "sizes", f"Size of the file (all projects) at each backup{now}",
        (_BLUE,), (), no_data_text="no backup yet",
        show=lambda size: f"{size:,.{unit == 'MiB':d}f} {unit}", order_min=-1, opacity=".25", show_legend=False,
        fill=True, dots_size=3, margin_right=40, x_value_formatter=lambda moment: f"{moment:%Y-%m-%d}",
    )  # fmt: skip
    if len(sizes) > 1:
        first, last = sizes[0][0], sizes[-1][0]
        step = (last - first) / (_LABELS - 1)
        chart.x_labels = [first + step * number for number in range(_LABELS)]
        chart.range = (0, largest / scale)
        chart.add("size", [(moment, size / scale) for moment, size in sizes])
    return chart


def _periods(weeks: Sequence[Week]) -> tuple[str, list[str], list[list[Week]]]:
    """The bars of a chart: a week each, or a month each (the one that the week begins in) where there are too many."""
    period, length = ("month", 7) if len(weeks) > MOST_BARS else ("week", 10)
    groups = groupby(weeks, key=lambda week: week.monday.isoformat()[:length])
    found = [(label, list(some)) for label, some in groups]
    return period, [label for label, _ in found], [some for _, some in found]


def _chart(
    kind: Callable[..., _Chart],
    key: str,
    title: str,
    colours: Sequence[str],
    labels: Sequence[str],
    *,
    show: Callable[[float], str] = lambda value: f"{value:,.0f}",
    opacity: str = "1",
    **options: object,
) -> _Chart:
    """An empty chart of one size and one style; *key* names it within the document, *show* words its values."""
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
        "legend_at_bottom": True, "legend_at_bottom_columns": len(colours), "legend_box_size": 11,
        "no_data_text": "nothing yet",
    }  # fmt: skip
    chart = kind(**(settings | options))
    chart.uuid = key
    if len(labels) > _LABELS:
        chart.config(show_minor_x_labels=False, x_labels_major_every=-(-len(labels) // _LABELS))
    return chart


def _placed(chart: _Chart, x: int, y: int) -> ElementTree.Element:
    """The chart's own SVG element, at its place in the document, without scripts and what only they look for."""
    if not chart.raw_series:
        chart.config(show_x_labels=False, show_y_labels=False, show_x_guides=False, show_y_guides=False)
    drawn = ElementTree.fromstring(chart.render())  # noqa: S314 - pygal has just written it
    for parent in list(drawn.iter()):
        for child in list(parent):
            child.attrib.pop("id", None)
            if child.tag == f"{{{_SVG}}}script":
                parent.remove(child)
    for name, value in (("x", x), ("y", y), ("width", _WIDTH), ("height", _HEIGHT)):
        drawn.set(name, str(value))
    return drawn


def _node(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, f"{{{_SVG}}}{tag}", attributes)


def _dollars(value: float) -> str:
    return f"${value:,.2f}"
