"""Joining and leaving a team, and where its password is kept."""

import json
import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy.engine import URL, make_url

from playbook_db.domain import prompt_text
from playbook_db.errors import (
    DatabaseError,
    MirrorError,
    NoPasswordError,
    ProjectError,
    ServerError,
    SettingError,
)
from playbook_db.services import opening
from playbook_db.services.playbook import edit, forget, import_export, review
from playbook_db.services.playbook.review import Decision
from playbook_db.services.project import Project, find_membership, read_playbook
from playbook_db.services.reading import status
from playbook_db.services.sharing import joining, mirror, team
from playbook_db.store import sqlite_open
from playbook_db.store.engine import Store, open_store
from playbook_db.store.postgres import grants
from playbook_db.store.queries import hook_queries
from playbook_db.store.team import memberships
from tests import postgres
from tests.members import NAME, Member, NewMember

pytestmark = pytest.mark.slow  # a server
AWAY = "postgresql://ann@127.0.0.1:9/playbooks"
ODD = "p:w\\ @%/?#&'\"é\u2028$(x)"


@pytest.fixture
def ann(new_member: NewMember) -> Member:
    made = new_member("ann")
    made.add("use uv", "use ruff")
    return made


@pytest.fixture
def shared(team_server: Store) -> Project:
    return Project(team_server, NAME)


def _as_user(url: str, user: str, password: str, right: str | None = None) -> URL:
    """*url* for a *user* of the server whom it asks for this *password*."""
    made = make_url(url)
    with postgres.connected(made) as owner:
        if not owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [user]).fetchone():
            owner.execute(f"CREATE ROLE {user} LOGIN".encode())
        literal = owner.execute("SELECT quote_literal(%s)", [password]).fetchone()
        assert literal is not None
        owner.execute(f"ALTER ROLE {user} PASSWORD {literal[0]}".encode())
        postgres.ask_for_password(owner, user)
    if right is not None:
        with open_store(url) as store, store.transaction() as connection:
            grants.grant(connection, user, right)  # type: ignore[arg-type]
    return made.set(username=user, password=None)


def _text(url: URL, password: str | None = None) -> str:
    return url.set(drivername="postgresql", password=password or url.password).render_as_string(hide_password=False)


def _points(project: Project) -> list[tuple[str, int]]:
    return [(point.text, point.helpful) for point in read_playbook(project).points]


def _own_points(member: Member) -> list[tuple[str, int]]:
    with member.own() as own:
        return _points(own)


def _files(member: Member) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in member.home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("in_query", [False, True])
@pytest.mark.usefixtures("server_roles")
def test_password_is_kept_in_one_private_file(
    ann: Member, team_url: str, in_query: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = _as_user(team_url, "guarded", ODD, "member")
    before = os.umask(0)
    monkeypatch.setenv("PGPASSWORD", "another")

    ann.join(_text(url.update_query_dict({"password": ODD})) if in_query else _text(url, ODD))
    ann.add("as a member")
    os.umask(before)

    (holding,) = [path for path, data in _files(ann).items() if ODD.encode() in data or b"%2F%3F%23" in data]
    assert holding.endswith(".password")
    assert stat.S_IMODE(os.stat(holding).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(holding)).st_mode) == 0o700
    with ann.own() as own:
        assert "guarded" not in repr(team.read_status(own))
        team.leave(own)
    assert not os.path.exists(holding)


@pytest.mark.nightly
@pytest.mark.parametrize("variable", ["PGPASSFILE", "PGSERVICEFILE", "PGPASSWORD"])
@pytest.mark.usefixtures("server_roles")
def test_password_kept_elsewhere_is_not_copied(
    ann: Member, team_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    guarded = _as_user(team_url, "guarded", "h0rse", "member")
    service = f"[shop]\nhost={guarded.query['host']}\ndbname={guarded.database}\nuser=guarded\npassword=h0rse\n"
    contents = {"PGPASSFILE": "*:*:*:guarded:h0rse\n", "PGSERVICEFILE": service}
    file = tmp_path / "passwords"
    file.write_text(contents.get(variable, ""))
    file.chmod(0o600)
    monkeypatch.setenv(variable, str(file) if variable in contents else "h0rse")

    ann.join("postgresql://?service=shop" if variable == "PGSERVICEFILE" else _text(guarded))
    ann.add("as a member")

    assert not any(b"h0rse" in data for data in _files(ann).values())


@pytest.mark.usefixtures("server_roles")
def test_wrong_password_changes_nothing(ann: Member, team_url: str) -> None:
    """No message contains a password."""
    guarded = _as_user(team_url, "guarded", "h0rse-battery", "member")
    with pytest.raises(ServerError, match="refuses this user and password") as raised:
        ann.join(_text(guarded, "wr0ng-battery"))
    assert "wr0ng" not in str(raised.value)
    with ann.own() as own:
        assert find_membership(own) is None

    ann.join(_text(guarded, "h0rse-battery"))
    _as_user(team_url, "guarded", "an0ther-battery")
    with pytest.raises(ServerError, match="refuses this user and password") as raised:
        ann.add("x")
    with ann.own() as own:
        status = team.read_status(own)
    assert status.problem is not None
    assert "battery" not in f"{raised.value} {status}"

    ann.join(_text(guarded, "an0ther-battery"))
    ann.add("as before")


@pytest.mark.usefixtures("server_roles")
def test_missing_password_is_asked_for_and_kept(ann: Member, team_url: str) -> None:
    guarded, ask = _text(_as_user(team_url, "guarded", "h0rse-battery", "member")), Mock(return_value="h0rse-battery")

    with ann.own() as own:
        with pytest.raises(NoPasswordError), joining.joining(own, guarded, NAME):
            pass
        with joining.joining(own, guarded, NAME, ask=ask) as begun:
            begun.finish()
    ann.add("as a member")

    assert "guarded" not in ask.call_args_list[0].args[0]
    assert ask.call_count == 1


@pytest.mark.usefixtures("server_roles")
def test_projects_of_one_team_share_its_password(ann: Member, team_url: str, tmp_path: Path) -> None:
    guarded = _as_user(team_url, "guarded", "h0rse-battery", "member")
    ann.join(_text(guarded, "h0rse-battery"))
    with ann.own() as own:
        second = Project.in_folder(own.store, str(tmp_path))
        with joining.joining(second, _text(guarded), "github.com/org/second") as begun:
            begun.finish()
        team.leave(own)
        assert team.read_status(second).problem is None
        team.leave(second)
    assert not list(ann.home.rglob("*.password"))


def test_variables_do_not_redirect_a_password(ann: Member, team_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project may set such variables."""
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
    monkeypatch.setenv("PGPORT", "9")

    ann.join(team_url.replace("?", "?port=5432&"))


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize(
    ("owner", "step"), [(memberships, "join"), (joining, "_keep_password"), (forget, "follow_team")]
)
@pytest.mark.usefixtures("server_roles")
def test_killed_joining_can_be_repeated(
    ann: Member, shared: Project, team_url: str, owner: object, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is imported twice."""
    guarded = _text(_as_user(team_url, "guarded", "x", "member"), "x")

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ann.join(guarded)
    edit.edit(shared, "pat-001", text="use uv, never pip")
    edit.retire(shared, "pat-002")

    ann.join(guarded)

    assert _points(shared) == [("use uv, never pip", 0)]
    assert ann.points() == ["use uv, never pip"]
    ann.add("as a member")


@pytest.mark.usefixtures("server_roles")
def test_member_can_rejoin_but_not_switch_teams(ann: Member, team_url: str, shared: Project) -> None:
    ann.join(team_url)
    before = ann.membership()
    edit.retire(shared, "pat-001")
    edit.edit(shared, "pat-002", text="use ruff for all")
    with ann.own() as own:
        edit.retire(own, "pat-002")
        edit.add(own, "only here")
    ann.join(_text(_as_user(team_url, "guarded", "x", "member"), "x"))

    assert "guarded" in ann.membership().url
    assert ann.membership().joined_at == before.joined_at
    assert _points(shared) == [("use ruff for all", 0)]
    for other, name in ((AWAY, NAME), (team_url, "another")):
        with ann.own() as own, pytest.raises(ProjectError, match=r"joined a team already.*playbook team leave"):
            joining.joining(own, other, name).__enter__()
    with ann.own() as own, joining.joining(own, team_url) as begun:
        assert begun.name == NAME


@pytest.mark.usefixtures("server_roles")
def test_owner_creates_the_tables_by_joining(ann: Member) -> None:
    postgres.require_server()
    empty = postgres.new_database()
    with postgres.connected(empty) as owner:
        owner.execute("REVOKE CREATE ON SCHEMA public FROM public")
    stranger = _text(_as_user(_text(empty), "newcomer", "x"), "x")

    with pytest.raises(ProjectError, match=r"has no tables yet.*playbook --db URL db upgrade"):
        ann.join(stranger)
    with ann.own() as own, joining.joining(own, _text(empty), NAME) as begun:
        assert begun.preview().made_tables
        begun.finish()
    postgres.drop_database(empty)


@pytest.mark.parametrize(
    ("version", "message"), [("0099", "A newer version wrote it"), ("0004", "playbook --db URL db upgrade")]
)
def test_other_schemas_are_refused(ann: Member, team_url: str, version: str, message: str) -> None:
    with postgres.connected(make_url(team_url)) as owner:
        owner.execute("UPDATE alembic_version SET version_num = %s", [version])
        try:
            with pytest.raises(DatabaseError, match=message):
                ann.join(team_url)
        finally:
            owner.execute("UPDATE alembic_version SET version_num = %s", [f"{sqlite_open.SCHEMA:04d}"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sqlite:////tmp/missing.db", "is a file on this machine"),
        ("postgresql://ann:h0rse@host:port/db", "is not a database"),
        ("mysql://ann:h0rse@host/db", "is neither an SQLite file nor a PostgreSQL database"),
        ("postgresql://ann@host/db?sslpassword=h0rse", "service file"),
    ],
)
def test_unusable_urls_are_refused(ann: Member, given: str, message: str) -> None:
    """No message contains a password."""
    with pytest.raises((SettingError, DatabaseError), match=message) as raised:
        ann.join(given)

    assert "h0rse" not in str(raised.value)


def test_mirror_waits_until_the_team_is_left(ann: Member, team_url: str, shared: Project) -> None:
    with ann.own() as own:
        mirror.switch(own, on=True)
    file = ann.folder / ".claude" / "playbook.json"
    ann.join(team_url)
    content = json.loads(file.read_text())
    content["sections"]["OTHERS"] = [{"name": "oth-001", "text": "from a pull", "helpful": 0, "harmful": 0}]
    file.write_text(pulled := json.dumps(content))

    ann.add("as a member")
    ann.work()
    with ann.shared() as project, pytest.raises(MirrorError, match=r"is the team's.*playbook export -o"):
        mirror.switch(project, on=True)

    assert file.read_text() == pulled
    assert "from a pull" not in [text for text, _ in [*_points(shared), *_own_points(ann)]]
    ann.leave()
    ann.work()
    assert [text for text, _ in _own_points(ann)] == ["use uv", "use ruff", "as a member", "from a pull"]
    assert "as a member" in file.read_text()


def test_leaving_copies_the_teams_points(ann: Member, team_url: str, shared: Project) -> None:
    ann.join(team_url)
    edit.vote(shared, "pat-001", "helpful")
    edit.retire(shared, "pat-002")
    before = import_export.export_playbook(shared)

    with ann.own() as own:
        left = team.leave(own)
        with pytest.raises(ProjectError, match=r"has joined no team.*playbook team join URL"):
            team.leave(own)

    assert (left.copied is None, left.problem) == (False, None)
    assert _own_points(ann) == [("use uv", 1)]
    assert import_export.export_playbook(shared) == before
    assert not list((ann.home / ".claude" / "playbook" / "teams").iterdir())


def test_leaving_without_a_copy_keeps_the_own_points(ann: Member, team_url: str) -> None:
    ann.join(team_url)
    ann.add("as a member")

    with ann.own() as own:
        assert team.leave(own, takes_copy=False).copied is None

    assert _own_points(ann) == [("use uv", 0), ("use ruff", 0)]


def _lose(member: Member) -> None:
    """Give the team an address at which nobody answers."""
    with member.own() as own, own.store.write(own.key) as book:
        memberships.join(book, AWAY, NAME)


def test_leaving_offline_copies_the_replica(ann: Member, team_url: str) -> None:
    ann.join(team_url)
    ann.add("as a member")
    with closing(sqlite3.connect(ann.url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute(
            "INSERT INTO unsent_showings VALUES "
            "(1, 's', '2026-11-22', 'startup', 1, '[1]', 0, 'SessionStart', NULL, NULL)"
        )
    _lose(ann)

    with ann.own() as own:
        left = team.leave(own)

    assert left.problem is not None
    assert left.as_of is not None
    assert left.untold == 1
    assert [text for text, _ in _own_points(ann)] == ["use uv", "use ruff", "as a member"]
    assert ann.rows("SELECT count(*) FROM unsent_showings") == [(0,)]


def test_leaving_offline_needs_a_replica_or_no_copy(ann: Member, team_url: str) -> None:
    ann.join(team_url)
    ann.replica.unlink()
    _lose(ann)

    with ann.own() as own:
        with pytest.raises(ProjectError, match=r"Nothing was changed\. .*playbook team leave --no-copy"):
            team.leave(own)
        assert find_membership(own) is not None
        team.leave(own, takes_copy=False)
        assert find_membership(own) is None


def test_worker_erases_what_the_team_forgot(ann: Member, team_url: str, shared: Project) -> None:
    ann.join(team_url)
    forget.forget(shared, forget.Request(pattern=re.compile("use ruff")))

    with ann.shared() as project:
        assert [point.text for point in read_playbook(project).points] == ["use uv"]

    assert [text for text, _ in _own_points(ann)] == ["use uv", "use ruff"]
    ann.work()
    assert [text for text, _ in _own_points(ann)] == ["use uv"]


def test_moved_project_keeps_its_membership(ann: Member, team_url: str, tmp_path: Path) -> None:
    ann.join(team_url)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    with ann.own() as own:
        opening.move(own.store, str(ann.folder), str(elsewhere))
        moved = Project.in_folder(own.store, str(elsewhere))
        assert team.read_status(moved).problem is None
        assert find_membership(own) is None
        with pytest.raises(ProjectError, match=r"has joined a team; nothing was removed.*team leave --no-copy"):
            opening.remove(own.store, str(elsewhere))


def test_project_cannot_move_into_a_members_folder(ann: Member, team_url: str, tmp_path: Path) -> None:
    with ann.own() as own:
        new = Project.in_folder(own.store, str(tmp_path))
        with joining.joining(new, team_url, NAME) as begun:
            begun.finish()
        with pytest.raises(ProjectError, match=r"has joined a team.*team leave --no-copy"):
            opening.move(own.store, str(ann.folder), str(tmp_path))
        team.leave(new, takes_copy=False)
        opening.move(own.store, str(ann.folder), str(tmp_path))
        assert _points(new) == [("use uv", 0), ("use ruff", 0)]


def test_every_member_can_decide_proposals(ann: Member, new_member: NewMember, team_url: str, shared: Project) -> None:
    """A replica has only the number of proposals."""
    ann.join(team_url)
    bob = new_member("bob")
    bob.join(team_url)
    with ann.shared() as project, project.store.write(project.key) as book:
        book.add_proposal({"text": "what a page said"}, "ADD", (), "outside", "s-1")

    bob.work()
    with bob.as_him():
        waiting = status.read(bob.url, str(bob.folder)).proposals
    assert (waiting, b"page said" in bob.replica.read_bytes()) == (1, False)
    with bob.shared() as project:
        assert review.decide(project, [Decision(1, accepts=True)]).accepted == [1]

    ann.work()
    with ann.as_him():
        assert status.read(ann.url, str(ann.folder)).proposals == 0
    assert "what a page said" in ann.points()
    with shared.store.read(shared.key) as book:
        assert str(book.proposal(1)).find("bob@") > 0


def test_pins_reach_all_members(ann: Member, new_member: NewMember, team_url: str) -> None:
    bob = new_member("bob")
    for member in (ann, bob):
        member.join(team_url)

    with ann.shared() as project:
        edit.pin(project, "pat-002")
    at_once = [_first_shown(member) for member in (ann, bob)]
    bob.work()

    assert [*at_once, _first_shown(bob)] == ["pat-002", "pat-001", "pat-002"]


def _first_shown(member: Member) -> str:
    with closing(sqlite_open.open_replica(str(member.replica))) as connection:
        project = hook_queries.find_project(connection.execute, NAME)
        assert project is not None
        book = hook_queries.Book(connection, project)
        _, [shown] = prompt_text.compose("{key_points}", [hook_queries.ranked_points(book)])
        return shown[0].name
