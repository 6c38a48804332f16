"""A party's process: started, waited for, and never left behind."""

import ctypes
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

# On a slow machine, beside others, Java takes minutes.
START_SECONDS = 300
STOP_SECONDS = 10
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _own_environment() -> dict[str, str]:
    """What the party would have without the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SYMBOLON_", "PYTHON"))}


class Process:
    """Starts at once; `wait_until_ready` says when it serves."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str] | None = None):
        self.output = folder / f"{Path(command[0]).name}.log"
        self._command = command
        with self.output.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**_own_environment(), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def wait_until_ready(self, url: str) -> None:
        """Asks until there is an answer, though it be a redirect or a refusal, that is not a proxy's."""

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: object) -> None:
                return None

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay())
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                opener.open(url, timeout=START_SECONDS).close()
                return
            except urllib.error.HTTPError as answer:
                if answer.code != 404 and answer.code < 500:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"{self._command[0]} did not serve {url}; it printed: {self.tail()}")

    def tail(self) -> str:
        """The end of what it printed."""
        return self.output.read_text(errors="replace")[-6000:]

    def stop(self) -> None:
        """Ends it and what it started."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
