"""The rights of roles on a server: what each right allows and forbids."""

from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text as sql
from sqlalchemy.engine import URL

from playbook_db.errors import DatabaseError, ServerError
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, forget, import_export, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.reading import history, statistics
from playbook_db.store.connect import dialect_for
from playbook_db.store.engine import open_store
from playbook_db.store.postgres.grants import Right
from playbook_db.store.tables import metadata
from tests import postgres

pytestmark = pytest.mark.slow

REFUSED = (psycopg.IntegrityError, psycopg.errors.InsufficientPrivilege)
# What a member must not do to the history, nor to what holds it.
FORBIDDEN = """
UPDATE revisions SET message = '[forgotten]'
UPDATE changes SET text = 'never'
UPDATE votes SET tag = 'harmful'
UPDATE skipped_operations SET reason = 'never'
UPDATE key_points SET text = 'never'
UPDATE key_points SET retired_in = 1, retired_reason = 'never' WHERE id = 1
SET CONSTRAINTS ALL DEFERRED; UPDATE key_points SET text = 'never'
INSERT INTO key_points SELECT 1, 9, 'oth-009', section, position, text, 0, 0, created_in FROM key_points WHERE id = 1
UPDATE key_points SET forgotten = 1
DELETE FROM changes
DELETE FROM key_points
INSERT INTO revisions SELECT playbook_id, 9, time, source, actor, session_id, message FROM revisions WHERE number = 1
INSERT INTO votes (playbook_id, revision, seq, point_id, tag) VALUES (1, 3, 9, 1, 'helpful')
INSERT INTO changes SELECT 1, 3, 9, 1, 'edit', section, position, 7, 0 FROM changes WHERE revision = 2
UPDATE revisions SET role = 'the_owner'
UPDATE sections SET position = 9
UPDATE alembic_version SET version_num = '0001'
TRUNCATE playbooks CASCADE
DROP TABLE votes
DROP TRIGGER revisions_append_only ON revisions
ALTER TABLE key_points DISABLE TRIGGER key_points_on_record
ALTER TABLE votes OWNER TO CURRENT_USER
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'
CREATE FUNCTION max(bigint, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1'
CREATE TRIGGER mine BEFORE INSERT ON votes FOR EACH ROW EXECUTE FUNCTION refuse('never')
CREATE TABLE mine (playbook_id integer REFERENCES playbooks)
CREATE SCHEMA mine
GRANT the_owner TO CURRENT_USER
SELECT setval('playbooks_id_seq', 1)
SET session_replication_role = replica
SET ROLE the_owner
COPY votes TO PROGRAM 'cat'
""".strip().splitlines()
ALSO_FORBIDDEN_TO_READERS = [
    *(f"DELETE FROM {table}" for table in metadata.tables),
    *(f"UPDATE {table} SET playbook_id = 1" for table in metadata.tables if table not in ("playbooks", "sections")),
    "INSERT INTO playbooks (key) VALUES ('mine')",
    "SELECT nextval('playbooks_id_seq')",
    "SELECT 1 FROM playbooks FOR UPDATE",
    "BEGIN; LOCK TABLE votes",
]


@pytest.fixture
def owned(server_roles: None) -> Iterator[URL]:
    """The URL of a new database of the role `the_owner`, with some other roles that may log in."""
    server = postgres.require_server()
    if postgres.GIVEN:
        pytest.skip("the server is somebody's own; its users are not ours to make")
    url = postgres.new_database()
    with postgres.connected(server) as superuser:
        for role in ("the_owner", "ann", '"An-n %s :x"', "crew", "stranger"):
            superuser.execute(f"CREATE ROLE {role} LOGIN".encode())
        superuser.execute(f"ALTER DATABASE {url.database} OWNER TO the_owner".encode())
    owned = url.set(username="the_owner")
    open_store(str(owned)).close()
    with open_store(str(owned)) as store:
        edit.add(Project(store, "/work/harbour"), "use type hints")
        edit.vote(Project(store, "/work/harbour"), "oth-001", "helpful")
        batch = [{"type": "RETIRE", "name": "oth-009"}, {"type": "ADD", "text": "use ruff"}]
        edit.apply_batch(Project(store, "/work/harbour"), batch, origin="nowhere")
    yield owned
    postgres.drop_database(url)
    with postgres.connected(server) as superuser:
        superuser.execute('DROP ROLE the_owner, ann, "An-n %s :x", crew, stranger')


def _refuses(shell: "psycopg.Connection[tuple[object, ...]]", statement: str) -> bool:
    try:
        shell.execute(statement.encode())
    except REFUSED:
        shell.rollback()
        return True
    return False


def _grants(url: URL) -> list[tuple[object, ...]]:
    """The rights that the server's catalog has."""
    with postgres.connected(url) as shell:
        return shell.execute(
            "SELECT relname, may FROM pg_class CROSS JOIN unnest(relacl::text[]) AS may"
            " UNION ALL SELECT defaclobjtype::text, may FROM pg_default_acl CROSS JOIN unnest(defaclacl::text[]) AS may"
            " UNION ALL SELECT nspname, may FROM pg_namespace CROSS JOIN unnest(nspacl::text[]) AS may"
            " UNION ALL SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members ORDER BY 1, 2"
        ).fetchall()


def test_members_can_not_rewrite_the_history(owned: URL) -> None:
    """A temporary table doesn't take the place of ours."""
    assert maintenance.grant(str(owned), "ann", "member").beyond == ()
    member = owned.set(username="ann")
    with open_store(str(member)) as store:
        project = Project(store, "/work/lighthouse")
        edit.add(project, "use type hints")
        undo.undo(project)
        assert maintenance.check(store) == []

    with postgres.connected(member) as shell:
        shell.execute("CREATE TEMP TABLE erasures (playbook_id integer, finished_at text)")
        shell.execute("INSERT INTO erasures VALUES (1, NULL), (2, NULL)")
        assert [statement for statement in FORBIDDEN if not _refuses(shell, statement)] == []
    with open_store(str(owned)) as store:
        assert maintenance.check(store) == []


@pytest.mark.nightly
def test_members_can_erase_a_text(owned: URL) -> None:
    """The server's disk keeps it until somebody runs the command that `forget` prints."""
    maintenance.grant(str(owned), "ann", "member")
    with open_store(str(owned)) as store:
        for number in range(3):
            edit.add(Project(store, "/work/harbour"), f"advice number {number}")
    with postgres.connected(owned.set(username="postgres")) as shell:
        shell.execute("ANALYZE")
        with open_store(str(owned.set(username="ann"))) as store:
            done = forget.forget(Project(store, "/work/harbour"), forget.Request(name="oth-001"))
            assert maintenance.check(store) == []
        assert done.notes[-2].endswith(f"&& vacuumdb --full --dbname='{store.where}'")
        assert _tables_holding(shell, "use type hints") == ["changes", "key_points", "pg_statistic"]
        with postgres.connected(owned) as owner:
            owner.execute("ANALYZE")  # as vacuumdb does it
            owner.execute("VACUUM FULL")
        assert _tables_holding(shell, "use type hints") == _tables_holding(shell, "1:hint") == []


def _tables_holding(superuser: "psycopg.Connection[tuple[object, ...]]", text: str) -> list[object]:
    superuser.execute("CHECKPOINT")
    rows = superuser.execute(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'i') AND NOT relisshared"
        " AND position(%s::bytea IN pg_read_binary_file(pg_relation_filepath(oid))) > 0 ORDER BY relname::text",
        [text.encode()],
    )
    return [name for (name,) in rows]


def test_readers_write_nothing(owned: URL) -> None:
    """The error says who can grant the right."""
    maintenance.grant(str(owned), "ann", "reader")
    reader = owned.set(username="ann")

    with open_store(str(reader)) as store:
        project = Project(store, "/work/harbour")
        assert import_export.export_playbook(project)
        assert len([*history.log(project, history.LogQuery())]) == 3
        assert statistics.gather(project)
        assert maintenance.check(store) == []
        with pytest.raises(ServerError, match=r"your user may not do this .* to run: playbook db grant ROLE member"):
            edit.vote(project, "oth-001", "helpful")
    with postgres.connected(reader) as shell:
        views = shell.execute("SELECT viewname FROM pg_views WHERE schemaname = 'public'").fetchall()
        for (view,) in views:
            shell.execute(f"SELECT * FROM {view}".encode())
        assert views
        forbidden = [*FORBIDDEN, *ALSO_FORBIDDEN_TO_READERS]
        assert [statement for statement in forbidden if not _refuses(shell, statement)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("role", ["ann", "An-n %s :x"])
def test_rights_can_be_granted_again(owned: URL, role: str) -> None:
    left = {}
    for right in ("reader", "member", "reader", "member", "member"):
        maintenance.grant(str(owned), role, right)  # type: ignore[arg-type]
        grants = _grants(owned)
        assert left.setdefault(right, grants) == grants

    assert left["reader"] != left["member"]


@pytest.mark.nightly
def test_grants_cover_later_tables(owned: URL) -> None:
    """A migration creates all views again, and so loses their grants."""
    superuser = owned.set(username="postgres")
    maintenance.grant(str(owned), "ann", "reader")
    maintenance.grant(str(superuser), "crew", "owner")
    url = owned.set(username="crew")
    dialect = dialect_for(url)
    with dialect.make_engine().begin() as connection:
        dialect.drop_views_and_triggers(connection)
        connection.execute(sql("CREATE TABLE later (playbook_id integer PRIMARY KEY)"))
        dialect.make_views_and_triggers(connection)
    dialect.close()

    with postgres.connected(owned) as shell:
        assert shell.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        ).fetchall() == [("the_owner",)]
    with postgres.connected(owned.set(username="ann")) as shell:
        assert shell.execute("SELECT count(*) FROM later, live_key_points").fetchall() == [(0,)]
        with pytest.raises(REFUSED):
            shell.execute("INSERT INTO later VALUES (1)")


@pytest.mark.nightly
def test_team_may_have_its_own_schema(owned: URL) -> None:
    with postgres.connected(owned) as owner:
        owner.execute("""CREATE SCHEMA "Team ""A" """)
    options = {**owned.query, "options": '-csearch_path="Team\\ ""A"'}
    url, member = str(owned.set(query=options)), str(owned.set(username="ann", query=options))
    with open_store(url) as store:
        edit.add(Project(store, "/work/harbour"), "of team A")
    with pytest.raises(DatabaseError, match=r"or you may not use that schema\. Ask its owner: playbook db grant ROLE"):
        open_store(member)

    assert maintenance.grant(url, "ann", "member").beyond == ()

    with open_store(member) as store:
        project = Project(store, "/work/harbour")
        assert edit.vote(project, "oth-001", "helpful").revision == 2
        assert [point.text for point in read_playbook(project).points] == ["of team A"]
    with pytest.raises(ServerError, match="your user may not do this"):
        open_store(str(owned.set(username="ann")))


@pytest.mark.nightly
def test_tables_of_a_superuser_get_the_owner(owned: URL) -> None:
    """Earlier grants stay."""
    superuser = owned.set(username="postgres")
    with postgres.connected(superuser) as shell:
        shell.execute("DROP SCHEMA public CASCADE")
        shell.execute("CREATE SCHEMA public")
    open_store(str(superuser)).close()
    maintenance.grant(str(superuser), "ann", "reader")
    maintenance.grant(str(superuser), "stranger", "member")

    granted = maintenance.grant(str(superuser), "the_owner", "owner")

    grants = _grants(superuser)
    maintenance.grant(str(owned), "stranger", "member")
    maintenance.grant(str(owned), "ann", "reader")
    assert _grants(owned) == grants
    assert granted.notes == ("the tables belonged to postgres, a superuser; now they belong to the_owner",)
    with open_store(str(owned.set(username="stranger"))) as store:
        edit.add(Project(store, "/work/harbour"), "use type hints")
    with postgres.connected(owned.set(username="ann")) as shell:
        assert shell.execute("SELECT count(*) FROM live_key_points").fetchall() == [(1,)]


@pytest.mark.nightly
def test_rights_from_elsewhere_are_listed(owned: URL) -> None:
    with postgres.connected(owned.set(username="postgres")) as superuser:
        superuser.execute("ALTER SCHEMA public OWNER TO postgres")
        superuser.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        superuser.execute("GRANT crew TO ann")
        superuser.execute("GRANT INSERT, TRUNCATE ON votes, changes TO crew")

    granted = maintenance.grant(str(owned), "ann", "reader")
    assert granted.beyond == ("INSERT on changes, votes", "TRUNCATE on changes, votes", "CREATE in the schema public")
    closed = maintenance.grant(str(owned.set(username="postgres")), "ann", "reader")
    assert closed.beyond == ("INSERT on changes, votes", "TRUNCATE on changes, votes")
    assert closed.notes == ("from now on only the_owner and the schema's owner can create tables in public",)


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("by", "role", "right", "message"),
    [
        ("the_owner", "no one's", "reader", r"no role no one's\. Create it: createuser --pwprompt 'no one'\"'\"'s'"),
        ("the_owner", "the_owner", "member", r"the_owner owns the tables of .*, and a grant can't change that"),
        ("the_owner", "postgres", "owner", r"postgres is a superuser or a built-in role"),
        ("ann", "stranger", "reader", r"The tables of .* belong to the_owner; only that user can grant rights"),
    ],
)
def test_impossible_grants_are_explained(owned: URL, by: str, role: str, right: Right, message: str) -> None:
    maintenance.grant(str(owned), "ann", "member")

    with pytest.raises(ServerError, match=message):
        maintenance.grant(str(owned.set(username=by)), role, right)


def test_file_has_no_roles() -> None:
    with pytest.raises(DatabaseError, match=r"playbook\.db is a file: .* name a database there with --db postgresql:"):
        maintenance.grant("sqlite:////nowhere/playbook.db", "ann", "reader")
