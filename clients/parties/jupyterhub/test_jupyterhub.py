"""JupyterHub with GenericOAuthenticator, and its own proxy in front."""

import os
import secrets
from pathlib import Path

from driver.case import MEMBER, STRANGER, PartyCase
from driver.process import free_port

HERE = Path(__file__).parent
# Where the hub and its proxy listen besides; nothing else is told about the installation.
PLACES = """
c.JupyterHub.bind_url = "{url}"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
"""


class JupyterHub(PartyCase):
    recipe_name = "jupyterhub"

    @classmethod
    def start(cls) -> None:
        own = cls.recipe.block("jupyterhub_config.py")
        assert "auth_refresh_age = 300\n" in own
        # Nobody waits for five minutes here.
        own = own.replace("auth_refresh_age = 300\n", "auth_refresh_age = 1\n")
        places = PLACES.format(url=f"http://127.0.0.1:{cls.port}", hub=free_port(), proxy=free_port())
        (cls.folder / "jupyterhub_config.py").write_text(cls.client["configuration"] + own + places)
        environment = {
            "PATH": f"{HERE / 'node_modules/.bin'}:{os.environ['PATH']}",
            "JUPYTERHUB_CRYPT_KEY": secrets.token_hex(32),
        }
        cls.run_process([str(HERE / ".venv/bin/jupyterhub")], f"{cls.url}/hub/health", environment)

    def test_1_login(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/hub/home", MEMBER.email, 'href="/hub/spawn/')
        self.assertEqual(browser.pages, ["login", "consent"])
        self.picture(f"{self.url}/hub/home")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/hub/home")
        self.assert_second_visit(browser, f"{self.url}/hub/home", MEMBER.email)

    def test_3_refresh(self) -> None:
        """The hub asks who it is again, with a new access token; who is signed out at the provider is out here too."""
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=1")
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/hub/home")

        def is_refreshed() -> bool:
            self.assert_at_party(browser.open(f"{self.url}/hub/home"), MEMBER.email)
            return f"Refreshing oauth access token for {MEMBER.email}" in self.processes[0].tail()

        self.eventually("the hub refreshes", is_refreshed)
        self.assertNotIn("Error using refresh_token", self.processes[0].tail())
        self.symbolon("user", "sign-out", MEMBER.email)
        self.eventually("the refresh fails", lambda: browser.open(f"{self.url}/hub/home").form("login") is not None)
        self.symbolon("client", "update", self.client["client_id"], "--set", "settings.access_token_lifetime=null")

    def test_4_logout(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/hub/home")
        page = browser.sign_out(f"{self.url}/hub/logout")
        self.assertEqual(browser.pages, ["logout"])
        # It led back to the hub, which asks who it is.
        self.assertIsNotNone(page.form("login"), page)
        self.assert_signed_out(browser, f"{self.url}/hub/home")

    def test_5_who_is_not_in_the_group_is_refused(self) -> None:
        browser = self.browser(STRANGER)
        page = browser.sign_in(f"{self.url}/hub/home")
        self.assertEqual(browser.pages[:1], ["login"])
        self.assertTrue(page.url.startswith(f"{self.url}/hub/oauth_callback"), page)
        self.assertEqual(page.status, 403, page)
