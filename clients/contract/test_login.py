"""The login and consent pages of an https issuer behind a proxy that ends TLS: cookies, CSRF, headers, escaping."""

import re
from html import unescape
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest

from scripts import ISSUER, REDIRECT_URI, Answer, Authorization, admin, create_client, create_session, send

PASSWORD = "a long enough password"


@pytest.fixture(scope="module")
def person() -> dict:
    """A user with a password."""
    body = {"email": "person@example.com", "email_verified": True, "name": "Per Son", "password": PASSWORD}
    return admin("POST", "/users", body).json["user"]


class Browser:
    """Cookies, and one form at a time."""

    def __init__(self) -> None:
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []

    def send(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        """One request, with the cookies so far."""
        headers = {"Accept": "text/html", **headers}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = send(method, path, body, headers)
        for line in answer.headers.get_all("set-cookie") or []:
            self.set_cookies.append(line)
            name, _, value = line.split(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def get(self, path: str) -> Answer:
        """Goes there, and on while it stays at the provider."""
        answer = self.send("GET", path)
        while answer.status in (302, 303) and not answer.location.startswith(REDIRECT_URI):
            answer = self.send("GET", answer.location.removeprefix(ISSUER))
        return answer

    def post(self, page: Answer, **fields: str) -> Answer:
        """Fills in the page's first form."""
        form = re.search(r'<form[^>]*action="([^"]*)".*?</form>', page.text, re.DOTALL)
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form[0]))
        body = urlencode({**{name: unescape(value) for name, value in hidden.items()}, **fields})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": ISSUER}
        path = unescape(form[1]).removeprefix(ISSUER)
        answer = self.send("POST", path, body, **headers)
        if answer.status in (302, 303) and not answer.location.startswith(REDIRECT_URI):
            return self.get(answer.location.removeprefix(ISSUER))
        return answer


def sign_in(browser: Browser, person: dict, path: str) -> Answer:
    page = browser.get(path)
    assert page.status == 200, page.text
    return browser.post(page, username=person["email"], password=PASSWORD)


def test_a_login(person):
    client, browser = create_client(), Browser()
    asked = Authorization(client.client_id, "openid", prompt=None)
    answer = sign_in(browser, person, asked.path)
    # RFC 9700 4.12: a redirect after a POST must not carry the form along.
    assert answer.status in (302, 303)
    assert answer.location.startswith(f"{REDIRECT_URI}?code=")
    assert asked.redeem(client, answer.parameter("code")).status == 200
    session = next(line for line in browser.set_cookies if line.startswith("authrim_session="))
    for attribute in ("Path=/", "HttpOnly", "Secure", "SameSite=None"):
        assert attribute in session, session
    assert "Domain" not in session
    assert all("HttpOnly" in line and "Secure" in line for line in browser.set_cookies)


def test_a_redirect_after_a_post_is_303(person):
    browser = Browser()
    page = browser.get(Authorization(create_client().client_id, prompt=None).path)
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page.text))
    body = urlencode({**hidden, "username": person["email"], "password": PASSWORD})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": ISSUER}
    assert browser.send("POST", "/login", body, **headers).status == 303


def test_a_second_login_has_a_new_session(person):
    client, browser = create_client(), Browser()
    sign_in(browser, person, Authorization(client.client_id, prompt=None).path)
    first = browser.cookies["authrim_session"]
    sign_in(browser, person, Authorization(client.client_id, prompt="login").path)
    assert browser.cookies["authrim_session"] != first


def test_a_planted_session_is_not_signed_in(person):
    """Session fixation: what the browser brought is not what it leaves with."""
    browser = Browser()
    browser.cookies["authrim_session"] = planted = "se_1_1_aaaaaaaaaaaaaaaaaaaaaa"
    sign_in(browser, person, Authorization(create_client().client_id, prompt=None).path)
    assert browser.cookies["authrim_session"] != planted


@pytest.mark.parametrize("spoil", ["token", "cookie"])
def test_a_forged_form_is_refused(person, spoil):
    browser = Browser()
    page = browser.get(Authorization(create_client().client_id, prompt=None).path)
    fields = {"username": person["email"], "password": PASSWORD}
    if spoil == "token":
        fields["csrf_token"] = "x" * 43
    if spoil == "cookie":
        browser.cookies.clear()
    answer = browser.post(page, **fields)
    assert 400 <= answer.status < 500, answer.status
    assert "authrim_session" not in browser.cookies


def test_a_transaction_of_another_browser_is_refused(person):
    victim, attacker = Browser(), Browser()
    path = Authorization(create_client().client_id, prompt=None).path
    page, own = attacker.get(path), victim.get(path)
    assert own.status == 200
    answer = victim.post(page, username=person["email"], password=PASSWORD)
    assert 400 <= answer.status < 500
    assert "authrim_session" not in victim.cookies


def test_consent_is_asked_for_once(person):
    client, browser = create_client(skip_consent=False), Browser()
    page = sign_in(browser, person, Authorization(client.client_id, "openid email", prompt=None).path)
    assert page.status == 200 and 'name="decision"' in page.text
    assert browser.post(page, decision="allow").parameter("code")
    assert browser.get(Authorization(client.client_id, "openid email").path).parameter("code")
    more = browser.get(Authorization(client.client_id, "openid email profile").path)
    assert more.parameter("error") == "consent_required"
    again = browser.get(Authorization(client.client_id, "openid email", prompt="consent").path)
    assert 'name="decision"' in again.text


def test_pages_are_guarded():
    page = Browser().get(Authorization(create_client().client_id, prompt=None).path)
    policy = page.headers["content-security-policy"]
    for directive in ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert directive in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"]


def test_what_comes_in_goes_out_escaped():
    client = create_client(client_name='<b>"Name" & Co</b>')
    evil = '"><script>alert(1)</script>'
    path = Authorization(client.client_id, prompt=None).path
    page = Browser().get(f"{path}&login_hint={quote(evil, safe='')}")
    assert page.status == 200
    assert "<script>alert" not in page.text and "<b>" not in page.text
    error = send("GET", f"/authorize?client_id={quote(evil, safe='')}", headers={"Accept": "text/html"})
    assert error.status == 400
    assert "<script>alert" not in error.text


def test_form_post_escapes_the_state(client, user):
    session = create_session(user["id"])
    asked = Authorization(client.client_id)
    path = asked.path.replace(f"state={asked.state}", "state=" + quote('"><script>alert(1)</script>', safe=""))
    answer = send("GET", f"{path}&response_mode=form_post", headers={"Cookie": f"authrim_session={session}"})
    assert answer.status == 200
    assert "<script>alert" not in answer.text
    assert f'action="{REDIRECT_URI}"' in answer.text
    # Or browsers would hold it against the client's own redirects.
    assert "form-action" not in answer.headers["content-security-policy"]


def test_cors_is_for_the_clients_own_pages(client, user):
    session = create_session(user["id"])

    def redeem(origin: str) -> Answer:
        asked = Authorization(client.client_id)
        code = asked.get(session).parameter("code")
        body = f"grant_type=authorization_code&code={code}&redirect_uri={quote(REDIRECT_URI, safe='')}"
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": client.basic, "Origin": origin}
        return send("POST", "/token", f"{body}&code_verifier={asked.verifier}", headers)

    own = redeem("https://localhost:3000")
    assert own.headers["access-control-allow-origin"] == "https://localhost:3000"
    assert own.headers["access-control-allow-credentials"] is None
    assert redeem("https://evil.example").headers["access-control-allow-origin"] is None
    preflight = send("OPTIONS", "/userinfo", headers={"Origin": "https://localhost:3000"})
    assert preflight.status in (200, 204)
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert send("GET", "/.well-known/jwks.json", headers={"Origin": "https://a.example"}).headers[
        "access-control-allow-origin"
    ]


def test_a_redirect_says_who_answers(person):
    answer = sign_in(Browser(), person, Authorization(create_client().client_id, prompt=None).path)
    assert parse_qs(urlsplit(answer.location).query)["iss"] == [ISSUER]
