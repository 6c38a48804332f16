"""The load scripts' side of the contract: what they send, byte for byte, and the tokens that they sign."""

import base64
import hashlib
import http.client
import json
import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization

FIXTURES = json.loads(Path(os.environ["SYMBOLON_FIXTURES"]).read_text())
BASE_URL = FIXTURES["base_url"]
# The scripts turn http into https for `iss`, `aud` and Origin, and leave host and port as they are.
ISSUER = BASE_URL.replace("http://", "https://")
REDIRECT_URI = "https://localhost:3000/callback"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
THIRTY_DAYS = 30 * 24 * 3600

_connections = threading.local()


@dataclass
class Answer:
    """A response, its body read."""

    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self) -> dict:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def location(self) -> str:
        """Where a redirect leads, not decoded."""
        return self.headers["location"] or ""

    def parameter(self, name: str) -> str | None:
        """A parameter of Location, cut out as the scripts do: up to `&`, not decoded."""
        _, found, rest = self.location.partition(f"{name}=")
        return rest.split("&")[0] if found else None


def send(method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> Answer:
    """One request on this thread's kept-alive connection; redirects are not followed."""
    for attempt in (1, 2):
        connection = getattr(_connections, "http", None)
        if connection is None:
            connection = _connections.http = http.client.HTTPConnection(urlsplit(BASE_URL).netloc, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read().decode())
        except (http.client.RemoteDisconnected, ConnectionError):
            connection.close()
            _connections.http = None
            if attempt == 2:
                raise
    raise AssertionError("unreachable")


def admin(method: str, path: str, body: dict | None = None, secret: str | None = None) -> Answer:
    """An admin call as the seeds make it."""
    headers = {
        "Authorization": f"Bearer {secret or FIXTURES['admin_secret']}",
        "Content-Type": "application/json",
    }
    return send(method, f"/api/admin{path}", None if body is None else json.dumps(body), headers)


@dataclass
class Client:
    """A registered client, with its Basic header: base64 of id:secret, nothing percent-encoded."""

    client_id: str
    client_secret: str

    @property
    def basic(self) -> str:
        """The Authorization header."""
        return "Basic " + base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()

    def form(self, path: str, body: str) -> Answer:
        """POSTs a form that the caller has written."""
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": self.basic}
        return send("POST", path, body, headers)

    def introspect(self, token: str) -> dict:
        """Introspects as the benchmark does: no hint, 200 whatever the token is."""
        answer = self.form("/introspect", f"token={quote(token, safe='')}")
        assert answer.status == 200, answer.text
        return answer.json

    def revoke(self, token: str) -> Answer:
        """Revokes as the seed does."""
        return self.form("/revoke", f"token={quote(token, safe='')}&token_type_hint=access_token")

    def refresh(self, token: str) -> Answer:
        """Refreshes as the benchmark does: the token is a JWT and not encoded."""
        return self.form("/token", f"grant_type=refresh_token&refresh_token={token}")

    def exchange(self, subject: str, **more: str) -> Answer:
        """Exchanges as the benchmark does."""
        fields = {
            "grant_type": EXCHANGE,
            "subject_token": subject,
            "subject_token_type": ACCESS_TOKEN,
            "requested_token_type": ACCESS_TOKEN,
            "scope": "openid profile",
            **more,
        }
        return self.form("/token", urlencode(fields))


LOAD_TEST_CLIENT = {
    "client_name": "Load Test Client",
    "redirect_uris": [REDIRECT_URI],
    "grant_types": ["authorization_code", "refresh_token", EXCHANGE],
    "scope": "openid profile email",
    "skip_consent": True,
    "token_exchange_allowed": True,
}


def create_client(**own: object) -> Client:
    """The README's step that is done by hand."""
    answer = admin("POST", "/clients", {**LOAD_TEST_CLIENT, **own})
    assert answer.status == 201, answer.text
    made = answer.json["client"]
    return Client(made["client_id"], made["client_secret"])


def create_user(prefix: str = "otp-bench") -> dict:
    """A user as the seeds make it."""
    email = f"{prefix}-{secrets.token_hex(6)}@test.authrim.internal"
    answer = admin("POST", "/users", {"email": email, "name": "Bench User", "email_verified": True})
    assert answer.status == 201, answer.text
    return answer.json["user"]


def create_session(user_id: str, ttl: int = 7200) -> str:
    """A session as the silent benchmark makes it."""
    answer = admin("POST", "/test/sessions", {"user_id": user_id, "ttl_seconds": ttl})
    assert answer.status in (200, 201), answer.text
    return answer.json["session_id"]


def b64url(raw: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def claims_of(token: str) -> dict:
    """The payload of a JWT, unchecked."""
    return jwt.decode(token, options={"verify_signature": False})


@dataclass
class Authorization:
    """An authorization request as the silent benchmark writes it."""

    client_id: str
    scope: str = "openid"
    prompt: str | None = "none"
    nonce: bool = True
    redirect_uri: str = REDIRECT_URI

    def __post_init__(self) -> None:
        self.state = secrets.token_hex(16)
        self.verifier = b64url(secrets.token_bytes(32))
        challenge = b64url(hashlib.sha256(self.verifier.encode()).digest())
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.scope,
            "state": self.state,
            "nonce": secrets.token_hex(16) if self.nonce else None,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "prompt": self.prompt,
        }
        self.path = "/authorize?" + urlencode({name: value for name, value in fields.items() if value}, quote_via=quote)

    def get(self, cookie: str | None = None) -> Answer:
        """Sends it, with the session's id raw in the cookie."""
        return send("GET", self.path, headers={"Cookie": f"authrim_session={cookie}"} if cookie else {})

    def redeem(self, client: Client, code: str) -> Answer:
        """Redeems the code; it is encoded though it was never decoded."""
        fields = f"grant_type=authorization_code&code={quote(code, safe='')}"
        fields += f"&redirect_uri={quote(self.redirect_uri, safe='')}&code_verifier={self.verifier}"
        return client.form("/token", fields)


class Signer:
    """Signs tokens with the server's own key, as the token seeds do."""

    def __init__(self) -> None:
        answer = admin("GET", "/test/signing-key")
        assert answer.status == 200, answer.text
        self.key = answer.json
        # Parsed once: reading and checking an RSA key costs more than signing with it.
        self._private = serialization.load_pem_private_key(self.key["privatePEM"].encode(), None)

    def sign(self, claims: dict, typ: str = "at+jwt") -> str:
        """A JWS with the key's id."""
        headers = {"typ": typ, "kid": self.key["kid"]}
        return jwt.encode(claims, self._private, algorithm="RS256", headers=headers)

    def access_token(self, client_id: str, user_id: str, shard: tuple[str, int] = ("enam", 7), **own: object) -> str:
        """An access token of the seed; `own` overrides claims."""
        now = int(time.time())
        region, index = shard
        claims = {
            "iss": ISSUER,
            "sub": user_id,
            "aud": ISSUER,
            "client_id": client_id,
            "scope": "openid profile email",
            "iat": now,
            "exp": now + THIRTY_DAYS,
            "jti": f"g2:{region}:{index}:at_{b64url(secrets.token_bytes(32))}",
            **own,
        }
        return self.sign(claims)

    def expired(self, client_id: str, user_id: str) -> str:
        """A token that ended before it was issued."""
        return self.access_token(client_id, user_id, exp=int(time.time()) - 3600)

    def exchanged(self, client_id: str, user_id: str, service: str = "service-gateway") -> str:
        """A token that looks exchanged, by a service that is not registered."""
        act = {"sub": f"client:{service}", "client_id": service}
        return self.access_token(client_id, user_id, act=act, resource="https://api.example.com/gateway")

    def actor_token(self, service: str) -> str:
        """The actor token of the historical exchange seed: an unregistered service, a jti without a shard."""
        now = int(time.time())
        return self.sign(
            {
                "iss": ISSUER,
                "sub": f"client:{service}",
                "aud": ISSUER,
                "client_id": service,
                "azp": service,
                "scope": "openid",
                "iat": now,
                "exp": now + THIRTY_DAYS,
                "jti": f"at_{b64url(secrets.token_bytes(32))}",
            }
        )

    def refresh_token(self, client_id: str, user_id: str, generation: int, shard: int) -> str:
        """A refresh token of the seed."""
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "sub": user_id,
            "aud": client_id,
            "scope": "openid profile email",
            "client_id": client_id,
            "iat": now,
            "exp": now + THIRTY_DAYS,
            "jti": f"v{generation}_{shard}_{b64url(secrets.token_bytes(64))}",
            "rtv": 1,
        }
        return self.sign(claims, "JWT")


def refresh_shard(user_id: str, client_id: str, shards: int) -> int:
    """The script's formula: a signed integer, where the reference server takes an unsigned one."""
    digest = hashlib.sha256(f"{user_id}:{client_id}".encode()).digest()
    return abs(int.from_bytes(digest[:4], "big", signed=True)) % shards


def register_family(token: str, user_id: str, client_id: str) -> Answer:
    """Registers a refresh-token family as the seed does."""
    body = {"token": token, "userId": user_id, "clientId": client_id, "scope": "openid profile email", "ttl": 2592000}
    return admin("POST", "/test/tokens", body)
