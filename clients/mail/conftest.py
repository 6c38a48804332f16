"""A provider that a test may kill, and a server of mail that does what a test says."""

import json
import os
import secrets
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

BINARY = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())["binary"]
USER, PASSWORD = "provider@example.com", "p:w@rd/1"


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(holds, seconds: float = 20) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to hold in time"
        time.sleep(0.05)


class MailServer:
    """aiosmtpd, which keeps what it took."""

    def __init__(self, port: int | None = None, **options):
        self.port = port or free_port()
        self.taken: list = []
        # Answers to recipients, each used once; None is the usual one.
        self.to_recipients: list[str] = []
        # How long the server thinks about a text, in seconds; and whether it then takes it.
        self.thinks = 0.0
        self._options = options
        self._controller: Controller | None = None

    def start(self) -> "MailServer":
        """Opens the port."""
        self._controller = Controller(self, "127.0.0.1", self.port, **self._options)
        self._controller.start()
        return self

    def stop(self) -> None:
        """Closes the port."""
        if self._controller:
            self._controller.stop()
            self._controller = None

    async def handle_RCPT(self, server, session, envelope, address, options):
        """One recipient."""
        if self.to_recipients:
            return self.to_recipients.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        """One mail."""
        import asyncio

        self.taken.append((envelope, session))
        if self.thinks:
            await asyncio.sleep(self.thinks)
        return "250 taken"

    @property
    def recipients(self) -> list[str]:
        """Whom the mails that came were for, in their order."""
        return [envelope.rcpt_tos[0] for envelope, _ in self.taken]


class Provider:
    """The binary with a data directory that outlives it."""

    def __init__(self, folder: Path, **environment: str):
        self._folder = folder
        self._environment = environment
        self._secret = secrets.token_hex(24)
        self._public, self._management = free_port(), free_port()
        self._process: subprocess.Popen | None = None

    def start(self) -> "Provider":
        """Starts it on the same data."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("SYMBOLON_")}
        environment = {
            **own,
            "SYMBOLON_ISSUER": f"http://127.0.0.1:{self._public}",
            "SYMBOLON_LISTEN": f"127.0.0.1:{self._public}",
            "SYMBOLON_MANAGEMENT_LISTEN": f"127.0.0.1:{self._management}",
            "SYMBOLON_DATA_DIR": str(self._folder / "data"),
            "SYMBOLON_ADMIN_SECRET": self._secret,
            "SYMBOLON_TEST_ENDPOINTS": "true",
            "SYMBOLON_MAIL_FROM": "Example <no-reply@op.example>",
            **self._environment,
        }
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen([BINARY, "serve"], env=environment, stdout=log, stderr=log)
        wait_until(self._is_ready)
        return self

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self.log()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._management}/readyz", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def log(self) -> str:
        """What it printed."""
        return (self._folder / "log").read_text(errors="replace")

    def queue(self, to: str, **more) -> float:
        """Puts a mail into the queue; how long that took, in seconds."""
        body = json.dumps({"to": to, "code": "042137", **more}).encode()
        url = f"http://127.0.0.1:{self._management}/api/admin/test/mails"
        request = urllib.request.Request(url, body, method="POST")
        request.add_header("Authorization", f"Bearer {self._secret}")
        request.add_header("Content-Type", "application/json")
        began = time.monotonic()
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.load(answer) == {"queued": True}
        return time.monotonic() - began

    def events(self, name: str) -> list[dict]:
        """The records of an event in the audit log."""
        url = f"http://127.0.0.1:{self._management}/api/admin/audit-logs?limit=100&event={name}"
        request = urllib.request.Request(url)
        request.add_header("Authorization", f"Bearer {self._secret}")
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["audit_logs"]

    def kill(self) -> None:
        """Ends it as a crash does."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ends it in order."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(timeout=20) == 0, self.log()


@pytest.fixture
def folder():
    """A directory of the test's own."""
    with tempfile.TemporaryDirectory(prefix="symbolon-mail-") as name:
        yield Path(name)


@pytest.fixture
def provider(folder):
    """Makes providers, and stops them."""
    made: list[Provider] = []

    def make(**environment: str) -> Provider:
        made.append(Provider(folder, **environment))
        return made[-1].start()

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def mail_server():
    """Makes servers of mail, and stops them."""
    made: list[MailServer] = []

    def make(**options) -> MailServer:
        made.append(MailServer(**options))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def password_checker(server, session, envelope, mechanism, data) -> AuthResult:
    """Knows one user."""
    is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_right)


@pytest.fixture
def certificate(folder) -> tuple[Path, ssl.SSLContext]:
    """A certificate for `localhost` that is its own root, and a server's context with it."""
    key, chain = folder / "key.pem", folder / "chain.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(chain), "-days", "2", "-subj", "/CN=localhost"]
    # Of a server, not of an authority: no client takes the one for the other.
    command += ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return chain, context
