"""How many tests passed and failed, read from what a test runner printed."""

import re
from dataclasses import dataclass, field


@dataclass
class Result:
    """Counts of one suite, or of several."""

    passed: int = 0
    failed_tests: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Tests that failed, and failures around them."""
        return self.failed_tests + len(self.failures)

    def add_failures(self, failures: list[str]) -> None:
        """Takes in what went wrong outside the tests."""
        self.failures.extend(failures)

    def __add__(self, other: "Result") -> "Result":
        return Result(
            self.passed + other.passed, self.failed_tests + other.failed_tests, self.failures + other.failures
        )

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def of_node(text: str) -> Result:
    """`node --test`: a cancelled test is a failed one."""
    failed = _last(r"^\S+ fail (\d+)$", text) + _last(r"^\S+ cancelled (\d+)$", text)
    return Result(_last(r"^\S+ pass (\d+)$", text), failed)


def of_pytest(text: str) -> Result:
    """pytest's last line."""
    summaries = re.findall(r"^.* in \d+\.\d+s.*$", text, re.MULTILINE)
    text = summaries[-1] if summaries else ""
    failed = _last(r"(\d+) failed", text) + _last(r"(\d+) errors?\b", text)
    return Result(_last(r"(\d+) passed", text), failed)


def of_unittest(text: str) -> Result:
    """unittest's `Ran N tests` and what follows it."""
    failed = _last(r"failures=(\d+)", text) + _last(r"errors=(\d+)", text)
    # Parts of one test fail one by one.
    return Result(max(0, _last(r"^Ran (\d+) tests?", text) - failed), failed)


def of_go(text: str) -> Result:
    """`go test -v`: whole tests, not their parts."""
    return Result(len(re.findall(r"^--- PASS", text, re.MULTILINE)), len(re.findall(r"^--- FAIL", text, re.MULTILINE)))
