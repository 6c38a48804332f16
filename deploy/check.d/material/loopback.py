"""Runs the services of a compose file without containers: each is a process on a loopback address of its own.

What containers would give is put in its place by rewriting text: addresses of the inner network become loopback
addresses, `/run/secrets`, configs and volumes become files of a scratch directory. Everything else, the command lines,
variables and configuration files, is the material's.
"""

import os
import pwd
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

# What an image runs where the compose file names no command, and the user that it runs as.
COMMANDS = {"haproxy": "haproxy -db -f /usr/local/etc/haproxy/haproxy.cfg"}
POSTGRES = "postgres"
PATIENCE = 120


class Loopback:
    """The services of a compose file as processes."""

    def __init__(self, compose: dict, folder: Path, scratch: Path, binary: str) -> None:
        self.services = compose["services"]
        self.compose = compose
        self.folder = folder
        self.scratch = scratch
        self.binary = binary
        self.processes: dict[str, subprocess.Popen] = {}
        subnet = compose["networks"]["inner"]["ipam"]["config"][0]["subnet"]
        self.network = subnet.removesuffix("0/24")
        # Two checks may run on one machine.
        number = os.getpid()
        self.loopback = f"127.{100 + number % 100}.{1 + number // 100 % 250}."
        self._secrets = scratch / "secrets"
        self._secrets.mkdir()
        for name, secret in compose["secrets"].items():
            text = (folder / secret["file"]).read_text()
            (self._secrets / name).write_text(self._translate(text, name, {}))

    def address(self, service: str) -> str:
        """The loopback address of a service."""
        own = self.services[service]["networks"]["inner"].get("ipv4_address", f"{self.network}254")
        return own.replace(self.network, self.loopback)

    def environment(self, service: str) -> dict[str, str]:
        """The variables of a service, and nothing of the caller's but the search path."""
        paths = self._paths(service)
        given = self.services[service].get("environment", {})
        named = {name: self._translate(str(value), service, paths) for name, value in given.items()}
        if self._image(service) == "symbolon":
            # Every request comes from one address here.
            named["SYMBOLON_RATE_LIMITS"] = "false"
            # However slow the machine is, a balancer notices in this time; a second signal ends it.
            named["SYMBOLON_HTTP_DRAIN_DELAY"] = "10m"
            # No operation is given up that could still succeed.
            named |= {"SYMBOLON_POSTGRES_TIMEOUT": "30s", "SYMBOLON_REDIS_TIMEOUT": "30s"}
        if service == POSTGRES:
            # As the image says.
            named["PGDATA"] = paths["/var/lib/postgresql/data"]
        path = f"{_postgres_programs()}:{os.environ['PATH']}:/usr/sbin"
        return {**named, "PATH": path, "HOME": str(self.scratch)}

    def command(self, service: str) -> list[str]:
        """The command line of a service."""
        image = self._image(service)
        if image == "symbolon":
            return [self.binary, "serve"]
        words = self.services[service].get("command") or shlex.split(COMMANDS[image])
        return [self._translate(word, service, self._paths(service)) for word in words]

    def prepare(self, service: str) -> None:
        """Lays the service's configs and volumes."""
        paths = self._paths(service)
        own = self.scratch / service
        own.mkdir(exist_ok=True)
        for config in self.services[service].get("configs", []):
            text = (self.folder / self.compose["configs"][config["source"]]["file"]).read_text()
            Path(paths[config["target"]]).write_text(self._translate(text, service, paths))
        if service == POSTGRES:
            self._make_database(own)

    def start(self, service: str) -> None:
        """Starts a service; its output goes to a file."""
        with (self.scratch / f"{service}.log").open("ab") as log:
            self.processes[service] = subprocess.Popen(
                self._with_death(service, self.command(service)),
                env=self.environment(service),
                cwd=self.scratch / service,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, service: str) -> str:
        """Runs a service that ends, and returns what it printed."""
        done = subprocess.run(
            self.command(service),
            env=self.environment(service),
            cwd=self.scratch / service,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode != 0:
            raise AssertionError(f"{service} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def symbolon(self, service: str, *words: str) -> subprocess.CompletedProcess:
        """Runs a command of the binary as a node would."""
        return subprocess.run(
            [self.binary, *words], env=self.environment(service), capture_output=True, text=True, timeout=PATIENCE
        )

    def stop(self, service: str, how: int = signal.SIGTERM) -> int:
        """Sends a signal, and returns the exit code."""
        process = self.processes.pop(service)
        process.send_signal(how)
        return process.wait(PATIENCE)

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Waits until something holds; a service that ended meanwhile is an error."""
        limit = time.monotonic() + PATIENCE
        while not holds():
            for service, process in self.processes.items():
                if process.poll() is not None:
                    raise AssertionError(f"{service} ended with {process.returncode}: {self.log(service)[-2000:]}")
            if time.monotonic() > limit:
                raise AssertionError(f"waited {PATIENCE} s until {what}")
            time.sleep(0.05)

    def log(self, service: str) -> str:
        """What a service has printed."""
        path = self.scratch / f"{service}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def empty(self, service: str) -> None:
        """The service's disk is lost."""
        shutil.rmtree(self.scratch / service)

    def close(self) -> None:
        """Kills what still runs."""
        for service, process in self.processes.items():
            # PostgreSQL ends its children itself, at once.
            process.send_signal(signal.SIGQUIT if service == POSTGRES else signal.SIGKILL)
            process.wait()

    def _image(self, service: str) -> str:
        return self.services[service]["image"].split("/")[-1].split(":")[0]

    def _paths(self, service: str) -> dict[str, str]:
        own = self.scratch / service
        paths = {config["target"]: str(own / Path(config["target"]).name) for config in self.services[service].get("configs", [])}
        for volume in self.services[service].get("volumes", []):
            paths[volume.split(":")[1]] = str(own)
        return paths

    def _translate(self, text: str, service: str, paths: dict[str, str]) -> str:
        text = text.replace(self.network, self.loopback).replace("/run/secrets/", f"{self._secrets}/")
        for inside, outside in paths.items():
            text = text.replace(inside, outside)
        if service in self.services:
            # A container's "everywhere" is its own address, and so is where its connections come from.
            text = text.replace("bind *:", f"bind {self.address(service)}:")
            text = text.replace("\nbackend nodes\n", f"\nbackend nodes\n    source {self.address(service)}\n")
            text = text.replace("\nbackend living\n", f"\nbackend living\n    source {self.address(service)}\n")
        return text

    def _make_database(self, data: Path) -> None:
        """As the image does at its first start."""
        given = self.environment(POSTGRES)
        if os.getuid() == 0:
            shutil.chown(data, POSTGRES, POSTGRES)
        data.chmod(0o700)
        user, database = given["POSTGRES_USER"], given["POSTGRES_DB"]
        words = ["initdb", f"--pgdata={data}", f"--username={user}", f"--pwfile={given['POSTGRES_PASSWORD_FILE']}"]
        self._as_postgres([*words, *shlex.split(given["POSTGRES_INITDB_ARGS"])], given, data)
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write("\nhost all all all scram-sha-256\n")
        made = f'CREATE DATABASE "{database}"'
        alone = ["postgres", "--single", "-D", str(data), "postgres"]
        self._as_postgres(alone, given, data, made)
        with (data / "postgresql.conf").open("a") as settings:
            settings.write(f"\nunix_socket_directories = '{data}'\n")

    def _as_postgres(self, words: list[str], environment: dict[str, str], folder: Path, text: str = "") -> None:
        words = self._with_death(POSTGRES, words)
        done = subprocess.run(words, env=environment, cwd=folder, input=text, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")

    def _with_death(self, service: str, words: list[str]) -> list[str]:
        """Nothing outlives this process; PostgreSQL refuses to run as root."""
        setpriv = ["setpriv", "--pdeathsig", "KILL"]
        if service == POSTGRES and os.getuid() == 0:
            owner = pwd.getpwnam(POSTGRES)
            setpriv += [f"--reuid={owner.pw_uid}", f"--regid={owner.pw_gid}", "--clear-groups"]
        return [*setpriv, *words]


def _postgres_programs() -> str:
    # Debian keeps them out of the search path, a folder per version.
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return str(found[-1]) if found else ""
