"""What the tests of every party begin with: people, the recipe, the client that it makes, the party's process."""

import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from .browser import Browser, Page, Person
from .chromium import Chromium
from .ends import ENDS
from .process import Process, free_port
from .recipe import APPLICATION, APPLICATIONS, ISSUER, Recipe

PASSWORD = "correct horse battery staple"
# The one is in the group that may come in, as the first page of the recipes makes her; the other is not.
MEMBER = Person("ada@example.com", PASSWORD)
STRANGER = Person("bob@example.com", PASSWORD)
GROUP = "staff"
PICTURES = "SYMBOLON_PICTURES"
PATIENCE_SECONDS = 60


class Symbolon:
    """The command line of the provider under test."""

    def __init__(self, fixtures: dict):
        self._binary = fixtures["binary"]
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SYMBOLON_")},
            "SYMBOLON_MANAGEMENT_URL": fixtures["management_url"],
            "SYMBOLON_ADMIN_SECRET": fixtures["admin_secret"],
        }

    # What was said already: the tests of one party share a provider, and each begins with the whole recipe.
    _said: set[tuple[str, ...]] = set()

    def once(self, *arguments: str) -> None:
        """Runs a command unless it was run before."""
        if arguments not in self._said:
            self._said.add(arguments)
            self(*arguments)

    def set(self, **settings: object) -> None:
        """Changes settings of the issuer; None puts one back."""
        url = f"{self._environment['SYMBOLON_MANAGEMENT_URL']}/api/admin/settings"
        headers = {
            "Authorization": f"Bearer {self._environment['SYMBOLON_ADMIN_SECRET']}",
            "Content-Type": "application/json",
        }
        request = urllib.request.Request(url, json.dumps(settings).encode(), headers, method="PATCH")
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()

    def __call__(self, *arguments: str) -> dict:
        """Runs a command and answers with the JSON that it prints."""
        command = [self._binary, *arguments, "--json"]
        done = subprocess.run(command, input=f"{PASSWORD}\n", env=self._environment, capture_output=True, text=True)
        assert done.returncode == 0, f"symbolon {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout) if done.stdout.strip() else {}


class PartyCase(unittest.TestCase):
    """One party. Its class says which recipe, and how the party is started with what the recipe says."""

    recipe_name = ""
    ca: str | None = None
    # Another name than the provider's: cookies are kept apart by host, not by port.
    host = "localhost"

    @classmethod
    def setUpClass(cls) -> None:
        cls.fixtures = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())
        cls.issuer = cls.fixtures["issuer"]
        cls.folder = Path(tempfile.mkdtemp(prefix="symbolon-party-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        # Programs that give up root must still read it.
        cls.folder.chmod(0o755)
        cls.processes: list[Process] = []
        cls.port = free_port()
        cls.url = f"http://{cls.host}:{cls.port}"
        cls.symbolon = Symbolon(cls.fixtures)
        values = {APPLICATION: cls.url, ISSUER: cls.issuer, urlsplit(ISSUER).netloc: urlsplit(cls.issuer).netloc}
        for command in Recipe("README", values).commands():
            cls.symbolon.once(*command)
        cls.symbolon.once("user", "create", "--email", STRANGER.email, "--email-verified", "--name", "Bob Babbage")
        values |= {"SECRET_OF_YOURS": secrets.token_hex(16)}
        commands = Recipe(cls.recipe_name, values).commands()
        cls.clients = []
        for command in commands:
            if command[:2] == ["client", "create"]:
                cls.clients.append(cls.symbolon(*command))
            else:
                cls.symbolon.once(*command)
        cls.client = cls.clients[0]
        cls.recipe = Recipe(cls.recipe_name, {**values, "ID_OF_THE_CLIENT": cls.client["client_id"]})
        cls.start()

    @classmethod
    def start(cls) -> None:
        """Starts the party with `cls.client["configuration"]` and the recipe's blocks."""
        raise NotImplementedError

    @classmethod
    def run_process(cls, command: list[str], ready: str, environment: dict[str, str] | None = None) -> Process:
        """Starts a process of the party, and stops it after the last test."""
        process = Process(command, cls.folder, environment)
        cls.addClassCleanup(process.stop)
        cls.processes.append(process)
        process.wait_until_ready(ready)
        return process

    def run(self, result: unittest.TestResult | None = None) -> unittest.TestResult | None:
        """Shows what the party printed where a test failed."""
        broken = lambda: len(result.failures) + len(result.errors) if result else 0  # noqa: E731
        before = broken()
        result = super().run(result)
        if broken() > before:
            for process in self.processes:
                print(f"-- {process.output.name}:\n{process.tail()}", flush=True)
        return result

    def browser(self, person: Person = MEMBER) -> Browser:
        """A new browser."""
        return Browser(self.issuer, person, self.ca)

    def chromium(self, person: Person = MEMBER) -> Chromium:
        """A new browser that runs scripts and frames."""
        return Chromium(self.issuer, person)

    def assert_at_party(self, page: Page, *wanted: str) -> None:
        """The page is the party's, and says what is wanted."""
        self.assertTrue(page.url.startswith(self.url), page)
        self.assertEqual(page.status, 200, page)
        for text in wanted:
            self.assertIn(text, page.text, page)

    def assert_signs_in(self, browser: Browser, url: str, *wanted: str) -> Page:
        """The first visit: the provider asks who it is."""
        page = browser.sign_in(url)
        self.assertEqual(browser.pages[:1], ["login"], page)
        self.assert_at_party(page, *wanted)
        return page

    def assert_second_visit(self, browser: Browser, url: str, *wanted: str) -> Page:
        """The party has forgotten the person, the provider has not: nobody is asked anything."""
        browser.forget("localhost")
        page = browser.open(url)
        self.assertTrue(any(step.startswith(f"{self.issuer}/authorize") for step, _ in page.steps), page)
        self.assert_at_party(page, *wanted)
        return page

    def assert_signed_out(self, browser: Browser, url: str) -> None:
        """Neither the party nor the provider knows the person any more."""
        page = browser.open(url)
        self.assertIsNotNone(page.form("login"), page)

    def is_signed_out(self, browser: Browser, url: str) -> bool:
        """Whether the party sends whoever comes to the provider, which asks who it is."""
        return browser.open(url).form("login") is not None

    def assert_is_told_of_every_end(self, url: str) -> None:
        """Whatever ends the session at the provider, the party's own session ends too."""
        for how, end in ENDS.items():
            with self.subTest(how):
                browser = self.browser()
                self.assert_signs_in(browser, url)
                end(self, browser)
                self.eventually("the party is told", lambda browser=browser: self.is_signed_out(browser, url))

    def eventually(self, what: str, is_so: Callable[[], bool], within: float = PATIENCE_SECONDS) -> None:
        """Asks again and again."""
        end = time.monotonic() + within
        while not is_so():
            self.assertLess(time.monotonic(), end, f"not within {within} s: {what}")
            time.sleep(0.1)

    def outside_the_group(self) -> "Outside":
        """Takes the member out of the group for a while."""
        return Outside(self.symbolon)

    def picture(self, url: str, *options: str) -> None:
        """Draws the recipe's picture anew, if it is asked for: somebody signs in with Chromium and looks at a page."""
        if PICTURES not in os.environ:
            return
        script = Path(__file__).with_name("picture.mjs")
        target = APPLICATIONS / "images" / f"{self.recipe_name}.png"
        command = ["node", str(script), url, str(target), MEMBER.email, MEMBER.password, *options]
        subprocess.run(command, check=True, timeout=120)


class Outside:
    """While it is entered, the member is not in the group."""

    def __init__(self, symbolon: Symbolon):
        self._symbolon = symbolon

    def __enter__(self) -> None:
        self._symbolon("group", "remove", GROUP, MEMBER.email)

    def __exit__(self, *_: object) -> None:
        self._symbolon("group", "add", GROUP, MEMBER.email)
