"""The page of the commands says what the commands themselves say."""

import runpy

from tests.docs.test_readme import ROOT


def test_commands_page_is_what_the_help_says() -> None:
    """Made anew by `make docs` where it isn't."""
    made = runpy.run_path(str(ROOT / "docs" / "make_commands.py"))["page"]()

    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == made
