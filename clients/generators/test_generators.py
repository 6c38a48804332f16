"""k6, vegeta and `symbolon loadtest run` load one faulty server; each must say what the server did."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from faulty import LATE_SECONDS, PLAN, STALL, Faulty, fate, stalled

FOLDER = Path(__file__).resolve().parent
K6 = FOLDER.parents[1] / "loadtest" / "k6"
BINARY = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())["binary"]
RATE, SECONDS, TIMEOUT = 100, 5, 2
ARRIVALS = RATE * SECONDS
LIMIT_SECONDS = 120
# What a busy machine adds to a latency, in seconds. Latencies of the plan lie further apart.
SLACK = 0.25

SCENARIO = """
[[scenario]]
name = "thing"
[[scenario.request]]
name = "thing"
url = "/thing"
method = "POST"
status = [200]
"""


def tool(module: Path, name: str) -> str:
    """The program of a Go tool, built into Go's build cache."""
    found = subprocess.run(["go", "tool", "-n", name], cwd=module, check=True, capture_output=True, text=True)
    return found.stdout.strip()


class Loads(unittest.TestCase):
    """Loads of five hundred requests by each of the three."""

    fate = staticmethod(fate)

    def setUp(self):
        self._place = tempfile.TemporaryDirectory(prefix="symbolon-generators-")
        self.addCleanup(self._place.cleanup)
        self.place = Path(self._place.name)
        self.server = Faulty(self.fate, RATE)
        self.addCleanup(self.server.end)

    def run_here(self, *command: str, status: int = 0, **environment: str) -> str:
        """Runs a program to its end; what it printed."""
        done = subprocess.run(
            command,
            cwd=self.place,
            env={**os.environ, **environment, "PWD": str(self.place)},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def by_symbolon(self, status: int) -> dict:
        """What `symbolon loadtest run` says."""
        (self.place / "thing.toml").write_text(SCENARIO)
        load = ["--scenario-file", "thing.toml", "--rate", str(RATE), "--duration", f"{SECONDS}s", "--warm-up", "0s"]
        load += ["--timeout", f"{TIMEOUT}s", "--target", self.server.url, "--out", "report"]
        self.run_here(BINARY, "loadtest", "run", *load, status=status)
        return json.loads((self.place / "report" / "results.json").read_text())["runs"][0]

    def by_k6(self) -> dict:
        """What k6 says."""
        arguments = {"TARGET": self.server.url, "RATE": str(RATE), "SECONDS": str(SECONDS), "TIMEOUT": str(TIMEOUT)}
        # Nothing but the server is called.
        arguments |= {"K6_NO_USAGE_REPORT": "true", "K6_AUTO_EXTENSION_RESOLUTION": "false"}
        self.run_here(tool(K6, "k6"), "run", "--quiet", "--address", "", str(FOLDER / "load.js"), **arguments)
        return json.loads((self.place / "k6.json").read_text())

    def by_vegeta(self) -> tuple[dict, list[str]]:
        """What vegeta says, and its errors."""
        vegeta = tool(FOLDER, "vegeta")
        (self.place / "targets").write_text(f"POST {self.server.url}/thing\n")
        load = ["-targets", "targets", "-rate", str(RATE), "-duration", f"{SECONDS}s", "-timeout", f"{TIMEOUT}s"]
        self.run_here(vegeta, "attack", *load, "-output", "results.bin")
        report = json.loads(self.run_here(vegeta, "report", "-type", "json", "results.bin"))
        lines = self.run_here(vegeta, "encode", "-to", "json", "results.bin").splitlines()
        return report, [json.loads(line)["error"] for line in lines]


class Agreement(Loads):
    """What each says of requests that hang, are reset, refused, late."""

    def assert_right(self, counts: dict[str, int], seconds: dict[int, float], longest: float) -> None:
        """Counts are the server's, and percentiles those of its plan."""
        self.assertEqual(counts, dict(self.server.counts))
        arrivals = sum(counts.values())
        # k6 may begin one more at the very end.
        self.assertIn(arrivals, [ARRIVALS, ARRIVALS + 1])
        took = {"hang": TIMEOUT, "late": LATE_SECONDS}
        planned = sorted(took.get(fate(number), 0) for number in range(arrivals))
        for percentile, got in seconds.items():
            expected = planned[arrivals * percentile // 100 - 1]
            self.assertGreaterEqual(got, expected * 0.99, f"P{percentile}")
            self.assertLessEqual(got, expected + SLACK, f"P{percentile}")
        self.assertGreaterEqual(longest, TIMEOUT * 0.99)

    def test_the_plan_has_what_it_says(self):
        self.assertEqual(sorted(fate(number) for number in range(len(PLAN))), sorted(PLAN))

    def test_symbolon(self):
        run = self.by_symbolon(status=1)
        failures, wrong = run["failure_kinds"], run["wrong_kinds"]
        counts = {
            "hang": failures.pop("timeout"),
            "reset": failures.pop("connection_reset"),
            "refused": wrong.pop("thing: status"),
            # Late ones are right.
            "late": self.server.counts["late"],
        }
        counts["right"] = run["requests"] - sum(counts.values())
        self.assertEqual((failures, wrong, run["missed"]), ({}, {}, 0))
        self.assert_right(
            counts,
            {percentile: run[f"p{percentile}_ms"] / 1e3 for percentile in (50, 90, 99)},
            run["max_ms"] / 1e3,
        )

    def test_k6(self):
        metrics = self.by_k6()
        count = lambda name: metrics[name]["values"]["count"] if name in metrics else 0  # noqa: E731
        self.assertEqual(count("other"), 0)
        late = self.server.counts["late"]
        counts = {
            "hang": count("timeout"),
            "reset": count("reset"),
            "refused": count("refused"),
            "late": late,
            "right": count("right") - late,
        }
        took = metrics["http_req_duration"]["values"]
        seconds = {percentile: took[f"p({percentile})"] / 1e3 for percentile in (50, 90, 99)}
        self.assert_right(counts, seconds, took["max"] / 1e3)

    def test_vegeta(self):
        report, errors = self.by_vegeta()
        late = self.server.counts["late"]
        counts = {
            "hang": sum("Timeout" in error or "deadline" in error for error in errors),
            "reset": sum("reset" in error or "EOF" in error for error in errors),
            "refused": report["status_codes"]["503"],
            "late": late,
            "right": report["status_codes"]["200"] - late,
        }
        took = report["latencies"]
        names = {50: "50th", 90: "90th", 99: "99th"}
        seconds = {percentile: took[name] / 1e9 for percentile, name in names.items()}
        self.assert_right(counts, seconds, took["max"] / 1e9)


class Stall(Loads):
    """What each says of a second in which everything is held: it stands in the percentiles, and hides behind no wait."""

    fate = staticmethod(stalled)

    def assert_right(self, right: int, seconds: dict[int, float], longest: float) -> None:
        """All are answered rightly, and percentiles are those of the stall: a fifth waits for its end, evenly."""
        arrivals = sum(self.server.counts.values())
        self.assertEqual((right, self.server.counts["held"]), (arrivals, len(STALL)))
        self.assertIn(arrivals, [ARRIVALS, ARRIVALS + 1])
        waits = sorted((STALL.stop - number) / RATE if number in STALL else 0 for number in range(arrivals))
        for percentile, got in seconds.items():
            # k6 and vegeta count from the sending, which may be late itself.
            self.assertAlmostEqual(got, waits[arrivals * percentile // 100 - 1], delta=SLACK, msg=f"P{percentile}")
        self.assertGreaterEqual(longest, waits[-1] - SLACK)

    def test_symbolon(self):
        # A P99 of a second fails nothing by itself, nor does the rate: all of them were answered before the end.
        run = self.by_symbolon(status=0)
        self.assertEqual((run["failures"], run["wrong"], run["missed"]), (0, 0, 0))
        seconds = {percentile: run[f"p{percentile}_ms"] / 1e3 for percentile in (50, 90, 99)}
        self.assert_right(run["requests"], seconds, run["max_ms"] / 1e3)

    def test_k6(self):
        metrics = self.by_k6()
        took = metrics["http_req_duration"]["values"]
        seconds = {percentile: took[f"p({percentile})"] / 1e3 for percentile in (50, 90, 99)}
        self.assert_right(metrics["right"]["values"]["count"], seconds, took["max"] / 1e3)

    def test_vegeta(self):
        report, errors = self.by_vegeta()
        self.assertEqual(set(errors), {""})
        took = report["latencies"]
        names = {50: "50th", 90: "90th", 99: "99th"}
        seconds = {percentile: took[name] / 1e9 for percentile, name in names.items()}
        self.assert_right(report["status_codes"]["200"], seconds, took["max"] / 1e9)


if __name__ == "__main__":
    unittest.main()
