"""`nbest report --serve`: one page for this machine alone, which follows its files and ends cleanly."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from nbest.base.errors import FormatError, ParameterError
from nbest.cli.serving import Followed, server_of
from nbest.report import Page
from tests.cli.conftest import Run


class Book:
    """A page that can change and fail."""

    def __init__(self) -> None:
        self.text, self.number, self.made = "first", 0, 0

    def make(self) -> Page:
        self.made += 1
        if self.text == "broken":
            raise FormatError("x.json", None, "is damaged")
        return Page("Book", [self.text])

    def change(self, text: str) -> None:
        self.text, self.number = text, self.number + 1


@pytest.fixture
def served() -> Iterator[tuple[Book, int]]:
    book = Book()
    with server_of(Followed(book.make, lambda: str(book.number)), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield book, server.server_address[1]
        server.shutdown()
        thread.join()


def asked(port: int, path: str, method: str = "GET", host: str = "") -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_the_page_and_its_version(served: tuple[Book, int]) -> None:
    book, port = served
    answer, text = asked(port, "/")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "data-follow" in text
    assert "first" in text
    assert asked(port, "/version")[1] == "0"
    asked(port, "/")
    assert book.made == 1
    book.change("second")
    assert asked(port, "/version")[1] == "1"
    assert "second" in asked(port, "/?x=1")[1]
    assert book.made == 2
    head, nothing = asked(port, "/", "HEAD")
    assert (head.status, nothing) == (200, "")


def test_a_page_that_cannot_be_made_says_why_until_it_can(served: tuple[Book, int]) -> None:
    book, port = served
    book.change("broken")
    assert "The page cannot be made: x.json: is damaged" in asked(port, "/")[1]
    book.change("third")
    assert "third" in asked(port, "/")[1]


def test_everything_else_is_refused(served: tuple[Book, int]) -> None:
    _, port = served
    for path in ("/x", "/../etc/passwd", "/version/"):
        assert asked(port, path)[0].status == 404
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert asked(port, "/", method)[0].status == 501
    for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}"):
        answer, text = asked(port, "/", host=host)
        assert answer.status == 403
        assert "first" not in text
    assert asked(port, "/", host=f"localhost:{port}")[0].status == 200
    assert asked(port, "/", host="localhost")[0].status == 200


def test_a_port_that_is_taken(served: tuple[Book, int]) -> None:
    with pytest.raises(ParameterError, match="name another one"):
        server_of(Followed(Book().make, str), served[1])


def test_as_a_process_it_follows_and_ends(run: Run, folder: Path) -> None:
    lists = ("dev.nbest", "--refs", "dev.ref", "-m", "wer", "--test", "test.nbest", "--test-refs", "test.ref")
    assert run("compare", *lists, "--methods", "likelihood", "-o", "out").code == 0
    command = [sys.executable, "-m", "nbest", "report", "--serve", "--no-open", "out"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.match(r"http://127.0.0.1:(\d+)/ shows the report", said)
        assert found, said
        port = int(found[1])
        assert "MaxLikelihood" in asked(port, "/")[1]
        before = asked(port, "/version")[1]
        assert run("compare", *lists, "--methods", "risk", "-o", "out").code == 0
        assert asked(port, "/version")[1] != before
        assert "MinRisk" in asked(port, "/")[1]
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == "stopped\n"


def test_a_page_that_cannot_be_made_at_first_is_an_error(run: Run) -> None:
    done = run("report", "--serve", "--no-open", ".")
    assert done.code == 2
    assert "expected lists, or a directory" in done.err
