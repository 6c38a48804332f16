"""A browser without a screen: keeps cookies, follows the provider's redirects, fills in its forms."""

import json
import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx

FIXTURES = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())


class _Forms(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.forms: dict[str, tuple[str, dict[str, str]]] = {}
        self._fields: dict[str, str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        if tag == "form":
            self._fields = {}
            self.forms[own.get("id") or ""] = (own["action"] or "", self._fields)
        elif tag == "input" and self._fields is not None and own.get("name"):
            self._fields[own["name"] or ""] = own.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._fields = None


class Browser:
    """One person's browser."""

    def __init__(self) -> None:
        self._http = httpx.Client(timeout=20, headers={"Accept": "text/html"})
        self.pages: list[str] = []

    def visit(self, url: str) -> str:
        """Goes to the provider, does what its pages ask for, and answers with the URL to which it leads away."""
        user = FIXTURES["user"]
        answers = {
            "login": {"username": user["email"], "password": user["password"]},
            "consent": {"decision": "allow"},
        }
        response = self._http.get(url)
        for _ in range(12):
            if "location" in response.headers:
                url = urljoin(str(response.url), response.headers["location"])
                if not url.startswith(f"{FIXTURES['base_url']}/"):
                    return url
                response = self._http.get(url)
                continue
            forms = _Forms(response.text).forms
            name = next((name for name in answers if name in forms), None)
            assert name, f"{response.status_code} at {response.url}: {response.text}"
            assert name not in self.pages, f"the page {name} came twice"
            self.pages.append(name)
            action, fields = forms[name]
            target = urljoin(str(response.url), action)
            headers = {"Origin": FIXTURES["base_url"]}
            response = self._http.post(target, data={**fields, **answers[name]}, headers=headers)
        raise AssertionError(f"the provider led in circles, last to {url}")
