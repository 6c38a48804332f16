"""An agent's process: told what to do, and heard, line by line.

It writes `{"open": ADDRESS}` where a person has to visit an address, and reads `{"callback": ADDRESS}`, where they were
led back to. It writes `{"ready": true, "client_id": ID}` once it is connected. It reads `{"call": TOOL}`, and writes
`{"result": TEXT}`. It ends with `{"error": TEXT}` where the SDK gives up.
"""

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

LIMIT_SECONDS = 120


class Agent:
    """Starts at once. `visit` is what a person does with an address; it answers with where that led."""

    def __init__(self, command: list[str], log: Path, setting: dict, visit: Callable[[str], str]):
        self.output = log
        # The addresses that the person visited.
        self.visited: list[str] = []
        self._visit = visit
        self._lines: queue.Queue[str] = queue.Queue()
        tests_own = ("SYMBOLON_", "PYTHON")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(tests_own)}
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, json.dumps(setting)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                text=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put('{"error": "it ended"}')

    def wait(self) -> dict:
        """What it says next; meanwhile the person visits what it asks for."""
        while True:
            message = json.loads(self._lines.get(timeout=LIMIT_SECONDS))
            assert "error" not in message, f"{message['error']}\n{self.tail()}"
            if "open" not in message:
                return message
            self.visited.append(message["open"])
            self._tell({"callback": self._visit(message["open"])})

    def call(self, tool: str) -> str:
        """Has it call a tool, and answers with the result."""
        self._tell({"call": tool})
        return self.wait()["result"]

    def _tell(self, message: dict) -> None:
        self._process.stdin.write(f"{json.dumps(message)}\n")
        self._process.stdin.flush()

    def tail(self) -> str:
        """The end of what it printed about errors."""
        return self.output.read_text(errors="replace")[-6000:]

    def stop(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
