"""A browser without a screen: keeps cookies, follows redirects, fills in forms. Standard library alone."""

import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlencode, urljoin, urlsplit

LIMIT_SECONDS = 30
MOST_STEPS = 25


def origin(url: str) -> str:
    """Scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True)
class Person:
    """Who sits at the browser."""

    email: str
    password: str


@dataclass
class Form:
    """A form of a page."""

    id: str
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.forms: list[Form] = []
        self._open: Form | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        if tag == "form":
            self._open = Form(own.get("id") or "", own.get("action") or "", (own.get("method") or "get").lower())
            self.forms.append(self._open)
        elif tag == "input" and self._open is not None and own.get("name") and own.get("type") != "submit":
            self._open.fields[own["name"] or ""] = own.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None


@dataclass
class Page:
    """What the browser shows, and the addresses that led there, each with the status of its answer."""

    url: str
    status: int
    text: str
    steps: list[tuple[str, int]]

    def forms(self) -> list[Form]:
        """Every form."""
        return _Forms(self.text).forms

    def form(self, id: str) -> Form | None:
        """The form with an id."""
        return next((form for form in self.forms() if form.id == id), None)

    def form_to(self, action: str) -> Form:
        """The form that goes to an address with this in it."""
        found = next((form for form in self.forms() if action in form.action), None)
        assert found, f"no form to {action} at {self}"
        return found

    def __str__(self) -> str:
        way = "".join(f"\n  {status} {url}" for url, status in self.steps)
        return f"{self.status} {self.url}, reached by{way}\n{self.text[:3000]}"


class _Verbatim(urllib.request.HTTPErrorProcessor):
    """Redirects and errors are answers like any other."""

    def http_response(self, request: urllib.request.Request, response: object) -> object:
        return response

    https_response = http_response


class Browser:
    """One person's browser. `pages` names the provider's pages that were filled in since it was emptied."""

    def __init__(self, provider: str, person: Person, ca: str | None = None):
        self.provider = provider
        self.person = person
        self.pages: list[str] = []
        # Browsers send cookies that are `Secure` to localhost over plain http too, as a trustworthy origin.
        self._jar = CookieJar(DefaultCookiePolicy(secure_protocols=("http", "https")))
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(self._jar),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca)),
            _Verbatim(),
        )

    def open(self, url: str) -> Page:
        """Goes to an address and wherever it redirects to."""
        return self._go(urllib.request.Request(url))

    def submit(self, page: Page, form: Form, **values: str) -> Page:
        """Presses a form's button."""
        target, fields = urljoin(page.url, form.action), {**form.fields, **values}
        if form.method == "get":
            return self.open(f"{target.partition('?')[0]}?{urlencode(fields)}")
        request = urllib.request.Request(target, urlencode(fields).encode(), {"Origin": origin(page.url)})
        return self._go(request)

    def sign_in(self, at: str | Page) -> Page:
        """Signs in, and allows what the application asks for, where the provider asks."""
        own = {"username": self.person.email, "password": self.person.password}
        return self._answer(at, {"login": own, "consent": {"decision": "allow"}})

    def sign_out(self, at: str | Page) -> Page:
        """Confirms where the provider asks whether to sign out."""
        return self._answer(at, {"logout": {"decision": "confirm"}})

    def _answer(self, at: str | Page, answers: dict[str, dict[str, str]]) -> Page:
        """Fills in these pages of the provider, until it asks for none of them."""
        page = self.open(at) if isinstance(at, str) else at
        self.pages.clear()
        while page.url.startswith(f"{self.provider}/"):
            name = next((name for name in answers if page.form(name)), None)
            if name is None:
                break
            assert name not in self.pages, f"the page {name} came twice: {page}"
            self.pages.append(name)
            page = self.submit(page, page.form(name), **answers[name])
        return page

    def forget(self, host: str) -> None:
        """Drops the cookies of a host: the party's, so that only the provider knows the person."""
        for cookie in list(self._jar):
            if cookie.domain in (host, f"{host}.local"):
                self._jar.clear(cookie.domain, cookie.path, cookie.name)

    def _go(self, request: urllib.request.Request) -> Page:
        steps: list[tuple[str, int]] = []
        while len(steps) < MOST_STEPS:
            request.add_header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
            with self._opener.open(request, timeout=LIMIT_SECONDS) as response:
                text = response.read().decode(errors="replace")
                status, location = response.status, response.headers.get("Location")
            steps.append((request.full_url, status))
            if location is None or not 300 <= status < 400:
                return Page(request.full_url, status, text, steps)
            request = urllib.request.Request(urljoin(request.full_url, location))
        raise AssertionError("led in circles:" + "".join(f"\n  {status} {url}" for url, status in steps))
