"""README.md and ARCHITECTURE.md: short, and true of the code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "playbook_db"
MAX_LINES = 150


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_the_two_pages_for_newcomers_stay_short(name: str) -> None:
    """What is longer belongs into docs/."""
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))])
def test_links_lead_to_files(page: Path) -> None:
    """A link to a file of the repository leads to one, and to a heading that is there where it names one."""
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8"))
    files = [((page.parent / link) if link else page, heading) for link, heading in links]

    assert {str(file) for file, _ in files if not file.exists()} == set()
    assert {f"{file}#{heading}" for file, heading in files if heading and heading not in _headings(file)} == set()


def test_no_advice_names_a_package_that_no_index_has() -> None:
    """Before the first release that name would be anybody's on an index. README alone names it, with that condition."""
    texts = [
        *PACKAGE.rglob("*.py"),
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "commands").glob("*.md"),
    ]
    advice = re.compile(r"(?:pip|uv tool|pipx|uvx)\b[^\n`]* ['\"]?playbook-db\b")

    assert [path.name for path in texts if advice.search(path.read_text(encoding="utf-8"))] == ["README.md"]
    assert "Before the first of them don't install by that name" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_architecture_names_each_module() -> None:
    """Its table has each module of the package once, and none that isn't there."""
    table = ARCHITECTURE.partition("## Modules")[2].partition("Outside the package")[0]
    named = [name for row in table.splitlines() if row.startswith("| `") for name in _modules_in(row)]
    there = {
        str(path.relative_to(PACKAGE).with_suffix("")) for path in PACKAGE.glob("*/**/*.py") if path.stem != "__init__"
    }

    assert sorted(named) == sorted(there)


def _headings(page: Path) -> set[str]:
    """What GitHub calls the headings of a *page* in links."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def _modules_in(row: str) -> list[str]:
    """The modules in a row of the table, by their paths; what stands in brackets explains, and names none."""
    package, modules = re.sub(r"\([^)]*\)", "", row).strip("| ").split(" | ")
    folder = top = re.findall(r"`(.*?)/`", package)[0]
    paths = []
    for name in re.findall(r"`(.*?)`", modules):
        if name.endswith("/"):
            folder = f"{top}/{name[:-1]}"
        else:
            paths.append(f"{folder}/{name}")
    return paths
