"""The suites: how each is installed and run, and which server it needs."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import result
from .result import Result
from .server import DEVELOPMENT, HTTP, HTTPS_ISSUER, IMPATIENT, Profile

CLIENTS = Path(__file__).resolve().parent.parent
PEERS = CLIENTS.parent / "loadtest" / "peers"
CHROMIUM = Path("/usr/bin/chromium")
LIMIT_SECONDS = 600


@dataclass(frozen=True)
class Suite:
    """One folder of tests."""

    name: str
    command: tuple[str, ...]
    # None: it needs no server, only the binary.
    profile: Profile | None
    read: Callable[[str], Result]
    installer: Callable[[Path], None] = lambda folder: None

    @property
    def folder(self) -> Path:
        """Where the suite lives."""
        return CLIENTS / self.name

    def install(self) -> None:
        """Brings what the suite's lock file names."""
        self.installer(self.folder)

    def run(self, fixtures: dict) -> Result:
        """Runs the tests; they read the fixtures from the file that SYMBOLON_FIXTURES names."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(fixtures, file)
            file.flush()
            status, text = _stream(self.command, self.folder, {**os.environ, "SYMBOLON_FIXTURES": file.name})
        counted = self.read(text)
        if status != 0 and not counted.failed:
            counted.add_failures([f"{self.command[0]} ended with {status}"])
        if not counted.passed and not counted.failed:
            counted.add_failures(["no test ran"])
        return counted


def _stream(command: tuple[str, ...], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Runs a command in a process group of its own, shows what it prints, and leaves nothing of it behind."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    # A suite that hangs is ended, not waited for.
    previous = signal.signal(signal.SIGALRM, lambda *_: os.killpg(process.pid, signal.SIGKILL))
    signal.alarm(LIMIT_SECONDS)
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            print(line, end="", flush=True)
        return process.wait(), "".join(lines)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def _installed(folder: Path, lock: str, target: str, install: Callable[[], None]) -> None:
    """Installs again only when the lock file changed."""
    digest = hashlib.sha256((folder / lock).read_bytes()).hexdigest()
    stamp = folder / target / ".lock-digest"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    install()
    stamp.write_text(digest)


def _npm(folder: Path) -> None:
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    install = lambda: subprocess.run(command, cwd=folder, check=True)  # noqa: E731
    _installed(folder, "package-lock.json", "node_modules", install)


def _peers(_: Path) -> None:
    """Each peer stands where whoever wants to load it looks for it."""
    for lock in sorted(PEERS.glob("*/package-lock.json")):
        _npm(lock.parent)


def _pip(folder: Path) -> None:
    def install() -> None:
        shutil.rmtree(folder / ".venv", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=folder, check=True)
        pip = [".venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([*pip, "-r", "requirements.txt"], cwd=folder, check=True)

    _installed(folder, "requirements.txt", ".venv", install)


def _go(folder: Path) -> None:
    subprocess.run(["go", "mod", "download"], cwd=folder, check=True)


def _k6(_: Path) -> None:
    # Built into Go's build cache.
    subprocess.run(["go", "tool", "-n", "k6"], cwd=CLIENTS.parent / "loadtest" / "k6", check=True)


def _generators(folder: Path) -> None:
    _k6(folder)
    subprocess.run(["go", "tool", "-n", "vegeta"], cwd=folder, check=True)


def _browser(folder: Path) -> None:
    _npm(folder)
    if not CHROMIUM.exists():
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        subprocess.run([*sudo, "apt-get", "update", "-q"], check=True)
        subprocess.run([*sudo, "apt-get", "install", "-qy", "--no-install-recommends", "chromium"], check=True)


NODE = ("node", "--test", "--test-reporter=spec", "--test-concurrency=1")
UNITTEST = (sys.executable, "-m", "unittest", "-v")
PYTEST = (".venv/bin/python", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider")

SUITES = {
    suite.name: suite
    for suite in (
        Suite("openid-client", NODE, HTTP, result.of_node, _npm),
        Suite("authlib", PYTEST, HTTP, result.of_pytest, _pip),
        Suite("go", ("go", "test", "-v", "-count=1", "./..."), HTTP, result.of_go, _go),
        Suite("contract", PYTEST, HTTPS_ISSUER, result.of_pytest, _pip),
        Suite("bad_input", UNITTEST, IMPATIENT, result.of_unittest),
        Suite("k6", UNITTEST, HTTP, result.of_unittest, _k6),
        Suite("browser", NODE, DEVELOPMENT, result.of_node, _browser),
        Suite("pages", NODE, HTTP, result.of_node, _browser),
        Suite("oidc-client-ts", NODE, HTTP, result.of_node, _browser),
        Suite("peers", UNITTEST, None, result.of_unittest, _peers),
        Suite("generators", UNITTEST, None, result.of_unittest, _generators),
    )
}
