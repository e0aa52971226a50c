"""The protocol, with any methods."""

import json
from typing import Any

import pytest

from playbook_db.mcp_server import protocol
from playbook_db.mcp_server.protocol import ProtocolError, Server

META = "io.modelcontextprotocol/"


def _refuse(params: dict[str, Any]) -> dict[str, Any]:
    raise ProtocolError("not that one")


def _reply(message: Any) -> Any:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    server = Server("words", {"tools/list": dict, "tools/call": _refuse, "resources/read": lambda _: {}[1]})
    answer = server.reply(line)
    return json.loads(answer) if answer else None


def _request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", -32700), (b"[" * 100_000, -32700), ([], -32600), (3, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600), ({**_request("ping"), "id": True}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": []}, -32600), (_request("logging/setLevel"), -32601),
        ({**_request("ping"), "params": []}, -32602), (_request("ping", _meta=[3]), -32602),
        (_request("ping", _meta={f"{META}protocolVersion": "2099-01-01"}), -32022), (_request("tools/call"), -32602),
        (_request("resources/read"), -32603),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_unusable_message_gets_an_error(message: Any, code: int) -> None:
    """With JSON-RPC's code, a sentence, and the id if it is usable."""
    answer = _reply(message)

    assert answer["error"]["code"] == code
    assert answer["error"]["message"]
    assert answer["id"] == (7 if isinstance(message, dict) and message.get("id") == 7 else None)


@pytest.mark.parametrize(
    "message", [{"method": "notifications/cancelled"}, {"id": 1, "result": {}}, {"id": 1, "error": 3}]
)
def test_notifications_and_answers_get_no_answer(message: dict[str, Any]) -> None:
    assert _reply({"jsonrpc": "2.0", **message}) is None
    assert _reply([{"jsonrpc": "2.0", **message}]) is None


def test_batch_gets_one_line_of_answers() -> None:
    """Clients of version 2025-03-26 may send several messages in one line."""
    answers = _reply([_request("ping"), {"jsonrpc": "2.0", "method": "notifications/x"}, {}])

    assert [each.get("result") for each in answers] == [{}, None]


@pytest.mark.parametrize("asked", [*protocol.VERSIONS, "1999-01-01", []])
def test_handshake_agrees_on_a_version(asked: Any) -> None:
    """The client's version if it is known, or the newest with a handshake."""
    result = _reply(_request("initialize", protocolVersion=asked))["result"]

    assert result["protocolVersion"] == (asked if asked in protocol.VERSIONS else protocol.VERSIONS[-1])
    assert (result["capabilities"], result["instructions"]) == ({"tools": {}}, "words")


def test_results_without_a_handshake_name_the_server() -> None:
    """Version 2026-07-28 requires it."""
    meta = {f"{META}protocolVersion": protocol.STATELESS}

    discovered, listed = (_reply(_request(each, _meta=meta))["result"] for each in ("server/discover", "tools/list"))

    assert discovered["supportedVersions"] == [protocol.STATELESS]
    for result in (discovered, listed):
        assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")
        assert result["_meta"][f"{META}serverInfo"]["name"] == "playbook"
