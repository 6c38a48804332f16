"""Spring Boot 3 and 4, each as client and as resource server."""

import json
import urllib.error
import urllib.request

from driver.case import MEMBER, STRANGER
from spring import Spring


class SpringBoot:
    def test_1_login(self) -> None:
        browser = self.browser()
        page = self.assert_signs_in(browser, f"{self.url}/", MEMBER.email, "GROUP_staff", "Ada Lovelace")
        self.assertIn(f"Spring Boot {self.version}.", page.text)
        self.assertEqual(browser.pages, ["login", "consent"])
        self.assert_at_party(browser.open(f"{self.url}/staff"), "For staff")
        if self.version == 4:
            self.picture(f"{self.url}/")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        self.assert_at_party(browser.open(f"{self.url}/staff"), "For staff")
        self.assert_second_visit(browser, f"{self.url}/", MEMBER.email)

    def test_3_resource_server(self) -> None:
        """The API takes the access token, and authorises by its roles."""
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        answer = json.loads(browser.open(f"{self.url}/call/whoami").text)
        self.assertIn("ROLE_editor", answer["authorities"])
        self.assert_at_party(browser.open(f"{self.url}/call/edit"), "For editors")
        for header in ({}, {"Authorization": "Bearer no.such.token"}):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(f"{self.url}/api/whoami", headers=header), timeout=20)
            self.assertEqual(refused.exception.code, 401)

    def test_4_refresh(self) -> None:
        """Within a minute of its end Spring gets another access token; its roles are those of now."""
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=50")
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        first, second = (json.loads(browser.open(f"{self.url}/call/whoami").text) for _ in range(2))
        self.assertNotEqual(first["token"], second["token"])
        with self.outside_the_group():
            self.assertEqual(browser.open(f"{self.url}/call/edit").status, 403)
            self.assertEqual(browser.open(f"{self.url}/staff").status, 403)
        self.assert_at_party(browser.open(f"{self.url}/call/edit"), "For editors")
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=null")

    def test_5_logout(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        page = browser.open(f"{self.url}/logout")
        page = browser.submit(page, page.form_to("/logout"))
        self.assertTrue(any(url.startswith(f"{self.issuer}/logout?") for url, _ in page.steps), page)
        self.assert_signed_out(browser, f"{self.url}/")

    def test_6_back_channel(self) -> None:
        """Whatever ends the session at the provider, Spring's own session ends too."""
        self.assert_is_told_of_every_end(f"{self.url}/")

    def test_7_who_is_not_in_the_group_is_refused(self) -> None:
        browser = self.browser(STRANGER)
        self.assert_signs_in(browser, f"{self.url}/", STRANGER.email)
        self.assertEqual(browser.open(f"{self.url}/staff").status, 403)
        self.assertEqual(browser.open(f"{self.url}/call/edit").status, 403)


class Boot3(SpringBoot, Spring):
    module, version = "boot3", 3


class Boot4(SpringBoot, Spring):
    module, version = "boot4", 4
