"""The suites: how each is installed and run, and which server it needs."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import result
from .result import Result
from .server import CALLING, DEVELOPMENT, HTTP, HTTPS_ISSUER, IMPATIENT, NAMED, TLS, Profile

CLIENTS = Path(__file__).resolve().parent.parent
PARTIES = CLIENTS / "parties"
PEERS = CLIENTS.parent / "loadtest" / "peers"
APACHE_MODULE = Path("/usr/lib/apache2/modules/mod_auth_openidc.so")
# Only for what hangs: on a slow machine, beside others, a suite may take ten times as long as alone on a fast one.
LIMIT_SECONDS = 2400


@dataclass(frozen=True)
class Suite:
    """One folder of tests."""

    name: str
    command: tuple[str, ...]
    # None: it needs no server, only the binary.
    profile: Profile | None
    read: Callable[[str], Result]
    installer: Callable[[Path], None] = lambda folder: None
    # Measures times or load, which other suites beside it would spoil.
    runs_alone: bool = False

    @property
    def folder(self) -> Path:
        """Where the suite lives."""
        return CLIENTS / self.name

    def install(self) -> None:
        """Brings what the suite's lock file names."""
        self.installer(self.folder)

    @property
    def is_party(self) -> bool:
        """Whether it is an application that others publish."""
        return self.folder.parent == PARTIES

    def run(self, fixtures: dict, show: Callable[[str], None]) -> Result:
        """Runs the tests; they read the fixtures from the file that SYMBOLON_FIXTURES names."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(fixtures, file)
            file.flush()
            environment = {**os.environ, "SYMBOLON_FIXTURES": file.name}
            if self.is_party:
                # The tests of all parties share the package `driver`.
                environment["PYTHONPATH"] = str(PARTIES)
            status, text = _stream(self, environment, show)
        counted = self.read(text)
        if status != 0 and not counted.failed:
            counted.add_failures([f"{self.command[0]} ended with {status}"])
        if not counted.passed and not counted.failed:
            counted.add_failures(["no test ran"])
        return counted


def _stream(suite: Suite, environment: dict[str, str], show: Callable[[str], None]) -> tuple[int, str]:
    """Runs a suite in a process group of its own, shows what it prints, and leaves nothing of it behind."""
    process = subprocess.Popen(
        suite.command,
        cwd=suite.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    # A suite that hangs is ended, not waited for.
    limit = threading.Timer(LIMIT_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    limit.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            show(line.rstrip("\n"))
        return process.wait(), "".join(lines)
    finally:
        limit.cancel()
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def _installed(folder: Path, sources: list[str], target: str, install: Callable[[], None]) -> None:
    """Installs again only when one of the files changed that say what is installed."""
    digest = hashlib.sha256(b"".join((folder / source).read_bytes() for source in sources)).hexdigest()
    stamp = folder / target / ".lock-digest"
    if stamp.is_file() and stamp.read_text() == digest:
        return
    install()
    stamp.write_text(digest)


def _npm(folder: Path) -> None:
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    install = lambda: subprocess.run(command, cwd=folder, check=True)  # noqa: E731
    _installed(folder, ["package-lock.json"], "node_modules", install)


def _peers(_: Path) -> None:
    """Each peer stands where whoever wants to load it looks for it."""
    for lock in sorted(PEERS.glob("*/package-lock.json")):
        _npm(lock.parent)


def _pip(folder: Path) -> None:
    def install() -> None:
        shutil.rmtree(folder / ".venv", ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=folder, check=True)
        pip = [".venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        # Most modules are never imported: they need not be compiled.
        subprocess.run([*pip, "--no-compile", "-r", "requirements.txt"], cwd=folder, check=True)

    _installed(folder, ["requirements.txt"], ".venv", install)


def _go(folder: Path) -> None:
    subprocess.run(["go", "mod", "download"], cwd=folder, check=True)


def _k6(_: Path) -> None:
    # Built into Go's build cache.
    subprocess.run(["go", "tool", "-n", "k6"], cwd=CLIENTS.parent / "loadtest" / "k6", check=True)


def _generators(folder: Path) -> None:
    _k6(folder)
    subprocess.run(["go", "tool", "-n", "vegeta"], cwd=folder, check=True)


# Debian's installer runs once at a time.
_INSTALLER = threading.Lock()


def _need(command: str, *packages: str) -> None:
    """Installs Debian's packages unless the command is there already."""
    with _INSTALLER:
        if shutil.which(command) is None:
            subprocess.run([str(CLIENTS.parent / "scripts" / "install"), *packages], check=True)


def _browser(folder: Path) -> None:
    _npm(folder)
    _need("chromium-headless-shell", "chromium-headless-shell")


# Two suites share what it protects.
_PAGES = threading.Lock()


def _pages(_: Path) -> None:
    with _PAGES:
        _browser(CLIENTS / "pages")
    # Moves the clock of a provider.
    _need("faketime", "faketime")


def _oauth2_proxy(folder: Path) -> None:
    subprocess.run(["go", "tool", "-n", "oauth2-proxy"], cwd=folder, check=True)


# Suites that share it run beside each other.
_DRIVER = threading.Lock()


def _driver(_: Path) -> None:
    """The browser that parties are tried with."""
    with _DRIVER:
        _npm(PARTIES / "driver")
    _need("chromium-headless-shell", "chromium-headless-shell")


def _apache(folder: Path) -> None:
    # The module alone: Debian's package `apache2` would start a server.
    _need(str(APACHE_MODULE), "libapache2-mod-auth-openidc", "media-types")
    _driver(folder)


def _kubernetes(folder: Path) -> None:
    # Fills Go's build cache.
    subprocess.run(["go", "build", "-o", os.devnull, "."], cwd=folder, check=True)
    _need("openssl", "openssl")


def _maven(folder: Path) -> None:
    _need("javac", "default-jdk-headless")
    _need("mvn", "maven")
    sources = sorted(str(path.relative_to(folder)) for name in ("*.java", "pom.xml") for path in folder.rglob(name))
    build = lambda: subprocess.run(["mvn", "--batch-mode", "--quiet", "package"], cwd=folder, check=True)  # noqa: E731
    _installed(folder, sources, "boot4/target", build)


def _openid_client(folder: Path) -> None:
    _npm(folder)
    _driver(folder)


def _signed_out(_: Path) -> None:
    """The applications that it signs out are those of their own suites."""
    _apache(PARTIES / "mod-auth-openidc")
    _openid_client(PARTIES / "openid-client")
    _maven(PARTIES / "spring-boot")


def _pip_and_npm(folder: Path) -> None:
    _pip(folder)
    _npm(folder)


NODE = ("node", "--test", "--test-reporter=spec", "--test-concurrency=1")
UNITTEST = (sys.executable, "-m", "unittest", "-v")
PYTEST = (".venv/bin/python", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider")

SUITES = {
    suite.name: suite
    for suite in (
        # The longest first, since they run beside each other.
        Suite("pages-own-provider", NODE, NAMED, result.of_node, _pages),
        Suite("pages", NODE, NAMED, result.of_node, _pages),
        Suite("parties/spring-boot", UNITTEST, CALLING, result.of_unittest, _maven),
        Suite("parties/jupyterhub", UNITTEST, HTTP, result.of_unittest, _pip_and_npm),
        Suite("parties/kubernetes", UNITTEST, TLS, result.of_unittest, _kubernetes),
        Suite("bad_input", UNITTEST, IMPATIENT, result.of_unittest),
        # It starts and kills servers of its own.
        Suite("mail", PYTEST, None, result.of_pytest, _pip),
        Suite("browser", NODE, DEVELOPMENT, result.of_node, _browser),
        Suite("contract", PYTEST, HTTPS_ISSUER, result.of_pytest, _pip),
        Suite("openid-client", NODE, HTTP, result.of_node, _npm),
        Suite("authlib", PYTEST, HTTP, result.of_pytest, _pip),
        Suite("oidc-client-ts", NODE, HTTP, result.of_node, _browser),
        Suite("parties/django", UNITTEST, HTTP, result.of_unittest, _pip),
        Suite("parties/mcp", UNITTEST, HTTP, result.of_unittest, _pip_and_npm),
        Suite("parties/auth-js", UNITTEST, HTTP, result.of_unittest, _npm),
        Suite("parties/oauth2-proxy", UNITTEST, HTTP, result.of_unittest, _oauth2_proxy),
        Suite("parties/mod-auth-openidc", UNITTEST, CALLING, result.of_unittest, _apache),
        Suite("parties/openid-client", UNITTEST, CALLING, result.of_unittest, _openid_client),
        Suite("parties/introspecting-api", UNITTEST, HTTP, result.of_unittest),
        Suite("go", ("go", "test", "-v", "-count=1", "./..."), HTTP, result.of_go, _go),
        # It measures how long applications take to sign somebody out.
        Suite("parties/signed-out", UNITTEST, CALLING, result.of_unittest, _signed_out, runs_alone=True),
        Suite("k6", UNITTEST, HTTP, result.of_unittest, _k6, runs_alone=True),
        Suite("peers", UNITTEST, None, result.of_unittest, _peers, runs_alone=True),
        Suite("generators", UNITTEST, None, result.of_unittest, _generators, runs_alone=True),
    )
}
