"""Sections 3.11 to 3.13: UserInfo, introspection and revocation of tokens that the seeds sign themselves."""

import secrets
import time

import pytest

from scripts import ISSUER, admin, b64url, create_client, send


@pytest.fixture
def token(signer, client, user) -> str:
    return signer.access_token(client.client_id, user["id"])


def userinfo(token: str):
    return send("GET", "/userinfo", headers={"Authorization": f"Bearer {token}"})


# 3.11


def test_userinfo(token, user):
    answer = userinfo(token)
    assert answer.status == 200
    assert answer.json["sub"] == user["id"]
    assert answer.json["email"] == user["email"]
    assert answer.json["email_verified"] is True


def test_userinfo_by_post(token, user):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-www-form-urlencoded"}
    assert send("POST", "/userinfo", "", headers).json["sub"] == user["id"]


def test_userinfo_takes_both_types(signer, client, user):
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "sub": user["id"],
        "aud": ISSUER,
        "client_id": client.client_id,
        "scope": "openid",
        "iat": now,
        "exp": now + 60,
        "jti": f"g2:apac:31:at_{b64url(secrets.token_bytes(32))}",
    }
    assert userinfo(signer.sign(claims, "JWT")).status == 200
    assert userinfo(signer.sign(claims, "at+jwt")).status == 200


def test_userinfo_refuses(signer, client, user, token):
    cases = {
        "expired": signer.expired(client.client_id, user["id"]),
        "an unknown user": signer.access_token(client.client_id, "nobody"),
        "another issuer": signer.access_token(client.client_id, user["id"], iss="https://other.example"),
        "forged": token[:-8] + "AAAAAAAA",
        "no token": "x",
    }
    for case, bad in cases.items():
        answer = userinfo(bad)
        assert answer.status == 401, case
        assert 'error="invalid_token"' in answer.headers["www-authenticate"], case
    answer = userinfo(signer.access_token(client.client_id, user["id"], scope="profile"))
    assert answer.status == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    # RFC 6750 3.1: who sent no token is told of no error.
    bare = send("GET", "/userinfo")
    assert bare.status == 401
    assert "error=" not in bare.headers["www-authenticate"]


# 3.12


def test_a_valid_token(strict, client, token, user):
    answer = client.introspect(token)
    assert answer["active"] is True
    assert answer["sub"] == user["id"]
    assert answer["iss"] == ISSUER
    assert answer["client_id"] == client.client_id
    assert ISSUER in [answer["aud"]] + (answer["aud"] if isinstance(answer["aud"], list) else [])
    assert set(answer["scope"].split()) == {"openid", "profile", "email"}
    assert answer["token_type"] == "Bearer"
    assert answer["exp"] > answer["iat"]


@pytest.mark.parametrize("service", ["service-gateway", "service-bff", "service-worker"])
def test_an_exchanged_token(strict, client, signer, user, service):
    answer = client.introspect(signer.exchanged(client.client_id, user["id"], service))
    assert answer["active"] is True
    assert answer["act"]["sub"] == f"client:{service}"
    assert answer["resource"] == "https://api.example.com/gateway"


def test_what_is_not_active(strict, client, signer, user, token):
    assert client.revoke(token).status == 200
    cases = {
        "expired": signer.expired(client.client_id, user["id"]),
        "revoked": token,
        "wrong audience": signer.access_token(client.client_id, user["id"], aud="https://other-service.example.com"),
        "wrong client": signer.access_token("non-existent-client-id", user["id"]),
        "another issuer": signer.access_token(client.client_id, user["id"], iss="https://other.example"),
        "no JWT": "x",
    }
    for case, bad in cases.items():
        assert client.introspect(bad) == {"active": False}, case


def test_strict_validation_is_what_refuses_an_audience(client, signer, user):
    """Without it a token of the caller's own is told about, whomever it is for."""
    other = signer.access_token(client.client_id, user["id"], aud="https://other-service.example.com")
    assert client.introspect(other)["active"] is True


def test_another_audience_can_be_expected(strict, client, signer, user):
    body = {"strictValidation": True, "expectedAudience": "https://api.example.com"}
    assert admin("PUT", "/settings/introspection-validation", body).status == 200
    named = signer.access_token(client.client_id, user["id"], aud=["https://api.example.com", "https://b.example"])
    assert client.introspect(named)["active"] is True
    assert client.introspect(signer.access_token(client.client_id, user["id"]))["active"] is False


def test_a_cached_answer_is_not_given_for_a_forgery(strict, client, signer, user):
    """The reference system cached by the unverified jti."""
    token = signer.access_token(client.client_id, user["id"])
    assert client.introspect(token)["active"] is True
    head, body, _ = token.split(".")
    assert client.introspect(f"{head}.{body}.{'A' * 342}")["active"] is False
    assert client.introspect(token)["active"] is True


def test_another_client_learns_nothing(strict, token):
    assert create_client().introspect(token) == {"active": False}


def test_introspection_needs_a_client(client, token):
    wrong = client.__class__(client.client_id, "x" * 64)
    answer = wrong.form("/introspect", f"token={token}")
    assert answer.status == 401
    assert answer.json["error"] == "invalid_client"
    assert answer.headers["www-authenticate"].startswith("Basic")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["pragma"] == "no-cache"


# 3.13


def test_a_revocation_holds_at_once_and_everywhere(client, signer, user, token):
    assert client.introspect(token)["active"] is True
    answer = client.revoke(token)
    assert (answer.status, answer.text) == (200, "")
    assert client.introspect(token)["active"] is False
    assert userinfo(token).status == 401
    assert client.exchange(token).json["error"] == "invalid_grant"
    assert client.revoke(token).status == 200


@pytest.mark.parametrize("region", ["enam", "weur", "apac", "wnam", "mars"])
def test_whatever_shard_a_token_names(client, signer, user, region):
    tokens = [signer.access_token(client.client_id, user["id"], (region, shard)) for shard in (0, 5, 13, 31, 99)]
    for token in tokens:
        assert client.introspect(token)["active"] is True
        assert client.revoke(token).status == 200
    assert [client.introspect(token)["active"] for token in tokens] == [False] * len(tokens)


def test_what_is_unknown_is_revoked_without_complaint(client):
    for token in ("x", "a.b.c", "rt_1_2_3"):
        assert client.revoke(token).status == 200


def test_a_revocation_of_another_clients_token_is_refused(client, signer, user, token):
    answer = create_client().revoke(token)
    assert answer.status < 500
    assert client.introspect(token)["active"] is True
