"""A home and a project that are attacked from outside: by commands and hooks in processes of their own, and by HTTP
servers that say what they want."""

import gzip
import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.torture.promises import promise
from playbook_db.claude_code import registration
from playbook_db.cli.main import main as playbook
from tests.messages_api import Answer, Request, Usage
from tests.quoting import with_evidence
from tests.transcripts import TranscriptBuilder

_NURSERY = multiprocessing.get_context("forkserver")  # a command's imports take longer than its work
_NURSERY.set_forkserver_preload(["__main__", "anthropic", "playbook_db.services.learning.learn", __name__])
_PATIENCE_S = 60.0  # for what hung once; far more than anything takes on a busy machine
_HOOK_S = 10.0  # beyond a hook's deadline, on a busy machine: those that hung never ended
_TRIES = 3
_REPLY_BYTES = 30_000_000
ROOM_BYTES = 1 << 30  # of memory for a command; once 2.1 GB were taken


@dataclass(frozen=True, slots=True)
class Ended:
    code: int | None
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Life:
    """A home, and a project with an empty `.claude`."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def data(self) -> Path:
        return self.home / ".claude" / "playbook"

    @property
    def database(self) -> Path:
        return self.data / "playbook.db"

    def project(self, name: str = "project") -> Path:
        made = self.folder / name
        (made / ".claude").mkdir(parents=True, exist_ok=True)
        return made

    def environ(self, project: Path, **more: str) -> dict[str, str]:
        self.home.mkdir(exist_ok=True)
        path = os.environ.get("PATH", os.defpath)
        own = {"HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(project), "PLAYBOOK_NO_SETUP": "1"}
        return {"PATH": path, "PYTHONPATH": str(sandbox.ROOT), **own, **more}

    def command(self, *arguments: str, project: Path | None = None, may_end_with: int = 0, **environ: str) -> Ended:
        """Run `playbook` in a process of its own, with no terminal; it ends in time, and never with a bug."""
        place = project or self.project()
        said = [self.folder / "out", self.folder / "err"]
        given = (self.environ(place, **environ), place, arguments, said)
        process = _NURSERY.Process(target=_work, args=given)
        process.start()
        process.join(_PATIENCE_S)
        is_ended = process.exitcode is not None
        process.kill()
        process.join()
        out, err = (path.read_text("utf-8", "replace") for path in said)
        shown = f"playbook {' '.join(arguments)[:200]}"
        promise(is_ended, f"{shown} never ended")
        promise(process.exitcode in (0, may_end_with), f"{shown} ended with {process.exitcode}: {err[-2000:]}")
        return Ended(process.exitcode, out, err)

    def hook(
        self, name: str, *, project: Path | None = None, worker: str = "/bin/true", holds: bool = False, **options: Any
    ) -> str:
        """Run the hook as the client does, by way of a shell; it ends in time, with valid output. What it said.

        With *holds* nobody ever closes its standard input; *before* is done in the new process; *event* is another
        agent's, which is told nothing. On a machine so busy that its last resort ends it, it is run again.
        """
        place, before, others = project or self.project(), options.pop("before", None), options.pop("event", None)
        transcript = str(self.folder / f"{place.name}.jsonl")
        event = {"session_id": "s-1", "cwd": str(place), "transcript_path": transcript, "source": "startup"}
        event["hook_event_name"] = "SessionStart" if name == "inject" else "SessionEnd"
        event = others or event
        command = registration.command(
            name, scope="user", python=os.path.realpath(sys.executable), hooks_folder=str(sandbox.ROOT / "hooks"),
            worker_python=worker,
        )  # fmt: skip
        for _ in range(_TRIES):
            with subprocess.Popen(
                ["/bin/sh", "-c", command], env=self.environ(place, **options), stdin=subprocess.PIPE, cwd="/",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=before,
            ) as process:  # fmt: skip
                try:
                    if holds:
                        process.wait(_HOOK_S)
                    out, err = process.communicate(json.dumps(event).encode(), _HOOK_S)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    raise AssertionError(f"{name} hadn't ended after {_HOOK_S:g} s") from None
            if err != b"Alarm clock\n":
                break
        promise(process.returncode == 0 and not err, f"{name} ended with {process.returncode} and said {err[-500:]!r}")
        says_nothing = others or name == "enqueue"
        promise(out == b"" if says_nothing else isinstance(json.loads(out), dict), f"{name} said {out[:500]!r}")
        return out.decode()

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(query).fetchall()

    def session(self, project: Path, said: str = "mend the bug") -> str:
        """The transcript of a new session in *project*, in which this was *said*."""
        session = TranscriptBuilder(said)
        session.user(said)
        session.assistant("Done.")
        return session.write(self.folder / f"{project.name}.jsonl")

    def settings(self, project: Path, **env: str) -> dict[str, str]:
        """Let *project* bring *env*; what its sessions have then."""
        (project / ".claude" / "settings.json").write_text(json.dumps({"env": env}))
        return env

    def holds(self, *words: str) -> list[str]:
        """The files of the home that hold any of *words*."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        return [str(path) for path in files if any(word.encode() in path.read_bytes() for word in words)]


def _work(environ: Mapping[str, str], place: Path, arguments: tuple[str, ...], said: list[Path]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(place)
    resource.setrlimit(resource.RLIMIT_AS, (ROOM_BYTES, ROOM_BYTES))
    out, err = (path.open("w", encoding="utf-8", errors="surrogateescape") for path in said)
    with open(os.devnull) as sys.stdin, out as sys.stdout, err as sys.stderr:
        code = playbook(list(arguments))
    sys.exit(code)


def model(request: Request, **usage: int) -> Answer:
    """What a model says that is well: a reflection, or one new point."""
    if "bullet_tags" in json.dumps(request.body):
        text = with_evidence(json.dumps({"analysis": "It went well.", "bullet_tags": []}), request)
        return Answer(text, usage=Usage(**usage))
    added = {"type": "ADD", "text": "a lesson", "section": "OTHERS"}
    text = with_evidence(json.dumps({"reasoning": "It was new.", "operations": [added]}), request)
    return Answer(text, usage=Usage(**usage))


@contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    """The address of a server that lets *answer* write whatever it wants."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            with suppress(OSError):  # the client has heard enough
                answer(self)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def endless_reply(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.end_headers()
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 9}}
    data = f"event: content_block_delta\ndata: {json.dumps(event)}\n\n".encode() * 500
    handler.wfile.write(b'data: {"type": "message_start", "message": {"model": "m", "usage": {}}}\n\n')
    while True:
        handler.wfile.write(data)


def gzip_bomb(handler: BaseHTTPRequestHandler) -> None:
    _send_json(handler, gzip.compress(bytes(2 * 10**8), 1), encoding="gzip")


def long_reply(handler: BaseHTTPRequestHandler) -> None:
    text = json.dumps({"analysis": "x" * _REPLY_BYTES, "bullet_tags": []})
    content = [{"type": "text", "text": text}]
    _send_json(handler, json.dumps({"type": "message", "content": content, "stop_reason": "end_turn"}).encode())


def _send_json(handler: BaseHTTPRequestHandler, body: bytes, encoding: str = "identity") -> None:
    handler.send_response(200)
    for name, value in (("type", "application/json"), ("length", str(len(body))), ("encoding", encoding)):
        handler.send_header(f"content-{name}", value)
    handler.end_headers()
    handler.wfile.write(body)
