"""The MCP server until a session writes: it answers a client's first questions and finds points without the SDK.

What a client asks first stands in `lists.json`, as the SDK would answer it; `search` and `list` read as the hooks do.
Any other message, and any of these that isn't plainly right, starts the server of `tools`, which serves from then on.
"""

import importlib.util
import itertools
import json
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from playbook_db import platforms, project_env, projects, settings
from playbook_db.claude_code.hooks import events
from playbook_db.domain.sections import SECTION_ORDER
from playbook_db.errors import SettingError
from playbook_db.mcp_server import answers
from playbook_db.services.reading import quick_reads

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, BinaryIO

    from playbook_db.store.hook_sql import StoredPoint

_META = "io.modelcontextprotocol/"
_OURS = {"jsonrpc", "id", "method", "params"}
_UNHEEDED = {"notifications/cancelled", "notifications/roots/list_changed"}
_END = b"\0\n"
_REPLAY = "playbook-replay"  # the id of the `initialize` that the SDK is sent again; its answer goes nowhere


class ToSdkError(Exception):
    """The SDK is to answer."""


def try_to_serve() -> bool:
    """Serve the session of this process; False, before anything was read, if the command `mcp` has to look closer, as
    it explains what is wrong."""
    project_env.apply_user_settings()
    if platforms.unsupported() or importlib.util.find_spec("mcp") is None or os.environ.get(project_env.DATABASE):
        return False
    session, named = settings.session(), os.environ.get("CLAUDE_PROJECT_DIR")
    if session and not named:
        named = events.folder_of_session(session, os.getcwd())
    folder = projects.project_dir(named)
    try:
        url = settings.database_url()
    except SettingError:
        return False
    if not os.path.isdir(folder):
        return False
    serve(url, folder)
    return True


def serve(url: str, folder: str) -> None:
    """Serve the project in *folder*, with the database at *url*, on stdin and stdout, until stdin ends."""
    server = LightServer(url, folder)
    lines = os.fdopen(os.dup(0), "rb")
    for line in lines:
        try:
            reply = server.reply(line)
        except ToSdkError:
            _serve_by_sdk(server, line, lines)
            return
        if reply:
            try:
                sys.stdout.buffer.write(reply + b"\n")
                sys.stdout.buffer.flush()
            except OSError:  # the client has left
                return


class LightServer:
    """What is answered without the SDK, for the project in `folder` and the database at `url`; `shown` are the points
    that the session was shown here, `handshake` the messages with which the client began."""

    def __init__(self, url: str, folder: str) -> None:
        self.url, self.folder = url, folder
        self.shown: set[str] = set()
        self.handshake: list[dict[str, Any]] = []
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lists.json"), encoding="utf-8") as file:
            self._lists: dict[str, Any] = json.load(file)

    def reply(self, line: bytes) -> bytes | None:
        """The answer to the message in *line*; None if it wants none. Raises ToSdkError."""
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
        result = self._result(method, params, message)
        return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode("ascii")

    def _note(self, method: str, message: "dict[str, Any]") -> None:
        """Take a notification."""
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
            content = [{"text": self._call(params.get("name"), params.get("arguments")), "type": "text"}]
            return {"content": content, "isError": False} | {
                name: value for name, value in extra.items() if name in ("_meta", "resultType")
            }
        result: dict[str, Any] | None = self._lists["results"].get(method)
        if result is None or not params.keys() <= {"_meta"} or (method == "server/discover" and not extra):
            raise ToSdkError
        return result | extra

    def _begin(self, params: "dict[str, Any]") -> "dict[str, Any]":
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(version, str) or not isinstance(client, dict) or not {"name", "version"} <= client.keys():
            raise ToSdkError
        if not isinstance(params.get("capabilities"), dict):
            raise ToSdkError
        versions: list[str] = self._lists["versions"]
        return {**self._lists["initialize"], "protocolVersion": version if version in versions else versions[-1]}

    def _extra(self, meta: object) -> "dict[str, Any]":
        """What a result has besides in the protocol without a handshake, whose messages say their version."""
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

    def _call(self, tool: object, arguments: object) -> str:
        """The answer of a *tool* that only reads."""
        if not isinstance(arguments, dict | None) or self._is_kept_out():
            raise ToSdkError
        rest = dict(arguments or {})
        if tool == "search":
            question, limit = rest.pop("question", None), _count(rest, "limit", 10, range(1, answers.MAX_POINTS + 1))
            if isinstance(question, str) and 0 < len(question) <= answers.MAX_QUESTION and not rest:
                return self._search(question, limit)
        elif tool == "list":
            section, limit = rest.pop("section", None), _count(rest, "limit", 30, range(1, answers.MAX_POINTS + 1))
            offset = _count(rest, "offset", 0, range(1_000_001))
            if section in (None, *SECTION_ORDER) and not rest:
                return self._list(section, offset, limit)
        raise ToSdkError

    def _is_kept_out(self) -> bool:
        """Whether the SDK's server has to say why nothing is read."""
        try:
            is_held_out = settings.is_held_out(settings.session(), settings.holdout())
        except SettingError:  # counts as 0
            is_held_out = False
        return is_held_out or quick_reads.is_ignored(self.url, self.folder) is not False

    def _search(self, question: str, limit: int) -> str:
        results = [quick_reads.search(self.url, folder, question) for folder in (self.folder, None)]
        hits: list[tuple[StoredPoint, float]] = []
        for result in results:
            if result is None:
                raise ToSdkError
            (of_playbook,), _ = result
            hits += of_playbook
        points = [point for point, _ in sorted(hits, key=lambda hit: hit[1], reverse=True)[:limit]]
        self.shown.update(point.name for point in points)
        return answers.hits_answer(question, points)

    def _list(self, section: str | None, offset: int, limit: int) -> str:
        listed = quick_reads.listing(self.url, self.folder)
        if listed is None:
            raise ToSdkError
        live, marks = listed
        page, more = answers.page_of(live, section, offset, limit)
        self.shown.update(point.name for point in page)
        return answers.page_answer(page, more, offset, marks, is_empty=not live)


def _count(arguments: "dict[str, Any]", name: str, default: int, allowed: range) -> int:
    """Take the number *name* from *arguments*. Raises ToSdkError if it isn't in *allowed*."""
    number = arguments.pop(name, default)
    if type(number) is not int or number not in allowed:
        raise ToSdkError
    return number


def _serve_by_sdk(server: LightServer, line: bytes, lines: "BinaryIO") -> None:
    """Serve *line* and the *lines* after it by the SDK. It gets the handshake first, whose answer is dropped, and reads
    and writes pipes in place of stdin and stdout."""
    from playbook_db.mcp_server import tools

    first = [dict(message) for message in server.handshake]
    if first:
        first[0]["id"] = _REPLAY
    wire = os.fdopen(os.dup(1), "wb")
    to_sdk, from_sdk = _pipe_for(0), _pipe_for(1)
    source = itertools.chain((json.dumps(message).encode() + b"\n" for message in first), [line], lines)
    threading.Thread(target=_copy, args=(source, to_sdk), daemon=True).start()
    replayed = f'"id":"{_REPLAY}"'.encode()
    answered = (each for each in iter(from_sdk.readline, _END) if replayed not in each[:100])
    writer = threading.Thread(target=_copy, args=(answered, wire))
    writer.start()
    try:
        tools.serve(server.url, server.folder, server.shown)
    finally:
        os.write(1, _END)  # the SDK leaves a copy of the pipe open
        writer.join()


def _pipe_for(descriptor: int) -> "BinaryIO":
    """Put a pipe in the place of *descriptor*, 0 or 1; its other end."""
    read_end, write_end = os.pipe()
    inner, outer = (read_end, write_end) if descriptor == 0 else (write_end, read_end)
    os.dup2(inner, descriptor)
    os.close(inner)
    return os.fdopen(outer, "wb" if descriptor == 0 else "rb")


def _copy(lines: "Iterable[bytes]", file: "BinaryIO") -> None:
    with suppress(OSError), file:  # the client, or the SDK's server, has ended
        for line in lines:
            file.write(line)
            file.flush()
