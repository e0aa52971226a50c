"""The user's own playbook: its key, its kind, the names of its points."""

from pathlib import Path

import pytest
from sqlalchemy import select

from playbook_db import projects
from playbook_db.domain import playbook_file
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.project import Project, list_projects, read_playbook
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import Store
from playbook_db.store.tables import playbooks


def names_in(project: Project) -> list[str]:
    return list(read_playbook(project).by_name)


def in_file(project: Project, name: str, text: str, *, replace: bool = False) -> None:
    reading = playbook_file.decode(
        f'{{"key_points": [{{"name": "{name}", "text": "{text}"}}]}}'.encode(), source="a file"
    )
    import_export.import_playbook(project, reading, source="a file", replace=replace)


@pytest.mark.postgres
def test_personal_playbook_begins_with_a_write(store: Store, project: Project) -> None:
    own = Project.of_user(store)
    edit.add(project, "use uv here")
    assert not read_playbook(own).points

    edit.add(own, "say it briefly", section="pref")

    with store.snapshot() as connection:
        kinds = dict(connection.execute(select(playbooks.c.key, playbooks.c.kind)).all())
    assert kinds == {project.key: "project", own.key: "user"}
    assert [each.key for each in list_projects(store)] == [project.key]
    assert names_in(own) == ["upref-001"]
    assert names_in(project) == ["oth-001"]


@pytest.mark.postgres
def test_each_role_of_a_server_has_its_own(store: Store) -> None:
    key = Project.of_user(store).key

    assert projects.is_users(key)
    assert (key == projects.USER_KEY) is not store.is_shared
    if store.is_shared:
        assert key == f"user:{store.url.username}"


def test_personal_names_are_numbered_separately(store: Store) -> None:
    own = Project.of_user(store)
    for text in ("one", "two"):
        edit.add(own, text, section="pat")
    edit.retire(own, "upat-002")

    edit.add(own, "three", section="pat")

    assert names_in(own) == ["upat-001", "upat-003"]


def test_names_of_the_other_kind_are_replaced(store: Store, project: Project) -> None:
    own = Project.of_user(store)
    for _ in range(2):
        in_file(project, "upat-007", "from the user's own")
        in_file(own, "kpt_007", "from a flat file")

    assert names_in(project) == ["oth-001"]
    assert names_in(own) == ["uoth-001"]


def test_prompt_has_project_and_personal_points(store: Store, project: Project) -> None:
    own = Project.of_user(store)
    edit.add(project, "use uv here")
    edit.add(own, "say it briefly")

    text = import_export.prompt(project)

    assert text.index("use uv here") < text.index("## OTHERS (the user's own") < text.index("say it briefly")
    assert "use uv here" not in import_export.prompt(own)
    assert "say it briefly" in import_export.prompt(own)


def test_mirror_brings_no_personal_names(project: Project) -> None:
    edit.add(project, "use uv here")
    mirror.switch(project, on=True)
    path = Path(project.mirror_path or "")
    path.write_text(path.read_text().replace("oth-001", "upat-001").replace("use uv here", "use uv, not pip"))

    mirror.sync(project)

    assert names_in(project) == ["oth-002"]
    assert '"oth-002"' in path.read_text()
    assert "upat-001" not in path.read_text()
