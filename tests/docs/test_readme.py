"""README.md and ARCHITECTURE.md are short, and agree with the code."""

import re
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.llm import anthropic_api, choose, prices
from playbook_db.llm.model import CHARACTERS_A_TOKEN
from tests.docs.consoles import examples

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "playbook_db"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE_LINK = re.compile(r"\[`([\w.]+)`\]\(([^)#]*\.py)\)")


@pytest.mark.parametrize(("name", "most"), [("README.md", 900), ("ARCHITECTURE.md", 1200)])
def test_pages_for_newcomers_stay_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= most


def test_readme_starts_with_demo_and_test() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    top, development = page.partition("\n## ")[0], page.partition("\n## Development\n")[2]

    for command in ("make demo", "make test"):
        assert re.search(rf"^{command}\b", top, re.MULTILINE)
        assert f"`{command}`" in development
    assert {"demo", "test"} <= set(re.findall(r"^([\w-]+):.* ## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert examples(page)[0].command != "playbook init"


def test_make_demo_says_what_it_installs() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\n$(RUNS): ")[2].partition("\n\n")[0]
    check, first, *_, install, _ = recipe.splitlines()[1:]

    assert "playbook-db needs Python 3.11" in check
    assert first.startswith("\t@echo")
    assert install == "\t@$(INSTALL) -e ."


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_definitions(page: Path) -> None:
    links = CODE_LINK.findall(page.read_text(encoding="utf-8"))

    assert [(name, file) for name, file in links if not _defines(page.parent / file, name.split(".")[-1])] == []


def _defines(file: Path, name: str) -> bool:
    return file.stem == name or bool(
        re.search(rf"^ *(?:(?:def|class) {name}\b|{name}\b.* = )", file.read_text(encoding="utf-8"), re.MULTILINE)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    files = [((page.parent / link) if link else page, heading) for link, heading in links]

    assert {str(file) for file, _ in files if not file.exists()} == set()
    assert {f"{file}#{heading}" for file, heading in files if heading and heading not in _headings(file)} == set()


def test_nothing_says_to_install_from_an_index() -> None:
    """Before the first release, anybody could take that name."""
    texts = [
        *PACKAGE.rglob("*.py"),
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "commands").glob("*.md"),
    ]
    advice = re.compile(r"(?:pip|uv tool|pipx|uvx)\b(?! uninstall)[^\n`]* ['\"]?playbook-db\b")

    assert [path.name for path in texts if advice.search(path.read_text(encoding="utf-8"))] == []
    assert "not on PyPI yet" in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_dollars_follow_from_the_prices() -> None:
    """They are for a session and for a day at most."""
    session = choose.TOKENS_A_PART + 10 * choose.TOKENS_A_PROMPT + 100 * choose.TOKENS_A_CALL
    tokens = session + 4 * 40 * 150 // CHARACTERS_A_TOKEN
    pages = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "docs/cost-and-privacy.md", "docs/trouble.md")
    }

    for amount in (tokens, settings.DAILY_TOKENS):
        output = int(amount * choose._OUTPUT_SHARE)
        dollars = prices.cost_usd(anthropic_api.DEFAULT_MODEL, input_tokens=amount, output_tokens=output)
        assert f"{amount:,}" in pages["docs/cost-and-privacy.md"]
        assert [name for name, text in pages.items() if f"${dollars:.2f}" not in text] == []


def test_index_names_each_decision() -> None:
    folder = ROOT / "docs" / "decisions"
    named = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))

    assert named == sorted(page.name for page in folder.glob("0*.md"))


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
