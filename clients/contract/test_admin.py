"""Sections 3.1 to 3.5 and 3.14: the admin API and the test endpoints."""

import http.client
import re
import secrets
import time
from urllib.parse import quote, urlsplit

import jwt
import pytest

from scripts import (
    FIXTURES,
    ISSUER,
    LOAD_TEST_CLIENT,
    Authorization,
    admin,
    create_client,
    create_session,
    create_user,
    register_family,
    send,
)


def test_the_secret_is_asked_for():
    for answer in (admin("GET", "/users", secret="wrong"), send("GET", "/api/admin/users")):
        assert answer.status == 401
        assert answer.json["error"] == "invalid_token"
        assert answer.headers["www-authenticate"]


# 3.1


def test_the_readme_client_is_created():
    answer = admin("POST", "/clients", LOAD_TEST_CLIENT)
    assert answer.status == 201
    made = answer.json["client"]
    for name, value in LOAD_TEST_CLIENT.items():
        assert made[name] == value, name
    assert re.fullmatch(r"[A-Za-z0-9_-]+", made["client_id"])
    assert re.fullmatch(r"[A-Za-z0-9_-]{32,}", made["client_secret"])
    assert made["token_endpoint_auth_method"] == "client_secret_basic"
    assert made["response_types"] == ["code"]
    assert {"subject_type", "is_trusted", "created_at", "updated_at"} <= made.keys()


def test_the_defaults_of_a_client():
    made = admin("POST", "/clients", {"client_name": "Bare", "redirect_uris": ["https://rp.example/cb"]}).json["client"]
    assert made["grant_types"] == ["authorization_code"]
    assert made["scope"] == "openid profile email"
    assert made["skip_consent"] is False


@pytest.mark.parametrize("body", [{}, {"client_name": "x"}, {"client_name": "x", "redirect_uris": ["/relative"]}])
def test_a_client_without_what_it_needs_is_refused(body):
    answer = admin("POST", "/clients", body)
    assert answer.status == 400
    assert answer.json["error"] == "invalid_request"


def test_clients_are_listed_by_pages_and_without_secrets():
    name = f"Listed {secrets.token_hex(4)}"
    for _ in range(3):
        create_client(client_name=name)
    page = admin("GET", f"/clients?page=1&limit=2&search={quote(name)}").json
    assert [each["client_name"] for each in page["clients"]] == [name, name]
    assert page["pagination"] == {
        "page": 1,
        "limit": 2,
        "total": 3,
        "totalPages": 2,
        "hasNext": True,
        "hasPrev": False,
    }
    last = admin("GET", f"/clients?page=2&limit=2&search={quote(name)}").json
    assert len(last["clients"]) == 1
    assert (last["pagination"]["hasNext"], last["pagination"]["hasPrev"]) == (False, True)
    assert all("client_secret" not in each for each in page["clients"])


# 3.2


def test_a_user_is_found_by_email_whatever_its_case():
    email = f"Otp-Bench-{secrets.token_hex(4)}@test.authrim.internal"
    assert admin("GET", f"/users?email={quote(email, safe='')}").json["users"] == []
    made = admin("POST", "/users", {"email": email, "name": "Bench", "email_verified": True})
    assert made.status == 201
    user = made.json["user"]
    assert user["id"] and user["email"].lower() == email.lower()
    for asked in (email, email.upper(), email.lower()):
        found = admin("GET", f"/users?email={quote(asked, safe='')}").json
        assert [each["id"] for each in found["users"]] == [user["id"]]
        assert found["pagination"]["total"] == 1


def test_an_email_address_is_taken_once():
    user = create_user()
    answer = admin("POST", "/users", {"email": user["email"].upper(), "name": "Again", "email_verified": True})
    assert answer.status == 409
    assert answer.json["error"] == "conflict"


def test_every_listed_user_has_an_email():
    listed = admin("GET", "/users?email=%40").json["users"] + admin("GET", "/users?limit=100").json["users"]
    assert listed
    assert all(isinstance(each["email"], str) for each in listed)


def test_users_are_searched_and_paged():
    prefix = f"search-{secrets.token_hex(4)}"
    for _ in range(3):
        create_user(prefix)
    page = admin("GET", f"/users?page=2&limit=2&search={prefix}").json
    assert len(page["users"]) == 1
    assert page["pagination"]["total"] == 3 and page["pagination"]["totalPages"] == 2


# 3.3


def test_a_session_is_made(user):
    before = time.time()
    answer = admin("POST", "/test/sessions", {"user_id": user["id"], "ttl_seconds": 7200})
    assert answer.status in (200, 201)
    made = answer.json
    assert made["user_id"] == user["id"]
    assert abs(made["expires_at"] / 1000 - before - 7200) < 30
    assert made["cookie_value"].startswith(f"authrim_session={made['session_id']};")
    for attribute in ("Path=/", "HttpOnly", "SameSite=None", "Secure", "Max-Age=7200"):
        assert attribute in made["cookie_value"]


def test_a_session_lives_an_hour_by_default(user):
    made = admin("POST", "/test/sessions", {"user_id": user["id"]}).json
    assert abs(made["expires_at"] / 1000 - time.time() - 3600) < 30


def test_a_session_needs_a_user():
    assert admin("POST", "/test/sessions", {"ttl_seconds": 60}).status == 400
    answer = admin("POST", "/test/sessions", {"user_id": "nobody", "ttl_seconds": 60})
    assert answer.status == 404
    assert answer.json["error"] == "not_found"


def test_a_session_may_be_asked_for_by_email(user, client):
    session = create_session(user["email"])
    assert Authorization(client.client_id).get(session).parameter("code")


# 3.4


def test_the_signing_key_is_the_one_that_is_published(signer):
    assert signer.key["privatePEM"].startswith("-----BEGIN PRIVATE KEY-----")
    published = {key["kid"]: key for key in send("GET", "/.well-known/jwks.json").json["keys"]}
    own, public = published[signer.key["kid"]], signer.key["publicJWK"]
    assert (own["kty"], own["n"], own["e"]) == ("RSA", public["n"], public["e"])
    token = signer.access_token("c", "u")
    assert jwt.decode(token, jwt.PyJWK(own), algorithms=["RS256"], audience=ISSUER)["sub"] == "u"
    assert not {"d", "p", "q"} & own.keys()


# 3.5


def test_a_family_is_registered(signer, client):
    token = signer.refresh_token(client.client_id, "user-loadtest-0", 1, 3)
    answer = register_family(token, "user-loadtest-0", client.client_id)
    assert answer.status in (200, 201)
    claims = jwt.decode(token, options={"verify_signature": False})
    assert answer.json == {"success": True, "version": 1, "jti": claims["jti"], "expiresIn": 2592000}


def test_a_family_needs_every_field(signer, client):
    token = signer.refresh_token(client.client_id, "user-loadtest-1", 1, 3)
    whole = {"token": token, "userId": "user-loadtest-1", "clientId": client.client_id, "scope": "openid", "ttl": 60}
    without_jti = signer.sign({"sub": "user-loadtest-1"}, "JWT")
    broken = [
        {name: value for name, value in whole.items() if name != left} for left in ("token", "userId", "clientId")
    ]
    broken += [{**whole, "token": bad} for bad in ("one.two", "not a token", without_jti)]
    for body in broken:
        answer = admin("POST", "/test/tokens", body)
        assert answer.status == 400, f"{body} {answer.text}"
        assert answer.json["error"] == "invalid_request"


# 3.14


def test_strict_introspection_is_a_setting():
    path = "/settings/introspection-validation"
    assert admin("GET", path).json["strictValidation"] is False
    assert admin("PUT", path, {"strictValidation": True, "expectedAudience": "https://api.example.com"}).status == 200
    shown = admin("GET", path).json
    assert (shown["strictValidation"], shown["expectedAudience"]) == (True, "https://api.example.com")
    assert admin("DELETE", path).status < 300
    assert admin("GET", path).json["strictValidation"] is False


def test_refresh_token_sharding_is_shown(client):
    answer = admin("GET", f"/settings/refresh-token-sharding?clientId={client.client_id}")
    assert answer.status == 200
    shown = answer.json
    assert shown["clientId"] == client.client_id
    assert shown["config"]["currentGeneration"] >= 1
    assert shown["config"]["currentShardCount"] >= 1
    assert isinstance(shown["config"]["previousGenerations"], list)


def test_a_new_sharding_opens_a_generation_and_old_families_live_on(client, signer):
    path = "/settings/refresh-token-sharding"
    before = admin("GET", f"{path}?clientId={client.client_id}").json["config"]
    token = signer.refresh_token(client.client_id, "user-loadtest-2", before["currentGeneration"], 2)
    assert register_family(token, "user-loadtest-2", client.client_id).status in (200, 201)
    wanted = before["currentShardCount"] * 2
    answer = admin("PUT", path, {"shardCount": wanted, "notes": "a test", "skip_sync_check": True})
    assert answer.status == 200, answer.text
    after = admin("GET", f"{path}?clientId={client.client_id}").json["config"]
    assert after["currentShardCount"] == wanted
    assert after["currentGeneration"] == before["currentGeneration"] + 1
    previous = after["previousGenerations"][-1]
    assert (previous["generation"], previous["shardCount"]) == (
        before["currentGeneration"],
        before["currentShardCount"],
    )
    assert client.refresh(token).status == 200
    for bad in (0, 257, "many"):
        assert admin("PUT", path, {"shardCount": bad}).status == 400


def test_token_exchange_can_be_switched_off(client, signer, user):
    token = signer.access_token(client.client_id, user["id"])
    assert admin("PUT", "/settings/token-exchange", {"enabled": False}).status == 200
    try:
        answer = client.exchange(token)
        assert answer.status == 400
        assert answer.json["error"] == "unsupported_grant_type"
        assert "not enabled" in answer.json["error_description"]
    finally:
        body = {"enabled": True, "allowedSubjectTokenTypes": ["urn:ietf:params:oauth:token-type:access_token"]}
        assert admin("PUT", "/settings/token-exchange", body).status == 200
    assert client.exchange(token).status == 200


# 3.15


def test_discovery_names_the_configured_issuer():
    document = send("GET", "/.well-known/openid-configuration", headers={"Host": "evil.example"}).json
    assert document["issuer"] == ISSUER == FIXTURES["issuer"]
    assert document["token_endpoint"] == f"{ISSUER}/token"
    assert document["jwks_uri"] == f"{ISSUER}/.well-known/jwks.json"


# What is not the contract's: the management listener.


def test_figures_and_health_are_on_the_management_listener_only():
    host = urlsplit(FIXTURES["management_url"]).netloc
    send("POST", "/token", "grant_type=x", {"Content-Type": "application/x-www-form-urlencoded"})
    for path in ("/healthz", "/readyz", "/metrics"):
        assert send("GET", path).status == 404, path
        connection = http.client.HTTPConnection(host, timeout=10)
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read().decode()
        assert response.status == 200, path
        connection.close()
    assert 'symbolon_requests_total{endpoint="token_other",outcome="unauthorized"}' in text
