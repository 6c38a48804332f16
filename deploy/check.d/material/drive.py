"""Drives a cluster that runs on loopback: what its guide says happens must happen."""

import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPSConnection
from pathlib import Path

from .loopback import Loopback

NODES = ("node-1", "node-2", "node-3")
# What the check of the engines may say of servers that are all on one machine, and that a slow one.
WARNINGS = ("synchronous_standby_names", " takes ")


class Caller(threading.Thread):
    """Sends one request after another."""

    def __init__(self, drive: "Drive") -> None:
        super().__init__(daemon=True)
        self.drive = drive
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.ended = False

    def run(self) -> None:
        """Until told to end."""
        while not self.ended:
            self.answers.append(self.drive.token())
            time.sleep(0.01)

    def end(self) -> None:
        """Waits for the last answer."""
        self.ended = True
        self.join()


class Drive:
    """A cluster behind its balancer."""

    def __init__(self, cluster: Loopback, issuer: str, certificate: Path) -> None:
        self.cluster = cluster
        self.host = issuer.removeprefix("https://")
        self.trust = ssl.create_default_context(cafile=str(certificate))

    def start_engines(self) -> None:
        """Starts PostgreSQL and six Redis servers, and makes a cluster of these; a second time changes nothing."""
        redis = [name for name in self.cluster.services if name.startswith("redis-") and name != "redis-cluster"]
        for service in ("postgres", *redis):
            self.cluster.prepare(service)
            self.cluster.start(service)
        self.cluster.prepare("redis-cluster")
        made = self.cluster.run("redis-cluster")
        again = self.cluster.run("redis-cluster")
        assert "a cluster already" not in made and "a cluster already" in again, made + again

    def check_engines(self) -> str:
        """`symbolon store check` finds nothing but what one machine cannot have. Returns the findings' summary."""
        self.until_engines_are_good()
        findings = self._findings()
        warnings = [finding["what"] for finding in findings if finding["level"] == "warning"]
        unexpected = [what for what in warnings if not any(word in what for word in WARNINGS)]
        assert not unexpected, f"symbolon store check: {unexpected}"
        return f"{len(findings)} findings, of which warnings {len(warnings)}"

    def until_engines_are_good(self) -> None:
        """Waits until nothing is refused and nothing fails."""
        faults: list[str] = []

        def good() -> bool:
            faults[:] = self._faults()
            return not faults

        try:
            self.cluster.until("the engines are good", good)
        except AssertionError as problem:
            raise AssertionError(f"{problem}: {faults}") from None

    def start_nodes(self) -> None:
        """Starts the nodes, and the balancer before them."""
        for service in ("balancer", *NODES):
            self.cluster.prepare(service)
            self.cluster.start(service)
        for node in NODES:
            self.wait_until_ready(node)
        self.cluster.until("the balancer listens", lambda: self.get("/.well-known/jwks.json") == 200)

    def wait_until_ready(self, node: str) -> None:
        """Waits until a node says it is ready, and the balancer has heard it."""
        self.cluster.until(f"{node} is ready", lambda: self.readiness(node)[0] == 200)
        self.cluster.until(
            f"the balancer turns to {node}", lambda: self._told(node, "UP") >= self._told(node, "DOWN")
        )

    def readiness(self, node: str) -> tuple[int, str]:
        """Status and text of a node's `/readyz`; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://{self.cluster.address(node)}:9090/readyz", timeout=5) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def get(self, path: str) -> int:
        """The status of a GET at the balancer."""
        return self.ask("GET", path)[0]

    def token(self) -> tuple[int, dict[str, str]]:
        """Status and headers of a token request of an unknown client: 401 from whoever can look it up."""
        form = "grant_type=client_credentials&client_id=nobody&client_secret=0123456789abcdef"
        return self.ask("POST", "/token", form)

    def ask(self, method: str, path: str, form: str | None = None) -> tuple[int, dict[str, str]]:
        """One request over a new connection; 0 where there is no answer."""
        connection = HTTPSConnection(self.host, 443, timeout=40, context=self.trust)
        try:
            plain = socket.create_connection((self.cluster.address("balancer"), 8443), 5)
            connection.sock = self.trust.wrap_socket(plain, server_hostname=self.host)
            headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
            # What a client claims itself must not count.
            connection.request(method, path, form, {**headers, "X-Forwarded-For": "203.0.113.9"})
            answer = connection.getresponse()
            answer.read()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}
        except OSError:
            return 0, {}
        finally:
            connection.close()

    def restart_one_by_one(self) -> int:
        """A rolling restart under load loses no request. Returns how many were sent."""
        callers = [Caller(self) for _ in range(3)]
        for caller in callers:
            caller.start()
        try:
            for node in NODES:
                self._restart(node, callers)
        finally:
            for caller in callers:
                caller.end()
        answers = [answer for caller in callers for answer in caller.answers]
        # On a machine so slow that a lease runs out, a node says so, and when to come again.
        lost = [status for status, headers in answers if status != 401 and "retry-after" not in headers]
        assert not lost, f"a rolling restart: {len(lost)} of {len(answers)} requests were answered {sorted(set(lost))}"
        return len(answers)

    def _restart(self, node: str, callers: list["Caller"]) -> None:
        down, up = (self._told(node, word) for word in ("DOWN", "UP"))
        self.cluster.processes[node].terminate()
        self.cluster.until(f"the balancer turns away from {node}", lambda: self._told(node, "DOWN") > down)
        # Whatever was on its way to the node by then has been answered when each caller has sent another one.
        before = [len(caller.answers) for caller in callers]
        self.cluster.until(
            "others go on",
            lambda: all(len(caller.answers) > count + 1 for caller, count in zip(callers, before, strict=True)),
        )
        # The second signal ends a delay that no machine is too slow for.
        code = self.cluster.stop(node)
        assert code == 0, f"{node} ended with {code} at SIGTERM: {self.cluster.log(node)[-2000:]}"
        self.cluster.start(node)
        self.cluster.until(f"the balancer turns to {node} again", lambda: self._told(node, "UP") > up)

    def _told(self, node: str, state: str) -> int:
        """How often the balancer has said that a node is up, or down."""
        return self.cluster.log("balancer").count(f"Server nodes/{node} is {state}")

    def lose_a_node(self) -> None:
        """After SIGKILL of a node the others go on."""
        self.cluster.stop(NODES[0], signal.SIGKILL)
        for _ in range(20):
            self.cluster.until("others go on", lambda: self.token()[0] == 401)
        self.cluster.start(NODES[0])
        self.wait_until_ready(NODES[0])

    def lose_postgres(self) -> None:
        """Without PostgreSQL nodes say why they are not ready, keys are still published, and it goes on by itself."""
        given_up = "backend nodes has no server available"
        before = self.cluster.log("balancer").count(given_up)
        # Fast shutdown: without waiting for those who are connected.
        self.cluster.stop("postgres", signal.SIGINT)
        self.cluster.until("no node is ready", lambda: all(self.readiness(node)[0] == 503 for node in NODES))
        reason = self.readiness(NODES[0])[1]
        assert "PostgreSQL" in reason, reason
        self.cluster.until(
            "the balancer has given them up", lambda: self.cluster.log("balancer").count(given_up) > before
        )
        # From now on these can only be the answers of nodes that are not ready.
        self.cluster.until("/token says when to come again", lambda: "retry-after" in self.token()[1])
        self.cluster.until("keys are published", lambda: self.get("/.well-known/jwks.json") == 200)
        self.cluster.start("postgres")
        for node in NODES:
            self.wait_until_ready(node)
        self.cluster.until("tokens are given again", lambda: self.token()[0] == 401)

    def lose_a_primary(self) -> None:
        """A replica takes over from a primary of Redis, which comes back as a replica; nodes go on without a restart."""
        # The first three of REDIS_NODES are made primaries.
        self.cluster.stop("redis-1", signal.SIGKILL)
        self.cluster.until("a replica took over", lambda: self._is_replaced("redis-1"))
        self.cluster.until("tokens are given again", lambda: self.token()[0] == 401)
        self.cluster.start("redis-1")
        self.until_engines_are_good()

    def lose_redis(self) -> None:
        """All of Redis is lost with its disks and made anew: nodes go on without a restart."""
        redis = [name for name in self.cluster.services if name.startswith("redis-") and name != "redis-cluster"]
        for service in redis:
            self.cluster.stop(service, signal.SIGKILL)
            self.cluster.empty(service)
        for service in redis:
            self.cluster.prepare(service)
            self.cluster.start(service)
        self.cluster.run("redis-cluster")
        self.until_engines_are_good()
        for node in NODES:
            self.wait_until_ready(node)
        self.cluster.until("tokens are given again", lambda: self.token()[0] == 401)

    def check_log(self) -> None:
        """The address that a client claims is in nobody's log."""
        for node in NODES:
            assert "203.0.113.9" not in self.cluster.log(node), f"{node} believes X-Forwarded-For of a client"

    def _is_replaced(self, server: str) -> bool:
        """Whether the others hold a server for lost, and nothing for its own."""
        secret = (self.cluster.scratch / "secrets" / "redis-operator-password").read_text()
        done = subprocess.run(
            ["redis-cli", "-h", self.cluster.address("redis-2"), "--user", "operator", "CLUSTER", "NODES"],
            env={**os.environ, "REDISCLI_AUTH": secret},
            capture_output=True,
            text=True,
        )
        fields = [line.split() for line in done.stdout.splitlines() if f" {self.cluster.address(server)}:" in line]
        # Id, address, flags, primary, two times, epoch, link, then its slots.
        return any("fail" in field[2].split(",") and len(field) == 8 for field in fields)

    def _faults(self) -> list[str]:
        return [finding["what"] for finding in self._findings() if finding["level"] in ("refused", "failing")]

    def _findings(self) -> list[dict]:
        done = self.cluster.symbolon(NODES[0], "store", "check", "--json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            return [{"level": "refused", "what": done.stderr}]
