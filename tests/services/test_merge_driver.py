"""The merge driver with a database."""

import errno
from pathlib import Path
from unittest.mock import Mock

import pytest

from playbook_db import files
from playbook_db.errors import PlaybookFileError
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project
from playbook_db.services.sharing import merge_driver, mirror

pytestmark = pytest.mark.sqlite


@pytest.mark.parametrize("ours", ["earlier", "later"])
def test_earlier_revision_is_part_of_the_later_one(project: Project, folder: Path, ours: str) -> None:
    """Its votes don't count twice, and hand edits are merged."""
    mirror.switch(project, on=True)
    edit.add(project, "use type hints")
    states = {}
    for name in ("base", "earlier", "later"):
        mirror.sync(project)
        states[name] = (folder / ".claude" / "playbook.json").read_bytes()
        edit.vote(project, "oth-001", "helpful")
    edited = states["earlier"].replace(b"use type hints", b"use type hints everywhere")

    results = []
    for earlier in (states["earlier"], edited):
        sides = [earlier, states["later"]] if ours == "earlier" else [states["later"], earlier]
        for name, data in zip("bot", (states["base"], *sides), strict=True):
            (folder / name).write_bytes(data)
        url = project.store.url.render_as_string(hide_password=False)
        merge_driver.merge("b", "o", "t", url=url, folder=str(folder))
        results.append((folder / "o").read_bytes())

    assert results[0] == states["later"]
    assert b"everywhere" in results[1]
    assert b'"helpful": 2' in results[1]


def test_unwritable_file_is_a_conflict(project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("b", ""), ("o", '{"sections": {}}'), ("t", '{"sections": {"OTHERS": ["new"]}}')):
        (folder / name).write_text(text)
    monkeypatch.setattr(files, "replace_file", Mock(side_effect=OSError(errno.ENOSPC, "no room")))

    with pytest.raises(PlaybookFileError, match=r"can't be written: no room"):
        merge_driver.merge("b", "o", "t", url=f"sqlite:///{project.store.where}", folder=str(folder))
