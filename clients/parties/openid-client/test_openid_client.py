"""npm openid-client in an Express application, which is the recipe's."""

from driver.case import MEMBER
from express import OpenidClient


class Express(OpenidClient):
    def test_1_login(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/", MEMBER.email, "Ada Lovelace")
        self.assertEqual(browser.pages, ["login", "consent"])
        self.picture(f"{self.url}/")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        self.assert_second_visit(browser, f"{self.url}/", MEMBER.email)

    def test_3_logout(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        page = browser.open(self.recipe.block("sign-out").strip())
        self.assertIn(f"{self.issuer}/logout?", "".join(step for step, _ in page.steps), page)
        self.assert_signed_out(browser, f"{self.url}/")
