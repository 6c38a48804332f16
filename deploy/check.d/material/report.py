"""Collecting what is wrong, so that one run tells everything."""

import sys


class Findings:
    """What a check found wrong."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.wrong: list[str] = []

    def expect(self, holds: object, text: str) -> None:
        """Notes `text` unless `holds`."""
        if not holds:
            self.wrong.append(text)

    def end(self, good: str) -> None:
        """Ends the process with 1 and every finding, or says what is good."""
        if self.wrong:
            for text in self.wrong:
                print(f"{self.part}: {text}", file=sys.stderr)
            sys.exit(1)
        print(f"{self.part}: {good}")
