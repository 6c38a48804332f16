"""A server under test: free ports, a fresh directory, and nothing left behind."""

import ctypes
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .admin import Admin, Refused
from .furniture import furnish

START_SECONDS = 120
STOP_SECONDS = 25
PR_SET_PDEATHSIG = 1


class ServerFailed(Exception):
    """The server did not start, or broke while clients and users were made."""


@dataclass(frozen=True)
class Profile:
    """How a server is configured."""

    issuer_scheme: str | None
    environment: dict[str, str] = field(default_factory=dict)
    # The listener itself speaks TLS, by a certificate that is made for it.
    tls: bool = False
    # The host of its URL, at the loopback address.
    host: str = "127.0.0.1"


HTTP = Profile("http")
# It may call the applications, which are on loopback: back-channel logout.
CALLING = Profile("http", {"SYMBOLON_OUTBOUND_ALLOW_PRIVATE": "true"})
# A passkey is bound to a name: WebAuthn takes no address (Level 3, 5.1.3).
NAMED = Profile("http", host="localhost")
# The load scripts turn http into https for `iss`; the listener stays plain. Some of them sign in by passkeys.
HTTPS_ISSUER = Profile("https", {"SYMBOLON_SESSION_COOKIE": "authrim_session"}, host="localhost")
# For who takes no issuer but over TLS.
TLS = Profile("https", tls=True)
# Slow clients are cut off soon enough for a test to wait for it; what is off by default is off.
IMPATIENT = Profile(
    "http",
    {
        "SYMBOLON_HTTP_HEADER_TIMEOUT": "2s",
        "SYMBOLON_HTTP_REQUEST_TIMEOUT": "4s",
        "SYMBOLON_HTTP_IDLE_TIMEOUT": "6s",
        "SYMBOLON_TEST_ENDPOINTS": "false",
    },
)
# No configuration at all, as `cargo run` starts it; other ports only where the usual ones are taken.
DEVELOPMENT = Profile(None)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


# Loaded once: between fork and exec, beside other threads, as little as possible is done.
_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """Starts in `with`, is always stopped at its end."""

    def __init__(self, binary: Path, profile: Profile):
        self.profile = profile
        self.folder = Path(tempfile.mkdtemp(prefix="symbolon-clients-"))
        self.output = self.folder / "server.log"
        self.admin_secret = secrets.token_hex(24)
        self.base_url = ""
        self.management_url = ""
        self.certificate: Path | None = None
        self._command = [str(binary)]
        self._process: subprocess.Popen | None = None
        self._exit: int | str | None = None

    def _environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("SYMBOLON_")}
        if self.profile.issuer_scheme is None:
            if not (_is_free(8080) and _is_free(9090)):
                public, management = _free_ports(2)
                self._command += ["serve", "--listen", f"127.0.0.1:{public}"]
                self._command += ["--management-listen", f"127.0.0.1:{management}"]
            return own
        self._command += ["serve"]
        public, management = _free_ports(2)
        self.management_url = f"http://127.0.0.1:{management}"
        return {
            **own,
            **(self._make_certificate() if self.profile.tls else {}),
            "SYMBOLON_ISSUER": f"{self.profile.issuer_scheme}://{self.profile.host}:{public}",
            "SYMBOLON_LISTEN": f"127.0.0.1:{public}",
            "SYMBOLON_MANAGEMENT_LISTEN": f"127.0.0.1:{management}",
            "SYMBOLON_DATA_DIR": str(self.folder / "data"),
            "SYMBOLON_ADMIN_SECRET": self.admin_secret,
            "SYMBOLON_ADMIN_ON_PUBLIC": "true",
            "SYMBOLON_TEST_ENDPOINTS": "true",
            "SYMBOLON_RATE_LIMITS": "off",
            **self.profile.environment,
        }

    def _make_certificate(self) -> dict[str, str]:
        """A certificate for the loopback address, which is its own CA."""
        self.certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
        command += ["-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run(command, check=True, capture_output=True)
        return {"SYMBOLON_TLS_CERTIFICATE_FILE": str(self.certificate), "SYMBOLON_TLS_KEY_FILE": str(key)}

    def __enter__(self) -> "Server":
        environment = self._environment()
        try:
            with self.output.open("wb") as log:
                self._process = subprocess.Popen(
                    self._command,
                    cwd=self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_die_with_parent,
                )
            self.base_url = self._wait_until_ready().replace("127.0.0.1", self.profile.host)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _wait_until_ready(self) -> str:
        """Reads the output up to `listening on URL`. A file holds it: a full pipe would stop the server."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            found = re.search(r"^listening on (https?://\S+)$", self.output.read_text(errors="replace"), re.MULTILINE)
            if found:
                return found[1].replace("127.0.0.1", self.profile.host)
            time.sleep(0.02)
        raise ServerFailed(f"the server did not say `listening on`; it printed: {self._tail()}")

    def furnish(self) -> dict:
        """Makes clients and users, and answers with all that a suite must know."""
        fixtures = {"base_url": self.base_url, "issuer": self.base_url, "pid": self._process.pid}
        fixtures["binary"] = self._command[0]
        if self.profile.issuer_scheme is None:
            return fixtures
        fixtures["issuer"] = re.sub("^https?", self.profile.issuer_scheme, self.base_url)
        fixtures["ca"] = str(self.certificate) if self.certificate else None
        fixtures["management_url"] = self.management_url
        fixtures["admin_secret"] = self.admin_secret
        try:
            fixtures.update(furnish(Admin(self.management_url, self.admin_secret)))
        except (Refused, OSError) as problem:
            raise ServerFailed(f"clients and users could not be made: {problem}") from problem
        return fixtures

    def _stop(self) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()
            try:
                self._exit = process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._exit = f"still alive {STOP_SECONDS} s after SIGTERM"
        else:
            self._exit = f"gone before it was told to stop, with {process.returncode}"
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def complaints(self) -> list[str]:
        """What was wrong with the server itself."""
        found = [f"the server was {self._exit}"] if self._exit not in (0, None) else []
        text = self.output.read_text(errors="replace")
        found += [line for line in text.splitlines() if "panicked at" in line]
        return found

    def _tail(self) -> str:
        return self.output.read_text(errors="replace")[-2000:].strip() or "nothing"

    def keep_output(self) -> Path:
        """Keeps the output, and removes the data."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        shutil.rmtree(self.folder / "symbolon-data", ignore_errors=True)
        return self.output

    def forget(self) -> None:
        """Removes everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
