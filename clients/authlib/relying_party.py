"""A relying party made of Authlib: its HTTPX client, and its checks of ID tokens."""

from dataclasses import dataclass

import httpx
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from browser import FIXTURES, Browser


@dataclass
class Login:
    """What a login gave."""

    browser: Browser
    client: OAuth2Client
    token: dict
    claims: dict


class RelyingParty:
    """A client of the provider, configured by discovery."""

    def __init__(self, name: str):
        response = httpx.get(f"{FIXTURES['issuer']}/.well-known/openid-configuration")
        response.raise_for_status()
        self.metadata = response.json()
        self.registered = FIXTURES["clients"][name]

    def client(self, scope: str = "openid profile email") -> OAuth2Client:
        """Authlib's client for one login."""
        return OAuth2Client(
            self.registered["client_id"],
            self.registered.get("client_secret"),
            token_endpoint_auth_method=self.registered["token_endpoint_auth_method"],
            token_endpoint=self.metadata["token_endpoint"],
            redirect_uri=FIXTURES["redirect_uri"],
            scope=scope,
            code_challenge_method="S256",
            timeout=20,
        )

    def sign_in(self, browser: Browser | None = None, **parameters: str) -> Login:
        """A whole login: request, pages, code, tokens, and the ID token's checks."""
        browser = browser or Browser()
        browser.pages.clear()
        client, verifier, nonce = self.client(), generate_token(48), generate_token(20)
        endpoint = self.metadata["authorization_endpoint"]
        url, state = client.create_authorization_url(endpoint, code_verifier=verifier, nonce=nonce, **parameters)
        answer = browser.visit(url)
        token = client.fetch_token(authorization_response=answer, state=state, code_verifier=verifier)
        return Login(browser, client, token, self.id_token(token, nonce))

    def id_token(self, token: dict, nonce: str | None = None) -> dict:
        """Validates an ID token as Authlib's own integrations do."""
        keys = KeySet.import_key_set(httpx.get(self.metadata["jwks_uri"]).json())
        algorithms = self.metadata["id_token_signing_alg_values_supported"]
        registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
        decoded = jwt.decode(token["id_token"], keys, registry=registry)
        expected = {"client_id": self.registered["client_id"], "access_token": token["access_token"], "nonce": nonce}
        options = {"iss": {"essential": True, "value": self.metadata["issuer"]}}
        claims = CodeIDToken(decoded.claims, decoded.header, options, expected)
        claims.validate(leeway=5)
        return dict(claims)
