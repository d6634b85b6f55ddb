"""A page at an address of this machine alone, made anew when its files change."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nbest.base.errors import NbestError, ParameterError
from nbest.base.files import reason_of
from nbest.cli.console import Console
from nbest.report import Page
from nbest.report.html import HTML
from nbest.report.renderers import render

HOST = "127.0.0.1"
_OURS = (HOST, "localhost")


class Followed:
    """A page and the version of the files that it was made of; where making fails, what was made before stays."""

    def __init__(self, make: Callable[[], Page], version: Callable[[], str]) -> None:
        self.make, self.version = make, version
        self._lock = threading.Lock()
        self._made = version()
        self._text = self._render(make())

    def text(self) -> str:
        """The page of the files as they are now."""
        with self._lock:
            now = self.version()
            if now != self._made:
                try:
                    self._text = self._render(self.make())
                except NbestError as error:  # a file may be gone, or half of a run removed
                    self._text = self._render(Page("Report", [f"The page cannot be made: {error}"]))
                self._made = now
            return self._text

    @staticmethod
    def _render(page: Page) -> str:
        return render(page, HTML(follow=True))


def handler_of(followed: Followed) -> type[BaseHTTPRequestHandler]:
    """What answers requests: the page at /, its version at /version, and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        server_version = "nbest"
        sys_version = ""

        def do_GET(self) -> None:
            """The page or its version."""
            self._answer(body=True)

        def do_HEAD(self) -> None:
            """The same, without it."""
            self._answer(body=False)

        def _answer(self, *, body: bool) -> None:
            path = self.path.partition("?")[0]
            if str(self.headers.get("Host", "")).partition(":")[0] not in _OURS:  # of another site, by its name
                self._send(403, "text/plain", "this address is for this machine alone\n", body=body)
            elif path == "/":
                self._send(200, "text/html", followed.text(), body=body)
            elif path == "/version":
                self._send(200, "text/plain", followed.version(), body=body)
            else:
                self._send(404, "text/plain", "there is only one page, at /\n", body=body)

        def _send(self, code: int, kind: str, text: str, *, body: bool) -> None:
            data = text.encode("utf-8")
            self.send_response(code)
            headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(data))}
            headers |= {
                "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: nobody reads it."""

    return Handler


def server_of(followed: Followed, port: int) -> ThreadingHTTPServer:
    """A server on a port of this machine."""
    try:
        server = ThreadingHTTPServer((HOST, port), handler_of(followed))
    except OSError as error:
        raise ParameterError(f"port {port} cannot be had: {reason_of(error)}; name another one (--port)") from None
    server.daemon_threads = True
    return server


def serve(make: Callable[[], Page], version: Callable[[], str], console: Console, *, port: int, browse: bool) -> None:
    """Show the page until it is stopped (Ctrl-C)."""
    followed = Followed(make, version)
    with server_of(followed, port) as server:
        address = f"http://{HOST}:{server.server_address[1]}/"
        console.say(f"{address} shows the report, until Ctrl-C")
        if browse:
            webbrowser.open(address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            console.say("stopped")
