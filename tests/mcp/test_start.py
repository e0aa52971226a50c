"""The server before a session writes: what it answers without the SDK is what the SDK would answer."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.mcp_server.start import LightServer, ToSdkError
from playbook_db.services import project as project_service
from tests.mcp.conftest import Session

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = runpy.run_path(str(ROOT / "docs" / "make_mcp_lists.py"))
META = {"_meta": GENERATOR["META"]}
CALLS: tuple[dict[str, Any], ...] = (
    {"name": "list"}, {"name": "list", "arguments": {"section": "OTHERS", "offset": 1, "limit": 1}},
    {"name": "list", "arguments": {"section": "USER PREFERENCES"}}, {"name": "list", "arguments": {"offset": 99}},
    {"name": "search", "arguments": {"question": "pytest selection", "limit": 2}},
    {"name": "search", "arguments": {"question": "the of and"}}, {"name": "search", "arguments": {"question": "zebra"}},
    {"name": "why", "arguments": {"name": " oth-001 "}},
)  # fmt: skip
ODD: tuple[dict[str, Any], ...] = (
    {"name": "why", "arguments": {"name": "oth-999"}}, {"name": "why", "arguments": {"name": "1"}},
    {"name": "why", "arguments": {"name": ""}}, {"name": "list", "arguments": {"limit": 0}},
    {"name": "list", "arguments": {"limit": 51}}, {"name": "list", "arguments": {"offset": -1}},
    {"name": "list", "arguments": {"limit": True}}, {"name": "list", "arguments": {"limit": "3"}},
    {"name": "list", "arguments": {"section": "others"}}, {"name": "list", "arguments": {"more": 1}},
    {"name": "list", "arguments": []}, {"name": "search", "arguments": {}}, {"name": ["search"]}, {},
    {"name": "search", "arguments": {"question": ""}}, {"name": "search", "arguments": {"question": "x" * 2_001}},
    {"name": "search", "arguments": {"question": 3}}, {"name": "search", "arguments": {"question": "x"}, "task": {}},
)  # fmt: skip


def _light(session: Session, version: str = "2025-11-25") -> LightServer:
    server = LightServer(settings.database_url(), str(session.folder))
    for method, params in GENERATOR["handshake"](version):
        _result(server, method, params)
    return server


def _result(server: LightServer, method: str, params: dict[str, Any] | None) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
    if method.startswith("notifications/"):
        del message["id"]
    reply = server.reply(json.dumps(message).encode())
    return reply and json.loads(reply)["result"]


def _by_sdk(session: Session, *questions: tuple[str, dict[str, Any] | None]) -> Any:
    script = (
        f"from playbook_db.mcp_server import tools; tools.serve({settings.database_url()!r}, {str(session.folder)!r})"
    )
    return GENERATOR["results"](*questions, command=[sys.executable, "-c", script])


@pytest.mark.slow
def test_the_lists_are_those_of_the_sdk() -> None:
    """If not: make docs."""
    assert GENERATOR["PATH"].read_text(encoding="utf-8") == GENERATOR["written"](GENERATOR["lists"]())


@pytest.mark.slow
@pytest.mark.parametrize(
    "version",
    [
        *(pytest.param(each, marks=pytest.mark.nightly) for each in ("2024-11-05", "2025-03-26", "2025-06-18", "1999")),
        "2025-11-25",
        None,
    ],
)
def test_each_answer_is_the_sdks(session: Session, version: str | None) -> None:
    """In each version of the protocol, and in the one without a handshake."""
    begin = [("server/discover", META)] if version is None else [*GENERATOR["handshake"](version), ("ping", None)]
    meta = META if version is None else {}
    calls = [("tools/call", call | meta) for call in CALLS]
    questions = [*begin, *((method, meta or None) for method in GENERATOR["LISTS"]), *calls]
    server = LightServer(settings.database_url(), str(session.folder))

    answers = [_result(server, *question) for question in questions if not question[0].startswith("notifications/")]

    assert answers == _by_sdk(session, *questions)


@pytest.mark.slow
def test_a_client_that_waits_for_changes_hears_what_the_sdk_says(session: Session) -> None:
    """The newest clients ask for changes of the lists in each session; that alone loads nothing."""
    server = LightServer(settings.database_url(), str(session.folder))
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": False}
    line = json.dumps(
        {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {"notifications": wanted, **META}}
    ).encode()
    script = "from playbook_db.mcp_server import tools; tools.serve('sqlite:////nowhere/playbook.db', '.')"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sdk:
        assert sdk.stdin
        assert sdk.stdout
        sdk.stdin.write(line + b"\n")
        sdk.stdin.flush()
        said = json.loads(sdk.stdout.readline())
        sdk.kill()

    assert json.loads(server.reply(line) or b"") == said
    for odd in (b"true", b'{"resourceSubscriptions": ["playbook://x"]}', b'{"toolsListChanged": 3}'):
        with pytest.raises(ToSdkError):
            server.reply(line.replace(json.dumps(wanted).encode(), odd))


@pytest.mark.parametrize("call", ODD, ids=str)
def test_what_is_not_plainly_right_goes_to_the_sdk(session: Session, call: dict[str, Any]) -> None:
    """Which says what is wrong with it."""
    with pytest.raises(ToSdkError):
        _result(_light(session), "tools/call", call)


@pytest.mark.parametrize(
    "line",
    [
        b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "more": 1}', b'{"jsonrpc": "2.0", "method": "notifications/x"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "a"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "playbook://points"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}',
    ],
    ids=repr,
)  # fmt: skip
def test_other_messages_go_to_the_sdk(session: Session, line: bytes) -> None:
    """Broken ones, those that no list answers, and a second handshake."""
    with pytest.raises(ToSdkError):
        _light(session).reply(line)


def test_before_the_handshake_nothing_is_listed(session: Session) -> None:
    """A message must say the protocol's version, or follow one that did."""
    server = LightServer(settings.database_url(), str(session.folder))
    meta = {**GENERATOR["META"], "io.modelcontextprotocol/protocolVersion": "2099-01-01"}

    for params in (None, {}, {"_meta": {}}, {"_meta": meta}, {"_meta": 3}):
        with pytest.raises(ToSdkError):
            _result(server, "tools/list", params)


def test_a_playbook_that_is_kept_out_goes_to_the_sdk(session: Session) -> None:
    """An ignored project: the SDK's server says why nothing is read."""
    server = _light(session)
    with session.project() as project:
        project_service.ignore(project, is_ignored=True)

    with pytest.raises(ToSdkError):
        _result(server, "tools/call", CALLS[0])


_LOADED = """
import sys
from playbook_db.mcp_server import start
sys.argv = ["playbook", "mcp"]
from playbook_db.__main__ import run
run()
print(*sorted({"click", "mcp", "pydantic", "sqlalchemy", "anyio"} & sys.modules.keys()), file=sys.stderr)
"""


@pytest.mark.slow
def test_a_session_that_only_reads_loads_no_library(session: Session) -> None:
    """Each session of a plugin's user starts a server, used or not."""
    questions = [*GENERATOR["handshake"]("2025-11-25"), ("tools/list", None), ("tools/call", CALLS[4])]
    messages = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}} for method, params in questions]
    del messages[1]["id"]

    done = subprocess.run(
        [sys.executable, "-c", _LOADED], input="".join(json.dumps(each) + "\n" for each in messages),
        capture_output=True, text=True, cwd=session.folder, check=True,
    )  # fmt: skip

    assert done.stderr == "\n"
    assert len(done.stdout.splitlines()) == 3
    assert "[oth-001]" in done.stdout


@pytest.mark.slow
def test_what_was_shown_before_the_sdk_serves_may_be_voted_on(session: Session) -> None:
    """The vote needs a point that this session was shown; the handshake isn't answered twice."""
    command = [sys.executable, "-P", "-m", "playbook_db", "mcp"]
    vote = {"name": "vote", "arguments": {"name": "oth-001", "tag": "harmful"}}
    begin = GENERATOR["handshake"]("2025-11-25")

    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(session.folder)
        (_, unseen), (_, shown, seen) = (
            GENERATOR["results"](*begin, *calls, command=command)
            for calls in ([("tools/call", vote)], [("tools/call", CALLS[4]), ("tools/call", vote)])
        )

    assert "[oth-001]" in shown["content"][0]["text"]
    assert (unseen["isError"], seen["isError"]) == (True, False)
