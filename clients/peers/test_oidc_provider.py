"""`symbolon loadtest run` against npm oidc-provider: every scenario that it has, and one that it lacks."""

import json
import os
import re
import select
import signal
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

PEER = Path(__file__).resolve().parents[2] / "loadtest" / "peers" / "oidc-provider"
SCENARIOS = ("silent", "userinfo", "code", "refresh", "introspect", "client-credentials", "login", "discovery")
READY_SECONDS = 60
RUN_SECONDS = 120
STOP_SECONDS = 20


class Peer:
    """The provider's process."""

    def __init__(self, seed: Path):
        self.seed = seed
        command = ["node", "provider.js", "--seed", str(seed), "--users", "50", "--sessions", "50", "--tokens", "50"]
        # What it warns of goes where the test's own output goes.
        self.process = subprocess.Popen(command, cwd=PEER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            self.url = self._wait_until_ready()
        except BaseException:
            self.process.kill()
            raise

    def _wait_until_ready(self) -> str:
        end = time.monotonic() + READY_SECONDS
        said = ""
        while select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            line = self.process.stdout.readline()
            said += line
            found = re.fullmatch(r"ready (http://\S+) pid (\d+)\n", line)
            if found:
                assert int(found[2]) == self.process.pid, line
                return found[1]
            if not line:
                break
        raise AssertionError(f"the provider did not get ready: {said}")

    def stop(self) -> int:
        """Ends it, and answers with its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        finally:
            self.process.kill()
            self.process.stdout.close()


class OidcProvider(unittest.TestCase):
    """One provider for all scenarios."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.binary = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())["binary"]
        folder = tempfile.TemporaryDirectory(prefix="symbolon-peers-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.peer = Peer(cls.folder / "seed.json")
        cls.addClassCleanup(cls._stop)

    @classmethod
    def _stop(cls) -> None:
        code = cls.peer.stop()
        assert code == 0, f"the provider ended with {code}"

    def _run(self, scenario: str) -> tuple[subprocess.CompletedProcess, Path]:
        out = self.folder / scenario
        command = [self.binary, "loadtest", "run", scenario, "--target", self.peer.url, "--seed", str(self.peer.seed)]
        command += ["--rate", "20", "--duration", "2s", "--warm-up", "200ms", "--connections", "8"]
        # Not how fast it is: the machine may be busy.
        command += ["--only-thresholds", "--threshold", "failure_share<=0", "--pid", str(self.peer.process.pid), "--out", str(out)]
        own = {name: value for name, value in os.environ.items() if not name.startswith("SYMBOLON_")}
        ran = subprocess.run(command, env=own, capture_output=True, text=True, timeout=RUN_SECONDS, cwd=self.folder)
        return ran, out

    def test_only_its_owner_may_read_the_seed(self) -> None:
        """The file holds credentials."""
        self.assertEqual(stat.S_IMODE(self.peer.seed.stat().st_mode), 0o600)

    def test_every_scenario_that_it_has_passes_with_the_same_report(self) -> None:
        """Exit code, counts, and the three files."""
        for scenario in SCENARIOS:
            with self.subTest(scenario):
                ran, out = self._run(scenario)
                self.assertEqual(ran.returncode, 0, f"{ran.stdout}{ran.stderr}")
                results = json.loads((out / "results.json").read_text())
                [run] = results["runs"]
                self.assertEqual((run["scenario"], run["wrong"], run["failures"]), (scenario, 0, 0), run)
                self.assertEqual((run["missed"], run["errors_besides"]), (0, 0), run)
                self.assertEqual(run["requests"], 40)
                self.assertGreater(run["server_cpu_us_per_request"], 0)
                self.assertEqual(results["provider"]["issuer"], self.peer.url)
                self.assertEqual(run.get("mix"), "pure" if scenario == "introspect" else None)
                self.assertIn(scenario, (out / "report.md").read_text())
                self.assertIn("</html>", (out / "report.html").read_text())

    def test_a_grant_that_it_lacks_is_named(self) -> None:
        """It could not run, and says why."""
        ran, out = self._run("exchange")
        self.assertEqual(ran.returncode, 2, f"{ran.stdout}{ran.stderr}")
        self.assertIn("scenario exchange needs the grant urn:ietf:params:oauth:grant-type:token-exchange", ran.stderr)
        self.assertIn(f"{self.peer.url} does not offer it (grant_types_supported: authorization_code", ran.stderr)
        self.assertFalse((out / "results.json").exists())


class Misuse(unittest.TestCase):
    """The script itself."""

    def test_a_wrong_option_is_told_with_the_usage(self) -> None:
        """Nothing is started, nothing is left behind."""
        for arguments in ([], ["--seed", "s", "--port", "x"], ["--seed", "s", "--algorithm", "none"], ["--no"]):
            with self.subTest(arguments):
                ran = subprocess.run(["node", "provider.js", *arguments], cwd=PEER, capture_output=True, text=True)
                self.assertEqual(ran.returncode, 2, ran.stderr)
                self.assertIn("usage: node provider.js", ran.stderr)

    def test_a_seed_that_cannot_be_written_ends_it(self) -> None:
        """With a message, not a provider that nobody can use."""
        command = ["node", "provider.js", "--seed", "/nowhere/seed.json", "--users", "1"]
        ran = subprocess.run(command, cwd=PEER, capture_output=True, text=True, timeout=READY_SECONDS)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("/nowhere/seed.json", ran.stderr)
        self.assertNotIn("ready", ran.stdout)
