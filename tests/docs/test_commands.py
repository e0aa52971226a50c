"""The pages of the commands say what the commands themselves say."""

import re
import runpy

from tests.docs.test_readme import ROOT


def test_commands_page_is_what_the_help_says() -> None:
    """Made anew by `make docs` where it isn't."""
    made = runpy.run_path(str(ROOT / "docs" / "make_commands.py"))["page"]()

    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == made


def test_those_that_change_something_are_not_for_the_model_to_call() -> None:
    """It may look by itself; a change is asked for by the user. The page names those that are marked."""
    marked = {
        file.stem
        for file in (ROOT / "commands").glob("*.md")
        if re.search(
            r"\A---\n(?:.*\n)*?disable-model-invocation: true\n(?:.*\n)*?---\n", file.read_text(encoding="utf-8")
        )
    }
    page = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8")
    (said,) = re.findall(r"^Claude can't start (.+) by itself\.$", page, re.MULTILINE)

    assert marked == {"add", "private", "retire", "undo", "vote", "web"} == {*re.findall(r"`(\w+)`", said)}
