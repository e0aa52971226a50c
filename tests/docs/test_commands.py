"""The pages of the commands agree with the commands."""

import re
import runpy

from tests.docs.test_readme import ROOT


def test_commands_page_equals_the_help() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_commands.py"))["page"]()

    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == made, "run: make docs"


def test_claude_cannot_start_changing_commands() -> None:
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
