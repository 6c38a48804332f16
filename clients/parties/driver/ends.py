"""How a session ends at the provider, without the application."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .browser import Browser

if TYPE_CHECKING:
    from .case import PartyCase


def by_page(case: "PartyCase", browser: Browser) -> None:
    """The person signs out in another tab of the browser, at the provider's own page."""
    page = browser.sign_out(f"{case.issuer}/logout")
    case.assertEqual(browser.pages, ["logout"], page)


def by_account(case: "PartyCase", browser: Browser) -> None:
    """The person ends the sessions of all other browsers from the account pages in theirs."""
    other = case.browser(browser.person)
    page = other.sign_in(f"{case.issuer}/account/sessions")
    form = page.form("sessions")
    case.assertIsNotNone(form, page)
    page = other.submit(page, form, end_others="true")
    case.assertTrue(page.url.endswith("/account/sessions?done=sessions"), page)


def by_administrator(case: "PartyCase", browser: Browser) -> None:
    """An administrator signs the person out."""
    case.symbolon("user", "sign-out", browser.person.email)


ENDS: dict[str, Callable[["PartyCase", Browser], None]] = {
    "the provider's page": by_page,
    "the account pages of another browser": by_account,
    "an administrator": by_administrator,
}
