"""A light MCP server for sessions that only read. It answers the first requests and finds points without the SDK.

`lists.json` has the SDK's answers to the first requests. Any other message, or one that isn't plainly valid, starts the
SDK's server (module `tools`), which then takes over.
"""

import json
import os
import sys
from contextlib import suppress
from importlib.machinery import PathFinder

from playbook_db import platforms, project_env, projects, settings
from playbook_db.errors import SettingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ROOTS = b"playbook-roots"  # the id of the question for roots
_META = "io.modelcontextprotocol/"
_OURS = {"jsonrpc", "id", "method", "params"}
_LIST_CHANGES = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}
_UNHEEDED = {"notifications/cancelled", "notifications/roots/list_changed"}


class ToSdkError(Exception):
    """Raised if only the SDK's server can answer a message."""


def try_to_serve() -> bool:
    """Serve the session of this process. If the command `mcp` has to explain a problem, return False at once."""
    project_env.apply_user_settings()
    if platforms.unsupported() or PathFinder.find_spec("mcp") is None or os.environ.get(project_env.DATABASE):
        return False
    from playbook_db.services.reading import file_first

    session, named = settings.session(), os.environ.get("CLAUDE_PROJECT_DIR")
    if session and not named:
        from playbook_db.claude_code.hooks import hook_runner

        named = hook_runner.folder_of_session(session, os.getcwd())
    try:
        url = settings.database_url()
    except SettingError:
        return False
    folder = file_first.place_of(url, os.path.abspath(named or ""))
    if not os.path.isdir(folder):
        return False
    serve(url, folder, asks_roots=not named and not projects.is_project(folder))
    return True


def serve(url: str, folder: str, *, asks_roots: bool = False) -> None:
    """Serve the project in *folder*, with the database at *url*, on stdin and stdout, until stdin ends. With
    *asks_roots*, serve the client's first root instead, if it offers roots."""
    server = LightServer(url, folder)
    lines: Iterator[bytes] = iter(os.fdopen(os.dup(0), "rb"))
    if asks_roots:
        lines = _with_roots(server, lines)
    for line in lines:
        try:
            reply = server.reply(line)
        except ToSdkError:
            import itertools

            from playbook_db.mcp_server import handover

            handover.serve(url, server.folder, server.shown, server.handshake, itertools.chain([line], lines))
            return
        if reply:
            try:
                _write(reply)
            except OSError:  # the client has left
                return


def _write(message: bytes) -> None:
    sys.stdout.buffer.write(message + b"\n")
    sys.stdout.buffer.flush()


def _with_roots(server: "LightServer", lines: "Iterator[bytes]") -> "Iterator[bytes]":
    """Yield *lines*. If the client offers roots, ask for them after the handshake; the lines before its answer wait."""
    waiting: list[bytes] = []
    for line in lines:
        yield line
        if len(server.handshake) == 2:
            break
    if server.handshake and "roots" in server.handshake[0]["params"]["capabilities"]:
        _write(b'{"jsonrpc":"2.0","id":"%s","method":"roots/list"}' % _ROOTS)
        for line in lines:
            if _ROOTS in line:
                server.use_root(line)
                break
            waiting.append(line)
    yield from waiting
    yield from lines


class LightServer:
    """A server without the SDK, for the project in `folder` and the database at `url`. `shown` has the points that the
    session has seen here, `handshake` the client's first messages."""

    def __init__(self, url: str, folder: str) -> None:
        self.url, self.folder = url, folder
        self.shown: set[str] = set()
        self.handshake: list[dict[str, Any]] = []
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lists.json"), encoding="utf-8") as file:
            self._lists: dict[str, Any] = json.load(file)

    def use_root(self, line: bytes) -> None:
        """Serve the first folder that the client's answer in *line* names, if there is one."""
        from urllib.parse import unquote, urlsplit

        from playbook_db.services.reading import file_first

        with suppress(ValueError, LookupError, TypeError, AttributeError, StopIteration):
            uris = [urlsplit(root["uri"]) for root in json.loads(line)["result"]["roots"]]
            folders = (unquote(uri.path) for uri in uris if uri.scheme == "file")
            os.environ["CLAUDE_PROJECT_DIR"] = root = next(filter(os.path.isdir, folders))
            self.folder = file_first.place_of(self.url, root)

    def reply(self, line: bytes) -> bytes | None:
        """Return the answer to the message in *line*, or None for a notification. Raises ToSdkError."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise ToSdkError from None
        if not isinstance(message, dict) or not message.keys() <= _OURS or message.get("jsonrpc") != "2.0":
            raise ToSdkError
        method, params = message.get("method"), message.get("params", {})
        if not isinstance(method, str) or not isinstance(params, dict):
            raise ToSdkError
        if "id" not in message:
            self._note(method, message)
            return None
        number = message["id"]
        if not isinstance(number, int | str) or isinstance(number, bool):
            raise ToSdkError
        if method == "subscriptions/listen":
            reply = self._acknowledge(number, params)
        else:
            reply = {"jsonrpc": "2.0", "id": number, "result": self._result(method, params, message)}
        return json.dumps(reply, separators=(",", ":")).encode("ascii")

    def _note(self, method: str, message: "dict[str, Any]") -> None:
        if method == "notifications/initialized" and self.handshake:
            self.handshake.append(message)
        elif method not in _UNHEEDED:
            raise ToSdkError

    def _result(self, method: str, params: "dict[str, Any]", message: "dict[str, Any]") -> "dict[str, Any]":
        if method == "initialize" and not self.handshake:
            begun = self._begin(params)
            self.handshake = [message]
            return begun
        extra = self._extra(params.get("_meta"))
        if method == "ping" and not extra:
            return {}
        if method == "tools/call" and params.keys() <= {"name", "arguments", "_meta"}:
            return self._call(params.get("name"), params.get("arguments")) | {
                name: value for name, value in extra.items() if name in ("_meta", "resultType")
            }
        result: dict[str, Any] | None = self._lists["results"].get(method)
        if result is None or not params.keys() <= {"_meta"} or (method == "server/discover" and not extra):
            raise ToSdkError
        return result | extra

    def _acknowledge(self, number: int | str, params: "dict[str, Any]") -> "dict[str, Any]":
        """Confirm a subscription to changes of the lists. They never change, so no notification follows."""
        filters = params.get("notifications")
        if not self._extra(params.get("_meta")) or not isinstance(filters, dict) or not filters.keys() <= _LIST_CHANGES:
            raise ToSdkError
        if not all(isinstance(value, bool) for value in filters.values()):
            raise ToSdkError
        return {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {f"{_META}subscriptionId": number},
                "notifications": {name: True for name, value in filters.items() if value},
            },
        }

    def _begin(self, params: "dict[str, Any]") -> "dict[str, Any]":
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(version, str) or not isinstance(client, dict) or not {"name", "version"} <= client.keys():
            raise ToSdkError
        if not isinstance(params.get("capabilities"), dict):
            raise ToSdkError
        versions: list[str] = self._lists["versions"]
        return {**self._lists["initialize"], "protocolVersion": version if version in versions else versions[-1]}

    def _extra(self, meta: object) -> "dict[str, Any]":
        """Return the extra fields of a result for a client without a handshake, whose messages name their version."""
        if meta is None and self.handshake:
            return {}
        if not isinstance(meta, dict):
            raise ToSdkError
        version = meta.get(f"{_META}protocolVersion")
        if version is None and self.handshake:
            return {}
        of_client = meta.get(f"{_META}clientInfo"), meta.get(f"{_META}clientCapabilities")
        if version != self._lists["version"] or not all(isinstance(each, dict) for each in of_client):
            raise ToSdkError
        extra: dict[str, Any] = self._lists["extra"]
        return extra

    def _call(self, tool: object, arguments: object) -> "dict[str, Any]":
        from playbook_db.mcp_server import quick_tools

        answer = quick_tools.call(self.url, self.folder, tool, arguments)
        if answer is None:
            raise ToSdkError
        text, names = answer
        self.shown.update(names)
        return {"content": [{"text": text, "type": "text"}], "isError": False}
