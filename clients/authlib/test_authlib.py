"""Authlib against the provider."""

from urllib.parse import parse_qs, urlsplit

import pytest
from authlib.common.errors import AuthlibBaseError

from browser import FIXTURES, Browser
from relying_party import RelyingParty

USER = FIXTURES["user"]


@pytest.fixture
def web() -> RelyingParty:
    return RelyingParty("web")


def test_discovery(web):
    assert web.metadata["issuer"] == FIXTURES["issuer"]
    assert "S256" in web.metadata["code_challenge_methods_supported"]
    assert {"authorization_code", "refresh_token"} <= set(web.metadata["grant_types_supported"])


def test_code_with_pkce_and_the_id_token(web):
    login = web.sign_in()
    assert login.browser.pages[0] == "login"
    assert login.token["token_type"] == "Bearer"
    assert login.claims["sub"] == USER["id"]
    assert login.claims["at_hash"]
    assert (login.claims["email"], login.claims["name"]) == (USER["email"], USER["name"])


def test_a_wrong_nonce_is_noticed(web):
    """The check of the check: validation is not a formality here."""
    login = web.sign_in()
    with pytest.raises(Exception, match="nonce"):
        web.id_token(login.token, "another")


def test_a_public_client():
    spa = RelyingParty("spa")
    login = spa.sign_in()
    assert login.claims["aud"] == spa.registered["client_id"]
    assert login.client.refresh_token()["access_token"] != login.token["access_token"]


def test_refresh_rotates_and_the_old_token_is_dead_after_its_successor_was_used(web):
    login = web.sign_in()
    first, endpoint = dict(login.token), web.metadata["token_endpoint"]
    second = dict(login.client.refresh_token(endpoint, refresh_token=first["refresh_token"]))
    assert second["refresh_token"] != first["refresh_token"]
    assert web.id_token(second)["sub"] == USER["id"]
    assert web.id_token(second)["email"] == USER["email"]
    third = dict(login.client.refresh_token(endpoint, refresh_token=second["refresh_token"]))
    for stale in (first, third):
        with pytest.raises(AuthlibBaseError) as refused:
            login.client.refresh_token(endpoint, refresh_token=stale["refresh_token"])
        assert refused.value.error == "invalid_grant"


def test_userinfo(web):
    login = web.sign_in()
    claims = login.client.get(web.metadata["userinfo_endpoint"]).json()
    assert claims["sub"] == USER["id"]
    assert claims["email"] == USER["email"]
    assert claims["name"] == USER["name"]


def test_introspection_and_revocation(web):
    login = web.sign_in()
    access = login.token["access_token"]

    def introspect() -> dict:
        return login.client.introspect_token(web.metadata["introspection_endpoint"], access).json()

    assert introspect()["active"] is True
    assert introspect()["client_id"] == web.registered["client_id"]
    revoked = login.client.revoke_token(web.metadata["revocation_endpoint"], access, "access_token")
    assert revoked.status_code == 200
    assert introspect() == {"active": False}
    assert login.client.get(web.metadata["userinfo_endpoint"]).status_code == 401


def test_silent_authentication(web):
    login = web.sign_in()
    again = web.sign_in(login.browser, prompt="none")
    assert again.browser.pages == []
    assert again.claims["sub"] == login.claims["sub"]
    assert again.claims["auth_time"] == login.claims["auth_time"]


def test_silent_authentication_without_a_session(web):
    client = web.client()
    url, state = client.create_authorization_url(
        web.metadata["authorization_endpoint"], code_verifier="v" * 43, prompt="none"
    )
    answer = parse_qs(urlsplit(Browser().visit(url)).query)
    assert answer["error"] == ["login_required"]
    assert answer["state"] == [state]
    assert answer["iss"] == [FIXTURES["issuer"]]


def test_client_credentials():
    service = RelyingParty("service")
    token = service.client(scope="read").fetch_token(grant_type="client_credentials")
    assert token["scope"] == "read"
    assert "refresh_token" not in token
