"""The texts put before a model: the package's own, or the user's file of the same name, which wins."""

import os
from importlib.resources import files

from playbook_db import settings
from playbook_db.errors import TemplateError
from playbook_db.rules.playbook import Playbook
from playbook_db.rules.rendering import PLACEHOLDER, fill_template, render_points


def load_template(name: str) -> str:
    """The template *name*, such as `playbook.txt`: `prompts/<name>` in Claude Code's folder, else the package's.

    Raises TemplateError where there is none, or the user's can't be read.
    """
    if os.path.basename(name) != name:
        raise TemplateError(f"{name!r} is no name of a template; it must not hold a path.")
    own = os.path.join(settings.claude_dir(), "prompts", name)
    try:
        with open(own, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(
            f"{own} can't be read ({error}). Mend it, or move it away to use the built-in one."
        ) from error
    shipped = files("playbook_db").joinpath("prompts", name)
    if not shipped.is_file():
        raise TemplateError(f"There is no template {name!r}, neither in {os.path.dirname(own)} nor in playbook-db.")
    return shipped.read_text(encoding="utf-8")


def render_playbook(playbook: Playbook) -> str:
    """The text that goes into a prompt; `""` for an empty playbook. Raises TemplateError."""
    return fill_points(render_points(playbook.points))


def fill_points(points_text: str) -> str:
    """*points_text* inside the template `playbook.txt`; `""` where it is empty."""
    if not points_text:
        return ""
    template = load_template("playbook.txt")
    if PLACEHOLDER not in template:
        own = os.path.join(settings.claude_dir(), "prompts", "playbook.txt")
        raise TemplateError(
            f"{own} lacks {PLACEHOLDER}, where the points go. Add it, or move the file away to use the built-in one."
        )
    return fill_template(template, points_text)
