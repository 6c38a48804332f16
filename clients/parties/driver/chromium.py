"""A browser that runs scripts and frames, and keeps cookies as people's browsers do: headless Chromium."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from .browser import Person

STOP_SECONDS = 10


@dataclass
class View:
    """What a tab shows; and what all tabs and their frames asked for, and wrote to the console, since the last look."""

    url: str
    text: str
    asked: list[str]
    said: list[str]

    def __str__(self) -> str:
        return f"{self.url}, asked for {self.asked}, said {self.said}\n{self.text[:3000]}"


class Chromium:
    """One person's browser. Runs in `with`."""

    def __init__(self, provider: str, person: Person):
        self._provider = provider
        self._person = person
        self._process: subprocess.Popen | None = None

    def __enter__(self) -> Self:
        script = Path(__file__).with_name("chromium.mjs")
        self._process = subprocess.Popen(
            ["node", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # At the end of its input it closes the browser.
        self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def open(self, tab: str, url: str) -> View:
        """Goes to an address in a tab, which is opened if it is new."""
        return self._do(tab, "open", url=url)

    def sign_in(self, tab: str, url: str) -> View:
        """Goes to an address that leads to the provider's sign-in, signs in, and allows what is asked for."""
        self.open(tab, url)
        own = {"provider": self._provider, "email": self._person.email, "password": self._person.password}
        return self._do(tab, "sign_in", **own)

    def press(self, tab: str, selector: str) -> View:
        """Presses a button or link."""
        return self._do(tab, "press", selector=selector)

    def wait_for(self, tab: str, selector: str) -> View:
        """Waits until the tab has such an element, wherever it has gone meanwhile."""
        return self._do(tab, "wait_for", selector=selector)

    def look(self, tab: str) -> View:
        """What a tab shows."""
        return self._do(tab, "look")

    def _do(self, tab: str, command: str, **more: str) -> View:
        self._process.stdin.write(json.dumps({"tab": tab, "command": command, **more}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "Chromium's process has ended"
        told = json.loads(line)
        assert "error" not in told, f"{command} {more} in the tab {tab}: {told['error']}"
        return View(**told)
