"""What each tool answers, and what becomes of what a session says by it."""

from tests.mcp.conftest import SESSION, Session


def test_smoke(session: Session) -> None:
    print(session.ask("search", question="pytest selection"))
    print(session.ask("vote", name="oth-001", tag="helpful"))
    print(session.ask("vote", name="oth-001", tag="helpful"))
    print(session.ask("vote", name="oth-002", tag="helpful"))
    print(session.ask("add", text="Use uv"))
    print(session.ask("why", name="oth-001"))
    print(session.ask("history"))
    print(session.ask("list"))
    print(session.ask("undo"))
    print(session.ask("undo"))
    print(session.ask("undo"))
    print(session.ask("add", text="Use uv"))
    print(session.ask("nope", text="Use uv"))
    print(session.ask("vote", name="oth-001", tag="so"))
    print(session.ask("vote", name="oth-001"))
    print(session.ask("propose_edit", name="oth-001", text="x"))
    print(session.ask("propose_edit", name="oth-0019", text="x"))
    print(session.ask("propose_retirement", name="oth-001", reason="x"))
    print(
        session.rows("select * from proposals"),
        session.rows("select number, actor, session_id, message from revisions"),
    )
