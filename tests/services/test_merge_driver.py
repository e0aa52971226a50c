"""What the merge driver asks a database of each kind."""

from pathlib import Path

import pytest

from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.sharing import merge_driver, mirror


@pytest.mark.parametrize("ours", ["earlier", "later"])
def test_earlier_revision_is_part_of_the_later_one(project: Project, folder: Path, ours: str) -> None:
    """Its votes don't count twice, and hand edits are merged."""
    mirror.switch(project, on=True)
    states = {}
    for name in ("base", "earlier", "later"):
        if name == "base":
            edit.add(project, "use type hints")
        else:
            edit.vote(project, "oth-001", "helpful")
        mirror.sync(project)
        states[name] = (folder / ".claude" / "playbook.json").read_bytes()
    edited = states["earlier"].replace(b"use type hints", b"use type hints everywhere")
    theirs = "later" if ours == "earlier" else "earlier"
    url = project.store.url.render_as_string(hide_password=False)
    results = []
    for changed in (states, {**states, "earlier": edited}):
        for name, data in (("b", changed["base"]), ("o", changed[ours]), ("t", changed[theirs])):
            (folder / name).write_bytes(data)
        merge_driver.merge("b", "o", "t", url=url, folder=str(folder))
        results.append((folder / "o").read_bytes())

    assert results[0] == states["later"]
    assert b"everywhere" in results[1]
    assert b'"helpful": 2' in results[1]
