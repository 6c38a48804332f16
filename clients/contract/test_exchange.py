"""Section 3.10, token exchange: the benchmark's mix, and that of the historical seed with actor tokens."""

import secrets
import time

import jwt
import pytest

from scripts import ACCESS_TOKEN, ISSUER, b64url, claims_of, create_client, send

SERVICES = ["service-gateway", "service-bff", "service-worker", "service-batch", "service-mobile"]


@pytest.fixture
def token(signer, client, user) -> str:
    return signer.access_token(client.client_id, user["id"])


def accepted(answer) -> dict:
    """What the benchmark checks of a success."""
    assert answer.status == 200, answer.text
    body = answer.json
    assert body["issued_token_type"] == ACCESS_TOKEN
    assert body["token_type"] == "Bearer"
    header = jwt.get_unverified_header(body["access_token"])
    assert header["alg"] and header["typ"]
    claims = claims_of(body["access_token"])
    assert claims["iss"] == ISSUER and claims["sub"] and claims["exp"]
    return claims


def refused(answer) -> None:
    assert answer.status == 400, answer.text
    assert answer.json["error"] == "invalid_grant"


def test_a_valid_subject(client, token, user):
    answer = client.exchange(token)
    claims = accepted(answer)
    assert claims["sub"] == user["id"]
    assert claims["client_id"] == client.client_id
    assert claims["act"]["sub"] == f"client:{client.client_id}"
    assert answer.json["scope"] == "openid profile"
    assert "refresh_token" not in answer.json


def test_the_result_is_signed_by_a_published_key(client, token):
    keys = jwt.PyJWKSet.from_dict(send("GET", "/.well-known/jwks.json").json)
    result = client.exchange(token).json["access_token"]
    key = keys[jwt.get_unverified_header(result)["kid"]]
    assert jwt.decode(result, key, algorithms=["RS256"], audience=ISSUER)


def test_what_is_refused(client, signer, user, token):
    refused(client.exchange(signer.expired(client.client_id, user["id"])))
    # `invalid` of the historical seed: three chunks that are no JSON; of the script: anything.
    refused(client.exchange(".".join(b64url(secrets.token_bytes(48)) for _ in range(3))))
    refused(client.exchange("invalid.token.here"))
    refused(client.exchange("x"))
    head, body, signature = token.split(".")
    refused(client.exchange(f"{head}.{body}.{'A' * len(signature)}"))
    assert client.revoke(token).status == 200
    refused(client.exchange(token))


@pytest.mark.parametrize("service", SERVICES)
def test_actor_tokens_of_services_that_are_not_registered(client, signer, token, service):
    actor = {"actor_token": signer.actor_token(service), "actor_token_type": ACCESS_TOKEN}
    claims = accepted(client.exchange(token, **actor))
    assert claims["act"]["sub"] == f"client:{service}"


def test_the_whole_chain_of_actors_is_kept(client, signer, token):
    for service in SERVICES:
        actor = {"actor_token": signer.actor_token(service), "actor_token_type": ACCESS_TOKEN}
        token = client.exchange(token, **actor).json["access_token"]
    act, chain = claims_of(token)["act"], []
    while act:
        chain.append(act["sub"])
        act = act.get("act")
    assert chain == [f"client:{service}" for service in reversed(SERVICES)]


@pytest.mark.parametrize(
    "audience", ["https://api.example.com/gateway", "https://orders.internal", "inventory-service"]
)
@pytest.mark.parametrize("scope", ["openid", "openid profile", "openid email", "openid profile email"])
def test_any_target_of_a_client_without_a_list(client, token, audience, scope):
    claims = accepted(client.exchange(token, audience=audience, scope=scope))
    assert claims["aud"] in (audience, [audience])
    assert set(claims["scope"].split()) == set(scope.split())


def test_a_resource_is_kept(client, token):
    claims = accepted(client.exchange(token, resource="https://api.example.com/payments"))
    assert "https://api.example.com/payments" in [claims["aud"], claims.get("resource")] + list(claims["aud"])
    result = client.exchange(token, resource="https://api.example.com/payments").json["access_token"]
    shown = client.introspect(result)
    assert shown["active"] is True
    assert shown["act"]["sub"]
    assert shown["resource"]


def test_a_resource_that_is_no_uri_is_refused(client, token):
    for resource in ("relative", "https://api.example.com/#fragment"):
        answer = client.exchange(token, resource=resource)
        assert answer.status == 400
        # RFC 8707 2: an invalid resource is invalid_target.
        assert answer.json["error"] in ("invalid_target", "invalid_request")


def test_a_list_of_targets_holds(signer, user):
    own = create_client(allowed_token_exchange_resources=["https://api.example.com"])
    token = signer.access_token(own.client_id, user["id"])
    accepted(own.exchange(token, audience="https://api.example.com"))
    answer = own.exchange(token, audience="https://other.example.com")
    assert (answer.status, answer.json["error"]) == (400, "invalid_target")


def test_scope_only_narrows(client, signer, user):
    narrow = signer.access_token(client.client_id, user["id"], scope="openid")
    answer = client.exchange(narrow, scope="email")
    assert (answer.status, answer.json["error"]) == (400, "invalid_scope")
    assert client.exchange(narrow, scope="openid email").json.get("scope", "openid") == "openid"


def test_nothing_outlives_its_subject(client, signer, user):
    soon = int(time.time()) + 120
    claims = accepted(client.exchange(signer.access_token(client.client_id, user["id"], exp=soon)))
    assert claims["exp"] <= soon


def test_a_result_dies_with_its_subject(client, token):
    result = client.exchange(token).json["access_token"]
    assert client.introspect(result)["active"] is True
    assert client.revoke(token).status == 200
    assert client.introspect(result)["active"] is False


def test_a_client_that_may_not_exchange(signer, user):
    own = create_client(token_exchange_allowed=False)
    answer = own.exchange(signer.access_token(own.client_id, user["id"]))
    assert (answer.status, answer.json["error"]) == (400, "unauthorized_client")


def test_the_token_of_a_stranger_is_refused(client, token):
    answer = create_client().exchange(token)
    assert answer.status == 400
    assert answer.json["error"] in ("invalid_target", "invalid_grant", "unauthorized_client", "invalid_request")


def test_may_act_is_honoured(client, signer, user):
    mine = signer.access_token(client.client_id, user["id"], may_act={"sub": f"client:{client.client_id}"})
    accepted(client.exchange(mine))
    others = signer.access_token(client.client_id, user["id"], may_act={"sub": "client:somebody-else"})
    assert client.exchange(others).status == 400


def test_a_refresh_token_is_no_subject(client, token):
    body = client.exchange(token, subject_token_type="urn:ietf:params:oauth:token-type:refresh_token")
    assert (body.status, body.json["error"]) == (400, "invalid_request")


def test_an_actor_token_needs_its_type(client, signer, token):
    answer = client.exchange(token, actor_token=signer.actor_token("service-bff"))
    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
