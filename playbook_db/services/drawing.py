"""Charts drawn by pygal (the extra `web`), as `stats` and the pages show them, without scripts.

What pygal adds to look things up elsewhere, and what only its script looks for, is taken out.
"""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of the library are no business of the user's
    import pygal
    from pygal.style import Style

SVG = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT = 590, 330  # of a chart, in pixels
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
INK, PALE = "#24292f", "#d0d7de"
LABELS = 6  # dates along a chart; more would run into one another

Chart = Any  # pygal has no types

# pygal's finder serves maps, which nobody draws here, and Python 3.11 warns of it at every import that follows.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]


def chart(
    kind: Callable[..., Chart],
    key: str,
    title: str,
    colours: Sequence[str],
    labels: Sequence[str],
    series: Mapping[str, Sequence[Any]],
    *,
    show: Callable[[float], str] = lambda value: f"{value:,.0f}",
    opacity: str = "1",
    **options: object,
) -> Chart:
    """A chart of the *series*, by name, or of none where all are zero; *key* names it within the document, *show* words
    its values."""
    style = Style(
        font_family=FONT, background="transparent", plot_background="transparent", colors=colours, opacity=opacity,
        value_colors=(INK,) * len(colours), foreground=INK, foreground_strong=INK, foreground_subtle=PALE,
        guide_stroke_color=PALE, major_guide_stroke_color=PALE, guide_stroke_dasharray="none", transition="none",
        major_guide_stroke_dasharray="none", title_font_size=15, label_font_size=11, major_label_font_size=11,
        legend_font_size=12, value_font_size=12, no_data_font_size=14,
    )  # fmt: skip
    settings = {
        "style": style, "js": (), "width": WIDTH, "height": HEIGHT, "margin": 14, "title": title or None,
        "x_labels": list(labels), "truncate_label": -1, "value_formatter": show, "max_scale": 8, "order_min": 0,
        "show_legend": len(series) > 1, "legend_at_bottom": True, "legend_at_bottom_columns": len(colours),
        "legend_box_size": 11, "no_data_text": "nothing yet",
    }  # fmt: skip
    made = kind(**(settings | options))
    made.uuid = key
    if len(labels) > LABELS:
        made.config(show_minor_x_labels=False, x_labels_major_every=-(-len(labels) // LABELS))
    if any(value for values in series.values() for value in values):
        for name, values in series.items():
            made.add(name, values)
    else:
        made.config(show_x_labels=False, show_y_labels=False, show_x_guides=False, show_y_guides=False)
    return made


def drawn(made: Chart) -> ElementTree.Element:
    """The chart as an SVG element of its own, without scripts and what only they look for."""
    svg = ElementTree.fromstring(made.render())  # noqa: S314 - pygal has just written it
    for parent in list(svg.iter()):
        for child in list(parent):
            child.attrib.pop("id", None)
            if child.tag == f"{{{SVG}}}script":
                parent.remove(child)
    return svg


def within_page(made: Chart, *, title: str) -> str:
    """The chart as a part of a page, which has its look from the page's own style sheet, by pygal's classes; *title* is
    what is said of it to who can't see it. A value is told where somebody points at it."""
    svg = drawn(made)
    for parent in list(svg.iter()):
        parent.attrib.pop("style", None)
        for child in list(parent):
            if child.tag in _LOOK or child.attrib.get("class") == "plot tooltip-overlay":
                parent.remove(child)
    for parent in list(svg.iter()):
        _tell_values(parent)
    svg.attrib.pop("id", None)
    svg.attrib.update({"role": "img", "aria-label": title})
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(svg, encoding="unicode")


def _tell_values(parent: ElementTree.Element) -> None:
    """Let each value beside the shape that it is of be the shape's title, which a browser shows."""
    shape: ElementTree.Element | None = None
    told: dict[str, str] = {}
    for child in list(parent):
        if child.tag != _DESC:
            _say(shape, told)
            shape, told = child, {}
        else:
            told[child.attrib.get("class", "")] = child.text or ""
            parent.remove(child)
    _say(shape, told)


def _say(shape: ElementTree.Element | None, told: Mapping[str, str]) -> None:
    if shape is not None and "value" in told:
        words = filter(None, (told.get("x_label"), told["value"]))
        ElementTree.SubElement(shape, f"{{{SVG}}}title").text = ": ".join(words)


_LOOK = {f"{{{SVG}}}{name}" for name in ("defs", "style", "title")}
_DESC = f"{{{SVG}}}desc"
