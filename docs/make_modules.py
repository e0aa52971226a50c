"""Writes docs/internals/modules.md from the first paragraph of each module: `make docs`. A test compares the two."""

import ast
import sys
import textwrap
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "internals" / "modules.md"


def page() -> str:
    """The page: each folder of the package, and each module in it with the first paragraph of its docstring."""
    modules = [path for path in (ROOT / "playbook_db").rglob("*.py") if path.stem not in ("__init__", "__main__")]
    folders = groupby(sorted(modules, key=lambda path: (path.parent, path.name)), key=lambda path: path.parent)
    parts = ["# Modules\n\nThis page is made from the first paragraph of each module, by `make docs`.\n"]
    for folder, paths in folders:
        parts.append(f"## `{folder.relative_to(ROOT)}/`\n\n" + "".join(map(_line, paths)))
    return "\n".join(parts)


def _line(path: Path) -> str:
    about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
    text = f"[`{path.stem}`](../../{path.relative_to(ROOT)}): {about}"
    return textwrap.fill(text, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE} is up to date\n")
