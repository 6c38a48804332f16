"""The admin API, as far as the suites need it."""

import json
import urllib.error
import urllib.request


class Refused(Exception):
    """The admin API answered with an error."""


class Admin:
    """Calls with the admin secret."""

    def __init__(self, base_url: str, secret: str):
        self._base = f"{base_url}/api/admin"
        self._secret = secret

    def post(self, path: str, body: dict) -> dict:
        """Sends JSON and reads JSON."""
        request = urllib.request.Request(f"{self._base}{path}", json.dumps(body).encode(), method="POST")
        request.add_header("Authorization", f"Bearer {self._secret}")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            raise Refused(f"POST {path} answered {error.code}: {text}") from error
