"""A new Django project with mozilla-django-oidc, whose admin site is for members of the group."""

import subprocess
from pathlib import Path

from driver.browser import Browser, Page
from driver.case import MEMBER, STRANGER, PartyCase
from driver.recipe import parts

PYTHON = str(Path(__file__).parent / ".venv/bin/python")


class Django(PartyCase):
    recipe_name = "django"

    @classmethod
    def start(cls) -> None:
        settings, urls = parts(cls.client["configuration"], "# settings.py", "# urls.py")
        cls.manage("-m", "django", "startproject", "project", ".")
        project = cls.folder / "project"
        own = cls.recipe.block("settings.py")
        renewal = "OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = "
        assert f"{renewal}900\n" in own
        # Nobody waits for a quarter of an hour here.
        own = own.replace(f"{renewal}900\n", f"{renewal}1\n")
        with (project / "settings.py").open("a") as file:
            file.write(settings + own)
        (project / "urls.py").write_text(cls.recipe.block("urls.py") + urls)
        (project / "oidc.py").write_text(cls.recipe.block("oidc.py"))
        cls.manage("manage.py", "migrate", "--verbosity", "0")
        command = [PYTHON, "manage.py", "runserver", "--noreload", f"127.0.0.1:{cls.port}"]
        cls.run_process(command, f"{cls.url}/admin/")

    @classmethod
    def manage(cls, *arguments: str) -> None:
        """Runs a command of Django's."""
        done = subprocess.run([PYTHON, *arguments], cwd=cls.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def press_sign_out(self, browser: Browser) -> Page:
        """The button of the admin site."""
        page = browser.open(f"{self.url}/admin/")
        return browser.submit(page, page.form_to("/admin/logout/"))

    def test_1_login(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/admin/", "Site administration", "Ada Lovelace")
        self.assertEqual(browser.pages, ["login", "consent"])
        self.picture(f"{self.url}/admin/")

    def test_2_second_visit(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/admin/")
        self.assert_second_visit(browser, f"{self.url}/admin/", "Site administration")

    def test_3_refresh(self) -> None:
        """When the session is due, Django asks by prompt=none, and has the groups of now, or nobody."""
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/admin/")
        with self.outside_the_group():
            is_out = lambda: "Site administration" not in browser.open(f"{self.url}/admin/").text  # noqa: E731
            self.eventually("the silent sign-in notices", is_out)
        browser.forget("localhost")
        self.assert_at_party(browser.open(f"{self.url}/admin/"), "Site administration")
        silent = lambda: any("prompt=none" in url for url, _ in browser.open(f"{self.url}/admin/").steps)  # noqa: E731
        self.eventually("the session is due", silent)
        self.symbolon("user", "sign-out", MEMBER.email)
        self.eventually("the session has ended", lambda: browser.open(f"{self.url}/admin/").form("login") is not None)

    def test_4_logout(self) -> None:
        browser = self.browser()
        self.assert_signs_in(browser, f"{self.url}/admin/")
        page = self.press_sign_out(browser)
        self.assertTrue(any(url.startswith(f"{self.issuer}/logout?") for url, _ in page.steps), page)
        self.assert_signed_out(browser, f"{self.url}/admin/")

    def test_5_who_is_not_in_the_group_is_refused(self) -> None:
        browser = self.browser(STRANGER)
        page = browser.sign_in(f"{self.url}/admin/")
        self.assertEqual(browser.pages[:1], ["login"])
        self.assert_at_party(page, "not authorized to access this page")
