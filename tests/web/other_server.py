"""The server of another program on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"


class OtherServer:
    """Serves *page* at each path with a cookie; `asked` has the path, cookies and referrer of each request."""

    def __init__(self, page: str = "<!doctype html><title>elsewhere</title>") -> None:
        self.asked: list[tuple[str, str, str]] = []
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None: ...

            def do_GET(self) -> None:
                asked.append((self.path, self.headers.get("cookie", ""), self.headers.get("referer", "")))
                self.send_response(200)
                self.send_header("set-cookie", "everywhere=1; Path=/; HttpOnly; SameSite=Strict")
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(page.encode())

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self.address = f"http://{HOST}:{self._server.server_port}"

    def __enter__(self) -> "OtherServer":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
