"""The scripts of loadtest/k6: every scenario, false expectations, and agreement with `symbolon loadtest run`."""

import json
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

K6 = Path(__file__).resolve().parents[2] / "loadtest" / "k6"
FIXTURES = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())
SCENARIOS = [
    *["silent", "userinfo", "exchange", "code", "introspect"],
    *["client-credentials", "login", "discovery"],
]
# k6: a threshold was crossed, a script threw.
CROSSED, THROWN = 99, 107
LIMIT_SECONDS = 120


class Place:
    """A directory, a seed, and what runs in it."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="symbolon-k6-")
        self.folder = Path(self._folder.name)
        found = subprocess.run(["go", "tool", "-n", "k6"], cwd=K6, check=True, capture_output=True, text=True)
        self._k6 = found.stdout.strip()
        self.target = ["--target", FIXTURES["base_url"], "--admin-secret", FIXTURES["admin_secret"]]
        little = ["--users", "200", "--tokens", "1000", "--families", "128"]
        seeded = self.symbolon("seed", *self.target, *little, "--algorithm", "ES256", "--out", "seed.json")
        assert seeded.returncode == 0, seeded.stderr

    def remove(self) -> None:
        self._folder.cleanup()

    def symbolon(self, *arguments: str) -> subprocess.CompletedProcess:
        """`symbolon loadtest` with these arguments."""
        command = [FIXTURES["binary"], "loadtest", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_SECONDS)

    def begin(self, scenario: str, summary: str, *arguments: str, **settings: str) -> subprocess.Popen:
        """Starts a script; its settings stand in the environment."""
        usual = {"TARGET": FIXTURES["base_url"], "SEED": "seed.json", "WARM_UP": "1s", "VUS": "64"}
        environment = {**os.environ, **usual, **settings, "K6": self._k6, "SUMMARY": summary}
        # The scripts find relative paths by it; subprocess leaves it as it was.
        environment["PWD"] = str(self.folder)
        return subprocess.Popen(
            [K6 / "run", scenario, *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, scenario: str, summary: str, *arguments: str, **settings: str) -> tuple[int, str]:
        """Runs a script to its end."""
        return end(self.begin(scenario, summary, *arguments, **settings))

    def read(self, name: str) -> dict:
        """A JSON file."""
        return json.loads((self.folder / name).read_text())


def end(process: subprocess.Popen) -> tuple[int, str]:
    """Waits; the exit status and what was printed."""
    try:
        text, _ = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
    return process.returncode, text


def setUpModule() -> None:
    global PLACE
    PLACE = Place()
    unittest.addModuleCleanup(PLACE.remove)


class Scripts(unittest.TestCase):
    """What the scripts say of a provider that answers as it must, and of one that does not."""

    def test_every_scenario_and_two_instances_at_once(self):
        began = {}
        for scenario in SCENARIOS:
            rate = "2" if scenario == "login" else "10"
            began[scenario] = PLACE.begin(scenario, f"{scenario}.json", RATE=rate, DURATION="3s")
        for instance in ("1", "2"):
            settings = {"RATE": "10", "DURATION": "3s", "VUS": "32", "INSTANCE": instance, "INSTANCES": "2"}
            began[f"refresh-{instance}"] = PLACE.begin("refresh", f"refresh-{instance}.json", **settings)
        for name, process in began.items():
            with self.subTest(name):
                status, text = end(process)
                self.assertEqual(status, 0, text)
                summary = PLACE.read(f"{name}.json")
                self.assertGreater(summary["requests"], 0)
                self.assertEqual((summary["wrong"], summary["errors_besides"]), (0, 0), text)
        self.check_report([f"{name}.json" for name in began])

    def check_report(self, summaries: list[str]) -> None:
        reported = PLACE.symbolon("report", "--from-k6", *summaries, "--out", "report")
        self.assertEqual(reported.returncode, 0, reported.stdout + reported.stderr)
        results = PLACE.read("report/results.json")
        self.assertEqual({run["scenario"] for run in results["runs"]}, {*SCENARIOS, "refresh"})
        refresh = results["runs"][-1]
        self.assertEqual((refresh["rate"], refresh["generator"]), (10.0, {"k6": {"instances": 2}}))
        self.assertEqual(refresh["requests"] + refresh["missed"], 30)
        for page in ("report.html", "report.md"):
            self.assertIn("from the sending of the request", (PLACE.folder / "report" / page).read_text())

    def test_a_false_expectation_is_counted_and_fails(self):
        seed = PLACE.read("seed.json")
        for token in seed["tokens"]:
            token["user_id"] = "somebody else"
        seed["special"]["revoked"] = seed["special"]["expired"] = [token["token"] for token in seed["tokens"][:9]]
        (PLACE.folder / "false.json").write_text(json.dumps(seed))
        settings = {"SEED": "false.json", "RATE": "20", "DURATION": "2s", "WARM_UP": "0s"}
        status, text = PLACE.run("userinfo", "wrong.json", **settings)
        summary = PLACE.read("wrong.json")
        self.assertEqual(status, CROSSED, text)
        self.assertEqual(summary["wrong_kinds"], {"sub": summary["requests"]}, text)
        self.assertGreater(summary["requests"], 0)
        self.assertIn("wrong: sub:", text)
        reported = PLACE.symbolon("report", "--from-k6", "wrong.json", "--out", "wrong")
        self.assertEqual(reported.returncode, 1, reported.stdout + reported.stderr)

        status, text = PLACE.run("exchange", "wrong.json", **settings)
        self.assertEqual(status, CROSSED, text)
        self.assertLess({"revoked-accepted", "expired-accepted", "sub"}, {"", *PLACE.read("wrong.json")["wrong_kinds"]})

    def test_mistakes_are_told(self):
        seed = {**PLACE.read("seed.json"), "issuer": "http://elsewhere"}
        (PLACE.folder / "elsewhere.json").write_text(json.dumps(seed))
        (PLACE.folder / "opaque.json").write_text(json.dumps({**seed, "access_tokens": "opaque"}))
        for settings, told in (
            ({"RATE": "ten"}, "RATE=ten"),
            ({"RATE": "1", "DURATION": "3"}, "DURATION: 3 is no time"),
            ({"RATE": "1", "SEED": "none.json"}, "none.json: it cannot be read"),
            ({"RATE": "1", "SEED": "opaque.json"}, "opaque access tokens"),
            ({"RATE": "1", "SEED": "elsewhere.json"}, "planted in http://elsewhere"),
            ({"RATE": "1", "INSTANCE": "2"}, "INSTANCE=2"),
            ({"RATE": "1", "TARGET": "http://127.0.0.1:1"}, "TARGET=http://127.0.0.1:1"),
        ):
            with self.subTest(told):
                status, text = PLACE.run("userinfo", "never.json", **settings)
                self.assertEqual(status, THROWN, text)
                self.assertIn(told, text)
        self.assertFalse((PLACE.folder / "never.json").exists())
        foreign = PLACE.symbolon("report", "--from-k6", "seed.json", "--out", "foreign")
        self.assertEqual(foreign.returncode, 2, foreign.stdout + foreign.stderr)
        self.assertIn("seed.json: it is no summary", foreign.stderr)


class Figures(unittest.TestCase):
    """Whether the figures are right."""

    def test_percentiles_are_those_of_the_samples(self):
        status, text = PLACE.run(
            "userinfo", "sampled.json", "--out", "json=samples.json", RATE="100", DURATION="3s", RAMP="1s"
        )
        self.assertIn(status, (0, CROSSED), text)
        points = map(json.loads, (PLACE.folder / "samples.json").read_text().splitlines())
        points = [point for point in points if point["type"] == "Point"]
        values = {name: [p["data"]["value"] for p in points if p["metric"] == name] for name in ("latency", "requests")}
        told = PLACE.read("sampled.json")
        self.assertEqual(len(values["requests"]), told["requests"])
        # More was sent than counts: warm-up and ramps.
        sent = sum(1 for point in points if point["metric"] == "iterations")
        self.assertGreater(sent, told["requests"] + 100)
        ranked = sorted(values["latency"])
        shares = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
        for name, share in {"min": 0, **shares, "max": 1}.items():
            self.assertAlmostEqual(told["latency_ms"][name], percentile(ranked, share), 5, name)

    def test_k6_agrees_with_our_own_generator(self):
        # A machine that cannot carry a rate says nothing of the figures: k6 and we count its stalls differently.
        for rate in (1000, 1000, 500, 250):
            ours, theirs = self.both(rate)
            self.assertEqual((ours["wrong"], theirs["wrong"]), (0, 0))
            arrivals = [run["requests"] + run["missed"] for run in (ours, theirs)]
            ratios = [theirs[name] / ours[name] for name in ("p50_ms", "p99_ms")]
            print(f"{rate}/s: {arrivals} arrivals; k6's P50 and P99 by ours: {ratios}", flush=True)
            # This compares units, not speeds: a wrong one would be a thousand times.
            close = all(1 / 100 < ratio < 100 for ratio in ratios)
            if close and all(abs(number - 4 * rate) <= 4 * rate / 100 for number in arrivals):
                return
        self.fail("no agreement at any rate")

    def both(self, rate: int) -> tuple[dict, dict]:
        """The same load by our own generator and by k6: two runs as results have them."""
        schedule = {"RATE": str(rate), "DURATION": "4s", "VUS": "128"}
        own = ["userinfo", "--rate", str(rate), "--duration", "4s", "--warm-up", "1s", "--connections", "128"]
        ran = PLACE.symbolon("run", *own, *self.seeded(), "--out", "ours")
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        status, text = PLACE.run("userinfo", "theirs.json", **schedule)
        self.assertIn(status, (0, CROSSED), text)
        ran = PLACE.symbolon("report", "--from-k6", "theirs.json", "--out", "theirs")
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return tuple(PLACE.read(f"{name}/results.json")["runs"][0] for name in ("ours", "theirs"))

    def seeded(self) -> list[str]:
        return [*PLACE.target, "--seed", "seed.json"]


def percentile(ranked: list[float], share: float) -> float:
    """As k6 has it: between the nearest two, in a straight line."""
    at = share * (len(ranked) - 1)
    low, high = math.floor(at), math.ceil(at)
    return ranked[low] + (ranked[high] - ranked[low]) * (at - low)
