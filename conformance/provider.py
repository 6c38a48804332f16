"""The provider's admin API, as far as the tests need it."""
import json
import time
import urllib.error
import urllib.parse
import urllib.request

# What keys may be of, the default first.
ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")


class Provider:
    """One issuer, and what was made at it."""

    def __init__(self, url, secret, issuer):
        self.url = f"{url.rstrip('/')}/api/admin"
        self.headers = {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"}
        self.issuer = issuer
        self.made = []

    def call(self, method, path, body=None, accepted=()):
        """The JSON of an answer; None for a status among those that are accepted besides 2xx."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            if error.code in accepted:
                return None
            told = error.read().decode(errors="replace")[:500]
            raise RuntimeError(f"{method} {path}: {error.code} {told}") from error
        return json.loads(text) if text else None

    def at(self, path):
        return f"/issuers/{self.issuer}{path}"

    def create_issuer(self, url, settings):
        """Creates the issuer unless it is there, and sets what the tests need."""
        self.call("POST", "/issuers", {"id": self.issuer, "url": url}, accepted=(409,))
        found = self.call("GET", f"/issuers/{self.issuer}")["issuer"]["url"]
        if found != url:
            raise RuntimeError(f"the issuer {self.issuer} has the URL {found}")
        self.call("PATCH", self.at("/settings"), settings)

    def create_client(self, metadata):
        client = self.call("POST", self.at("/clients"), metadata)["client"]
        self.made.append(self.at("/clients/" + urllib.parse.quote(client["client_id"], safe="")))
        return client

    def create_user(self, user):
        made = self.call("POST", self.at("/users"), user)["user"]
        self.made.append(self.at("/users/" + urllib.parse.quote(made["id"], safe="")))

    def ask_for_consent_again(self):
        """From now on nobody has consented to anything, as after a new version of the terms."""
        self.call("PATCH", self.at("/settings"), {"consent_version": int(time.time())})

    def rotate_keys(self):
        """Publishes a signing key that was not there. One that was rotated minutes ago waits until it is known everywhere: then
        that of another algorithm is rotated."""
        before = self.keys()
        for algorithm in ALGORITHMS:
            self.call("POST", self.at("/signing-keys/rotate"), {"algorithm": algorithm}, accepted=(400, 404, 409))
            if self.keys() - before:
                return
        raise RuntimeError("no key can be rotated now: wait until the last rotations are known everywhere")

    def keys(self):
        """The ids of the signing keys that the issuer has."""
        return {key["kid"] for key in self.call("GET", self.at("/signing-keys"))["keys"]}

    def delete_all(self):
        """Deletes what was made, the latest first."""
        while self.made:
            self.call("DELETE", self.made.pop(), accepted=(404,))
