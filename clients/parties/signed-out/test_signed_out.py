"""An administrator ends a user, who is out of three applications within two seconds."""

import sys
import time
import unittest
from pathlib import Path

PARTIES = Path(__file__).resolve().parents[1]
sys.path += [str(PARTIES / name) for name in ("mod-auth-openidc", "openid-client", "spring-boot")]

from apache import Apache  # noqa: E402
from driver.browser import Browser  # noqa: E402
from driver.case import MEMBER, STRANGER, PartyCase  # noqa: E402
from driver.ends import by_page  # noqa: E402
from express import OpenidClient  # noqa: E402
from spring import Spring  # noqa: E402

WITHIN_SECONDS = 2


class Boot4(Spring):
    module = "boot4"


class ThreeApplications(unittest.TestCase):
    parties: tuple[type[PartyCase], ...] = (OpenidClient, Apache, Boot4)

    @classmethod
    def setUpClass(cls) -> None:
        for party in cls.parties:
            party.setUpClass()
            cls.addClassCleanup(party.doClassCleanups)
        # Java is slow at first, and nobody measures that.
        case = cls.parties[0]()
        browser = case.browser(STRANGER)
        cls.sign_in(browser)
        by_page(case, browser)
        case.eventually("all are told", lambda: cls.out_of(browser) == set(cls.parties))

    @classmethod
    def sign_in(cls, browser: Browser) -> None:
        """Signs in at all of them."""
        for party in cls.parties:
            page = browser.sign_in(f"{party.url}/")
            assert page.url.startswith(party.url) and browser.person.email in page.text, page

    @classmethod
    def out_of(cls, browser: Browser) -> set[type[PartyCase]]:
        """Those that ask who it is."""
        return {party for party in cls.parties if browser.open(f"{party.url}/").form("login")}

    def assert_out_in_time(self, browser: Browser, *command: str) -> None:
        """Runs a command, and asks the applications until all have signed the person out."""
        self.assertEqual(self.out_of(browser), set())
        began = time.monotonic()
        self.parties[0].symbolon(*command)
        done = time.monotonic()
        told: dict[str, float] = {}
        while len(told) < len(self.parties) and time.monotonic() - done < 10 * WITHIN_SECONDS:
            for party in self.out_of(browser):
                told.setdefault(party.__name__, time.monotonic() - done)
            time.sleep(0.02)
        shown = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in told.items())
        print(f"symbolon {' '.join(command)} took {(done - began) * 1000:.0f} ms; out after it: {shown}", flush=True)
        self.assertEqual(len(told), len(self.parties), told)
        self.assertLess(max(told.values()) + done - began, WITHIN_SECONDS, shown)

    def test_1_signed_out_by_an_administrator(self) -> None:
        browser = Browser(self.parties[0].issuer, MEMBER)
        self.sign_in(browser)
        self.assert_out_in_time(browser, "user", "sign-out", MEMBER.email)

    def test_2_disabled_by_an_administrator(self) -> None:
        browser = Browser(self.parties[0].issuer, STRANGER)
        self.sign_in(browser)
        try:
            self.assert_out_in_time(browser, "user", "disable", STRANGER.email)
            page = browser.open(f"{self.parties[0].url}/")
            own = {"username": STRANGER.email, "password": STRANGER.password}
            page = browser.submit(page, page.form("login"), **own)
            self.assertIsNotNone(page.form("login"), page)
        finally:
            self.parties[0].symbolon("user", "enable", STRANGER.email)
