"""Apache is signed out by each way that it knows: back channel, front channel, Session Management."""

from apache import Apache
from driver.case import MEMBER, STRANGER
from driver.chromium import Chromium


class BackChannel(Apache):
    def test_1_every_end(self) -> None:
        self.assert_is_told_of_every_end(f"{self.url}/")

    def test_2_another_person_stays(self) -> None:
        browser, other = self.browser(), self.browser(STRANGER)
        for person in (browser, other):
            self.assert_signs_in(person, f"{self.url}/")
        self.symbolon("user", "sign-out", MEMBER.email)
        self.eventually("Apache is told", lambda: self.is_signed_out(browser, f"{self.url}/"))
        self.assert_at_party(other.open(f"{self.url}/"), STRANGER.email)


class Restarted(Apache):
    """Sessions that outlive Apache."""

    @classmethod
    def besides(cls) -> str:
        cache = cls.folder / "cache"
        cache.mkdir()
        # Apache gives up root.
        cache.chmod(0o777)
        return f'OIDCCacheType file\nOIDCCacheDir "{cache}"\n'

    def test_what_ended_while_apache_was_down(self) -> None:
        ended, kept = self.browser(), self.browser(STRANGER)
        for browser in (ended, kept):
            self.assert_signs_in(browser, f"{self.url}/")
        self.processes[-1].stop()
        self.symbolon("user", "sign-out", MEMBER.email)
        self.serve()
        self.eventually("Apache is told", lambda: self.is_signed_out(ended, f"{self.url}/"))
        self.assert_at_party(kept.open(f"{self.url}/"), STRANGER.email)


class FrontChannel(Apache):
    def test_the_signed_out_page_has_a_frame(self) -> None:
        address = self.recipe.block("frontchannel_logout_uri").strip()
        by_frame = ["--set", "backchannel_logout_uri=null", "--frontchannel-logout-uri", address]
        self.symbolon("client", "update", self.client["client_id"], *by_frame)
        with self.chromium() as browser:
            view = browser.sign_in("application", f"{self.url}/")
            self.assertIn(MEMBER.email, view.text)
            self.assertIn(MEMBER.email, browser.open("application", f"{self.url}/").text)
            browser.open("provider", f"{self.issuer}/logout")
            asked = browser.press("provider", "#confirm").asked
            asked += browser.wait_for("provider", 'body[data-state="told"]').asked
            self.assertEqual(len([url for url in asked if url.startswith(f"{address}&iss=")]), 1, asked)
            # The provider's host and Apache's are different sites: the frame had no cookie, and Apache went by `sid`.
            browser.open("application", f"{self.url}/")
            browser.wait_for("application", "form#login")


class SessionManagement(Apache):
    # The provider's own site.
    host = "127.0.0.1"

    @classmethod
    def start(cls) -> None:
        cls.symbolon.set(session_management=True)
        cls.addClassCleanup(lambda: cls.symbolon.set(session_management=None))
        cls.symbolon("client", "update", cls.client["client_id"], "--set", "backchannel_logout_uri=null")
        super().start()

    @classmethod
    def page(cls) -> str:
        return super().page() + cls.recipe.block("frames.html")

    def assert_watches(self, browser: Chromium) -> None:
        """Signs in; the page is told that nothing has changed, and stays."""
        view = browser.sign_in("application", f"{self.url}/")
        self.assertIn(MEMBER.email, view.text)
        unchanged = f"receiveMessage: unchanged from {self.issuer}"
        self.eventually("the page asks", lambda: unchanged in browser.look("application").said)
        self.assertEqual(browser.look("application").url, f"{self.url}/")

    def assert_noticed(self, browser: Chromium) -> None:
        """Nobody touched the application's tab, and it asks for a sign-in."""
        view = browser.wait_for("application", "form#login")
        self.assertTrue(view.url.startswith(f"{self.issuer}/"), view)

    def test_1_another_tab_signs_out(self) -> None:
        with self.chromium() as browser:
            self.assert_watches(browser)
            browser.open("provider", f"{self.issuer}/logout")
            browser.press("provider", "#confirm")
            self.assert_noticed(browser)

    def test_2_an_administrator_signs_out(self) -> None:
        """The browser hears of it when it is next at the provider: here another tab asks silently."""
        with self.chromium() as browser:
            self.assert_watches(browser)
            self.symbolon("user", "sign-out", MEMBER.email)
            browser.open("another", f"{self.url}/redirect_uri?session=check")
            self.assert_noticed(browser)
