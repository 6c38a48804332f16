"""Auth.js in an Express application, which is the recipe's."""

from pathlib import Path

from driver.browser import Browser, Page
from driver.case import MEMBER, STRANGER, PartyCase
from driver.recipe import parts


class AuthJs(PartyCase):
    recipe_name = "auth-js"

    @classmethod
    def start(cls) -> None:
        environment, provider = parts(cls.client["configuration"], "# .env.local", "// symbolon.js")
        (cls.folder / "node_modules").symlink_to(Path(__file__).parent / "node_modules")
        (cls.folder / "package.json").write_text('{"type": "module"}')
        (cls.folder / ".env.local").write_text(environment + cls.recipe.block(".env.local"))
        (cls.folder / "symbolon.js").write_text(provider)
        (cls.folder / "app.js").write_text(cls.recipe.block("app.js"))
        own = {"PORT": str(cls.port), "NODE_ENV": "production"}
        cls.run_process(["node", "--env-file=.env.local", "app.js"], f"{cls.url}/", own)

    def begin(self, browser: Browser) -> Page:
        """Presses the button of Auth.js's own page."""
        page = browser.open(f"{self.url}/auth/signin?callbackUrl=/")
        return browser.submit(page, page.form_to("/auth/signin/symbolon"))

    def sign_in(self, browser: Browser) -> Page:
        """The first visit."""
        page = browser.sign_in(self.begin(browser))
        self.assertEqual(browser.pages[:1], ["login"], page)
        return page

    def test_1_login(self) -> None:
        browser = self.browser()
        self.assertEqual(browser.open(f"{self.url}/staff").status, 403)
        self.assert_at_party(self.sign_in(browser), MEMBER.email, "staff")
        self.assertEqual(browser.pages, ["login", "consent"])
        self.assert_at_party(browser.open(f"{self.url}/staff"), "For staff")
        self.picture(f"{self.url}/auth/signin?callbackUrl=/", "--press", "button[type=submit]")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.sign_in(browser)
        self.assert_at_party(browser.open(f"{self.url}/"), MEMBER.email)
        browser.forget("localhost")
        self.assert_at_party(self.begin(browser), MEMBER.email)

    def test_3_refresh(self) -> None:
        """The session follows the refreshed ID token, and ends when there is none any more."""
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=1")
        browser = self.browser()
        self.sign_in(browser)
        with self.outside_the_group():
            self.eventually("the refresh notices", lambda: browser.open(f"{self.url}/staff").status == 403)
            self.assert_at_party(browser.open(f"{self.url}/"), MEMBER.email)
        self.eventually("the refresh notices", lambda: browser.open(f"{self.url}/staff").status == 200)
        self.symbolon("user", "sign-out", MEMBER.email)
        self.eventually("the refresh fails", lambda: MEMBER.email not in browser.open(f"{self.url}/").text)
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=null")

    def test_4_logout(self) -> None:
        browser = self.browser()
        self.sign_in(browser)
        page = browser.open(self.recipe.block("sign-out").strip())
        page = browser.sign_out(browser.submit(page, page.form_to("/auth/signout")))
        self.assertEqual(browser.pages, ["logout"])
        self.assert_at_party(page, "Sign in")
        self.assertNotIn(MEMBER.email, page.text)
        self.assertIsNotNone(self.begin(browser).form("login"))

    def test_5_who_is_not_in_the_group_is_refused(self) -> None:
        browser = self.browser(STRANGER)
        self.assert_at_party(self.sign_in(browser), STRANGER.email)
        self.assertEqual(browser.open(f"{self.url}/staff").status, 403)
