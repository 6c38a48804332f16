"""Bytes on a socket, as they are; and what every answer to bad input must not be."""

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

FIXTURES = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())
HOST = urlsplit(FIXTURES["base_url"]).netloc
ADDRESS = (urlsplit(FIXTURES["base_url"]).hostname, urlsplit(FIXTURES["base_url"]).port)
FORM = "application/x-www-form-urlencoded"
WEB = FIXTURES["clients"]["web"]
MIB = 1 << 20


@dataclass
class Answer:
    """A response; status 0 where the server closed without one."""

    status: int
    head: str
    body: bytes

    @property
    def error(self) -> str | None:
        """The OAuth error of a JSON body."""
        try:
            return json.loads(self.body).get("error")
        except (ValueError, AttributeError):
            return None

    def header(self, name: str) -> str | None:
        """A header, by its name in lower case."""
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.strip().lower() == name:
                return value.strip()
        return None


def connect(timeout: float = 15) -> socket.socket:
    """A new connection."""
    return socket.create_connection(ADDRESS, timeout)


def read(connection: socket.socket) -> Answer:
    """Reads one response."""
    received = b""
    try:
        while b"\r\n\r\n" not in received:
            piece = connection.recv(65536)
            if not piece:
                return Answer(0, received.decode("latin-1"), b"")
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        answer = Answer(int(head.split(b" ")[1]), head.decode("latin-1"), body)
        length = int(answer.header("content-length") or 0)
        while len(answer.body) < length and (piece := connection.recv(65536)):
            answer.body += piece
    except ConnectionError:
        return Answer(0, received.decode("latin-1"), b"")
    assert answer.status < 500, f"{answer.head}\n{answer.body[:300]!r}"
    return answer


def send_bytes(data: bytes) -> Answer:
    """Sends bytes, though the server may stop reading, and reads the response."""
    with connect() as connection:
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return read(connection)


def request(method: str, path: str, headers: dict[str, str | bytes] | None = None, body: bytes = b"") -> Answer:
    """One request on a connection of its own."""
    lines = [f"{method} {path} HTTP/1.1".encode("latin-1"), f"Host: {HOST}".encode()]
    for name, value in (headers or {}).items():
        lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode("latin-1")))
    if body or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}".encode())
    return send_bytes(b"\r\n".join(lines) + b"\r\n\r\n" + body)


def post_form(path: str, body: bytes | str, **headers: str) -> Answer:
    """A form."""
    raw = body if isinstance(body, bytes) else body.encode()
    return request("POST", path, {"Content-Type": FORM, **headers}, raw)


def as_web(fields: str) -> str:
    """Fields of a form, with the credentials of the client `web`."""
    return f"{fields}&client_id={WEB['client_id']}&client_secret={WEB['client_secret']}"


def resident_mib() -> float:
    """The server's resident memory."""
    for line in Path(f"/proc/{FIXTURES['pid']}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the server has no memory: it is gone")


def is_well() -> bool:
    """Whether the server goes on answering."""
    return request("GET", "/.well-known/openid-configuration").status == 200
