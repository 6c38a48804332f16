"""Apache with mod_auth_openidc, as Debian builds both."""

import re

from apache import Apache
from driver.case import MEMBER, STRANGER


class ModAuthOpenidc(Apache):
    def token(self, text: str) -> str:
        """The access token that the application is given."""
        found = re.search(r"token: <i>(\S+)</i>", text)
        self.assertTrue(found, text)
        return found[1]

    def test_1_login(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/", f"<b>{MEMBER.email}</b>", "groups: <b>staff</b>")
        self.assertEqual(browser.pages, ["login", "consent"])
        self.assert_at_party(browser.open(f"{self.url}/staff/"), MEMBER.email)
        self.picture(f"{self.url}/staff/")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        self.assert_at_party(browser.open(f"{self.url}/?again"), MEMBER.email)
        self.assert_second_visit(browser, f"{self.url}/", MEMBER.email)

    def test_3_refresh(self) -> None:
        """Close to the end of an access token Apache gets another, and asks who the person is now."""
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=50")
        browser = self.browser()
        page = self.assert_signs_in(browser, f"{self.url}/")
        first = self.token(page.text)
        second = self.token(browser.open(f"{self.url}/").text)
        self.assertNotEqual(first, second)
        with self.outside_the_group():
            self.eventually("Apache notices", lambda: browser.open(f"{self.url}/staff/").status == 401)
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=null")

    def test_4_logout(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        page = browser.open(self.recipe.block("sign-out").strip())
        self.assertIn(f"{self.issuer}/logout?", "".join(step for step, _ in page.steps), page)
        # It led back to the application, which asks who it is.
        self.assertIsNotNone(page.form("login"), page)
        self.assert_signed_out(browser, f"{self.url}/")

    def test_5_who_is_not_in_the_group_is_refused(self) -> None:
        browser = self.browser(STRANGER)
        self.assert_signs_in(browser, f"{self.url}/", STRANGER.email)
        self.assertEqual(browser.open(f"{self.url}/staff/").status, 401)
