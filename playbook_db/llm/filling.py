"""Putting texts into a template. Pure."""

import re
from collections.abc import Iterable, Mapping

from playbook_db.errors import TemplateError


def fill(template: str, values: Mapping[str, str]) -> str:
    """*template* with each `{name}` replaced by its value, the first time that it stands there.

    Nothing else in the template is read, and nothing that was filled in: braces break and fill nothing.
    """
    if not values:
        return template
    waiting = dict(values)

    def value(match: re.Match[str]) -> str:
        return waiting.pop(match[1], match[0])

    return _placeholders(values).sub(value, template)


def split_stable(template: str, names: Iterable[str]) -> tuple[str, str]:
    """*template* before its first placeholder, which is the same in every call, and from there on."""
    first = _placeholders(names).search(template)
    place = first.start() if first else len(template)
    return template[:place], template[place:]


def require(template: str, names: Iterable[str], file: str) -> None:
    """Raise TemplateError where *template*, the text of *file*, lacks one of the placeholders."""
    missing = [f"{{{name}}}" for name in names if f"{{{name}}}" not in template]
    if missing:
        raise TemplateError(
            f"Your template {file} lacks {', '.join(missing)}. Add it, or move the file away to use the built-in one."
        )


def enclosed(text: str, tag: str) -> str:
    """*text* as it may stand between `<tag>` and `</tag>`: it can't close them itself."""
    return re.sub(rf"<(?=/\s*{re.escape(tag)})", "<\u200b", text, flags=re.IGNORECASE)


def _placeholders(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\{(" + "|".join(re.escape(name) for name in names) + r")\}")
