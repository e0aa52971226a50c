"""Loading prompt templates: the user's if there is one, else the package's. Hooks use this, so it imports little."""

import os

from playbook_db import projects, settings
from playbook_db.domain.prompt_text import PLACEHOLDER, fill_template

_SHIPPED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "prompts")


def load_template(name: str) -> str:
    """Return the template *name*, such as `playbook.txt`, from `prompts/` in Claude Code's folder, else from the
    package. Raises SettingError if there is none, or if the user's can't be read."""
    if os.path.basename(name) != name:
        raise _error(f"{name!r} is not a template's name: it must be a file name without a path.")
    own = _own(name)
    for path in (own, os.path.join(_SHIPPED, name)):
        try:
            text = projects.read_plain(path).decode("utf-8")
            return text.replace("\r\n", "\n").replace("\r", "\n")  # as a file of text is read
        except FileNotFoundError:
            pass
        except (OSError, UnicodeDecodeError) as error:
            raise _error(f"{path} can't be read ({error}). Fix it, or move it away to use the built-in one.") from error
    raise _error(f"There is no template {name!r}, in {os.path.dirname(own)} or in playbook-db.")


def playbook_template() -> str:
    """Return the template `playbook.txt`, which must contain its placeholder. Raises SettingError."""
    template = load_template("playbook.txt")
    if PLACEHOLDER not in template:
        raise _error(
            f"{_own('playbook.txt')} lacks {PLACEHOLDER}, the placeholder for the points. "
            "Add it, or move the file away to use the built-in one."
        )
    return template


def fill_points(points_text: str) -> str:
    """Put *points_text* into the template `playbook.txt`. Return `""` if *points_text* is empty. Raises
    SettingError."""
    return fill_template(playbook_template(), points_text) if points_text else ""


def _own(name: str) -> str:
    return os.path.join(settings.claude_dir(), "prompts", name)


def _error(text: str) -> Exception:
    from playbook_db.errors import SettingError  # late: a hook without errors doesn't need it

    return SettingError(text)
