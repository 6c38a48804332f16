"""The application is signed out by the back channel and by the front channel, and by nobody else."""

import base64
import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlencode, urlsplit

from driver.case import MEMBER, STRANGER
from express import OpenidClient

EVENTS = {"http://schemas.openid.net/event/backchannel-logout": {}}


def base64url(raw: bytes) -> str:
    """Without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(header: dict, claims: dict, key: bytes | None) -> str:
    """A JWT with an HMAC, or without a signature."""
    text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    mac = base64url(hmac.digest(key, text.encode(), hashlib.sha256)) if key else ""
    return f"{text}.{mac}"


class BackChannel(OpenidClient):
    """Nothing but the back channel."""

    @classmethod
    def start(cls) -> None:
        cls.symbolon("client", "update", cls.client["client_id"], "--set", "frontchannel_logout_uri=null")
        super().start()

    def test_1_every_end(self) -> None:
        self.assert_is_told_of_every_end(f"{self.url}/")

    def test_2_another_person_stays(self) -> None:
        browser, other = self.browser(), self.browser(STRANGER)
        for person in (browser, other):
            self.assert_signs_in(person, f"{self.url}/")
        self.symbolon("user", "sign-out", MEMBER.email)
        self.eventually("it is told", lambda: self.is_signed_out(browser, f"{self.url}/"))
        self.assert_at_party(other.open(f"{self.url}/"), STRANGER.email)

    def test_3_what_is_no_logout_token_ends_nothing(self) -> None:
        """Back-Channel Logout 1.0 2.6."""
        self.symbolon("user", "sign-out", MEMBER.email)
        browser, other = self.browser(), self.browser()
        for person in (browser, other):
            self.assert_signs_in(person, f"{self.url}/")
        id_token = self.id_token_of(other)
        [session] = self.symbolon("session", "list", "--user", MEMBER.email)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.client["client_id"], "iat": now, "exp": now + 60, "jti": "one"}
        claims |= {"sid": session["sid"], "events": EVENTS}
        secret = self.client["client_secret"].encode()
        for what, token in {
            "nothing": "",
            "no token": "a.b.c",
            "an ID token": id_token,
            "without a signature": signed({"alg": "none", "typ": "logout+jwt"}, claims, None),
            "signed by the client's secret": signed({"alg": "HS256", "typ": "logout+jwt"}, claims, secret),
        }.items():
            self.assertEqual(self.status_of(token), 400, what)
        self.assert_at_party(browser.open(f"{self.url}/"), MEMBER.email)

    def id_token_of(self, browser) -> str:
        """Signs out at the application, which names its ID token as a hint."""
        page = browser.open(f"{self.url}/sign-out")
        asked = next(step for step, _ in page.steps if step.startswith(f"{self.issuer}/logout?"))
        return parse_qs(urlsplit(asked).query)["id_token_hint"][0]

    def status_of(self, logout_token: str) -> int:
        """How the application answers to a logout token."""
        form = urlencode({"logout_token": logout_token}).encode()
        try:
            with urllib.request.urlopen(f"{self.url}/back-channel-logout", form, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code


class FrontChannel(OpenidClient):
    """Nothing but the front channel."""

    @classmethod
    def start(cls) -> None:
        cls.symbolon("client", "update", cls.client["client_id"], "--set", "backchannel_logout_uri=null")
        super().start()

    def test_1_the_signed_out_page_has_a_frame(self) -> None:
        with self.chromium() as browser:
            self.assertIn(MEMBER.email, browser.sign_in("application", f"{self.url}/").text)
            browser.open("provider", f"{self.issuer}/logout")
            asked = browser.press("provider", "#confirm").asked
            asked += browser.wait_for("provider", 'body[data-state="told"]').asked
            framed = [url for url in asked if url.startswith(f"{self.url}/front-channel-logout?iss=")]
            self.assertEqual(len(framed), 1, asked)
            browser.open("application", f"{self.url}/")
            browser.wait_for("application", "form#login")

    def test_2_the_application_signs_out_and_comes_back(self) -> None:
        """The page with the frames leads on to where the application wanted."""
        with self.chromium() as browser:
            browser.sign_in("application", f"{self.url}/")
            asked = browser.open("application", f"{self.url}/sign-out").asked
            asked += browser.wait_for("application", "form#login").asked
            self.assertTrue(any(url.startswith(f"{self.url}/front-channel-logout?iss=") for url in asked), asked)

    def test_3_another_issuer_ends_nothing(self) -> None:
        self.symbolon("user", "sign-out", MEMBER.email)
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        [session] = self.symbolon("session", "list", "--user", MEMBER.email)
        query = urlencode({"iss": "https://evil.example", "sid": session["sid"]})
        urllib.request.urlopen(f"{self.url}/front-channel-logout?{query}", timeout=20).close()
        self.assert_at_party(browser.open(f"{self.url}/"), MEMBER.email)
