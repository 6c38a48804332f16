"""oauth2-proxy in front of an application that shows which headers it gets."""

import html
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from driver.case import MEMBER, STRANGER, PartyCase


class Application(BaseHTTPRequestHandler):
    """What is behind the proxy."""

    def do_GET(self) -> None:  # noqa: N802
        headers = [name for name in self.headers if name.lower().startswith("x-forwarded-")]
        rows = "".join(f"<tr><th>{name}<td>{html.escape(self.headers[name])}" for name in sorted(headers))
        page = f"<!doctype html><title>Application</title><h1>The application</h1><table>{rows}</table>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None:
        pass


class OAuth2Proxy(PartyCase):
    recipe_name = "oauth2-proxy"

    @classmethod
    def start(cls) -> None:
        application = ThreadingHTTPServer(("127.0.0.1", 0), Application)
        threading.Thread(target=application.serve_forever, daemon=True).start()
        cls.addClassCleanup(application.server_close)
        cls.addClassCleanup(application.shutdown)
        config = cls.client["configuration"] + cls.recipe.block("oauth2-proxy.cfg")
        own = {
            "127.0.0.1:4180": f"127.0.0.1:{cls.port}",
            "127.0.0.1:8081": f"127.0.0.1:{application.server_port}",
            # Nobody waits for half an hour here.
            'cookie_refresh = "30m"': 'cookie_refresh = "1s"',
        }
        for there, here in own.items():
            assert there in config, f"{there} is not in {config}"
            config = config.replace(there, here)
        file = cls.folder / "oauth2-proxy.cfg"
        file.write_text(config)
        located = ["go", "tool", "-n", "oauth2-proxy"]
        found = subprocess.run(located, cwd=Path(__file__).parent, check=True, capture_output=True, text=True)
        cls.run_process([found.stdout.strip(), f"--config={file}"], f"{cls.url}/ping")

    def test_1_login(self) -> None:
        """The application is told who it is, and which groups the person is in."""
        browser = self.browser()
        page = self.assert_signs_in(browser, f"{self.url}/", MEMBER.email)
        self.assertIn("<th>X-Forwarded-Groups<td>staff", page.text)
        self.assertEqual(browser.pages, ["login", "consent"])
        self.picture(f"{self.url}/")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        self.assert_at_party(browser.open(f"{self.url}/again"), MEMBER.email)
        self.assert_second_visit(browser, f"{self.url}/", MEMBER.email)

    def test_3_refresh(self) -> None:
        """A refresh brings the groups of now: who was taken out is refused, without a new sign-in."""
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        with self.outside_the_group():
            self.eventually("the refresh notices", lambda: browser.open(f"{self.url}/").status == 403)
        self.assertIn("Refreshing session", self.processes[0].tail())

    def test_4_logout(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/")
        page = browser.open(self.recipe.block("sign-out").strip())
        self.assertTrue(any(url.startswith(f"{self.issuer}/logout?") for url, _ in page.steps), page)
        # It led back to the application, which asks who it is.
        self.assertIsNotNone(page.form("login"), page)
        self.assert_signed_out(browser, f"{self.url}/")

    def test_5_who_is_not_in_the_group_is_refused(self) -> None:
        browser = self.browser(STRANGER)
        page = browser.sign_in(f"{self.url}/")
        self.assertEqual(browser.pages[:1], ["login"])
        self.assertTrue(page.url.startswith(f"{self.url}/oauth2/callback"), page)
        self.assertEqual(page.status, 403, page)
        self.assertNotIn("The application", browser.open(f"{self.url}/").text)
