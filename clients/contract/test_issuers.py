"""A second issuer under a path: nothing of one is good at the other."""

from urllib.parse import urlencode

import pytest

from scripts import ISSUER, LOAD_TEST_CLIENT, Authorization, Client, admin, create_session, send

COOKIE = "__Host-symbolon_session_acme"


class Acme:
    """The other issuer's client, user, session and tokens."""

    def __init__(self) -> None:
        assert admin("POST", "/issuers", {"id": "acme", "url": f"{ISSUER}/acme"}).status == 201
        made = admin("POST", "/issuers/acme/clients", LOAD_TEST_CLIENT).json["client"]
        self.client = Client(made["client_id"], made["client_secret"])
        user = {"email": "same@example.com", "email_verified": True}
        self.user = admin("POST", "/issuers/acme/users", user).json["user"]
        self.made_session = admin("POST", "/issuers/acme/test/sessions", {"user_id": self.user["id"]}).json
        self.session = self.made_session["session_id"]
        self.tokens = self.redeem(self.authorize(self.session)).json

    def authorize(self, session: str) -> tuple[Authorization, str | None]:
        """A silent authorization, and its code."""
        asked = Authorization(self.client.client_id)
        headers = {"Cookie": f"{COOKIE}={session}; authrim_session={session}"}
        return asked, send("GET", f"/acme{asked.path}", headers=headers).parameter("code")

    def redeem(self, authorization: tuple[Authorization, str | None], path: str = "/acme/token"):
        """Redeems a code at one of the issuers."""
        asked, code = authorization
        fields = {
            "grant_type": "authorization_code",
            "code": code or "",
            "redirect_uri": asked.redirect_uri,
            "code_verifier": asked.verifier,
        }
        return self.client.form(path, urlencode(fields))


@pytest.fixture(scope="module")
def acme() -> Acme:
    return Acme()


def test_it_works_like_the_first(acme):
    document = send("GET", "/acme/.well-known/openid-configuration").json
    assert document["issuer"] == f"{ISSUER}/acme"
    assert document["token_endpoint"] == f"{ISSUER}/acme/token"
    # RFC 8414 3: the well-known part goes before the issuer's path.
    assert send("GET", "/.well-known/oauth-authorization-server/acme").json["issuer"] == f"{ISSUER}/acme"
    headers = {"Authorization": f"Bearer {acme.tokens['access_token']}"}
    assert send("GET", "/acme/userinfo", headers=headers).json["sub"] == acme.user["id"]


def test_its_keys_are_its_own():
    own = {key["kid"] for key in send("GET", "/acme/.well-known/jwks.json").json["keys"]}
    first = {key["kid"] for key in send("GET", "/.well-known/jwks.json").json["keys"]}
    assert own and first and not own & first


def test_its_cookie_is_its_own_by_name(acme):
    value = acme.made_session["cookie_value"]
    assert value.startswith(f"{COOKIE}={acme.session};")
    assert "Path=/;" in value


def test_tokens_of_the_other(acme, client, user):
    asked = Authorization(client.client_id)
    tokens = asked.redeem(client, asked.get(create_session(user["id"])).parameter("code")).json
    pairs = [
        ("/acme", acme.client, tokens),
        ("", client, acme.tokens),
    ]
    for at, caller, foreign in pairs:
        headers = {"Authorization": f"Bearer {foreign['access_token']}"}
        assert send("GET", f"{at}/userinfo", headers=headers).status == 401
        introspected = caller.form(f"{at}/introspect", f"token={foreign['access_token']}").json
        assert introspected == {"active": False}
        refresh = f"grant_type=refresh_token&refresh_token={foreign['refresh_token']}"
        assert caller.form(f"{at}/token", refresh).json["error"] == "invalid_grant"
        assert caller.form(f"{at}/revoke", f"token={foreign['access_token']}").status == 200
        assert caller.form(f"{at}/revoke", f"token={foreign['refresh_token']}").status == 200
    # The revocations at the wrong issuer ended nothing.
    assert client.introspect(tokens["access_token"])["active"] is True
    assert acme.client.form("/acme/introspect", f"token={acme.tokens['access_token']}").json["active"] is True
    assert client.refresh(tokens["refresh_token"]).status == 200


def test_clients_of_the_other(acme, client):
    body = "grant_type=refresh_token&refresh_token=x"
    assert acme.client.form("/token", body).json["error"] == "invalid_client"
    assert client.form("/acme/token", body).json["error"] == "invalid_client"
    assert send("GET", Authorization(acme.client.client_id).path).status == 400
    assert send("GET", f"/acme{Authorization(client.client_id).path}").status == 400


def test_sessions_of_the_other(acme, client, user):
    assert acme.authorize(create_session(user["id"]))[1] is None
    assert Authorization(client.client_id).get(acme.session).parameter("error") == "login_required"


def test_codes_of_the_other(acme, client, user):
    authorization = acme.authorize(acme.session)
    assert acme.redeem(authorization, "/token").status == 401
    asked, code = authorization
    assert asked.redeem(client, code).json["error"] == "invalid_grant"
    assert acme.redeem(authorization).status == 200


def test_paths_of_nobody():
    for path in ("/ACME/token", "/acmex/token", "/acme/acme/token", "/other/authorize"):
        assert send("GET", path).status == 404, path
