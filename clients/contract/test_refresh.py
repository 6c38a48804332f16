"""Sections 3.5 and 3.10: refresh-token families that the seed registers, rotated as the benchmark does."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from scripts import (
    Authorization,
    admin,
    claims_of,
    create_client,
    create_session,
    refresh_shard,
    register_family,
)


def seed(signer, client, index: int) -> str:
    """One step of seed-refresh-tokens."""
    config = admin("GET", f"/settings/refresh-token-sharding?clientId={client.client_id}").json["config"]
    user = f"user-loadtest-{index}"
    shard = refresh_shard(user, client.client_id, config["currentShardCount"])
    token = signer.refresh_token(client.client_id, user, config["currentGeneration"], shard)
    answer = register_family(token, user, client.client_id)
    assert answer.status in (200, 201) and answer.json["version"] == 1, answer.text
    return token


def rotate(client, token: str) -> str:
    answer = client.refresh(token)
    assert answer.status == 200, answer.text
    assert answer.json["access_token"]
    assert answer.json["token_type"] == "Bearer"
    assert answer.json["expires_in"] > 0
    assert answer.json["refresh_token"] != token
    return answer.json["refresh_token"]


def test_a_family_rotates_many_times(signer, client):
    token, seen = seed(signer, client, 100), set()
    for _ in range(20):
        token = rotate(client, token)
        seen.add(token)
    assert len(seen) == 20


def test_the_benchmark(signer, client):
    """120 families, each rotated in turn by its own virtual user."""

    def iterate(index: int) -> None:
        token = seed(signer, client, 1000 + index)
        for _ in range(3):
            token = rotate(client, token)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(iterate, range(120)))


@pytest.mark.parametrize(("generation", "shard"), [(1, 0), (1, 7), (1, 255), (9, 3), (0, 0)])
def test_whatever_shard_a_token_names(signer, client, generation, shard):
    user = f"user-loadtest-g{generation}-s{shard}"
    token = signer.refresh_token(client.client_id, user, generation, shard)
    assert register_family(token, user, client.client_id).status in (200, 201)
    assert claims_of(client.refresh(token).json["access_token"])["sub"] == user


def test_a_token_used_again_after_its_successor_ends_the_family(signer, client):
    first = seed(signer, client, 200)
    second = rotate(client, first)
    third = rotate(client, second)
    for token in (first, second, third):
        answer = client.refresh(token)
        assert (answer.status, answer.json["error"]) == (400, "invalid_grant")


def test_a_token_that_was_not_registered_is_refused(signer, client):
    token = signer.refresh_token(client.client_id, "user-loadtest-300", 1, 1)
    answer = client.refresh(token)
    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")


def test_a_forged_token_of_a_registered_family_is_refused(signer, client):
    token = seed(signer, client, 301)
    head, body, signature = token.split(".")
    forged = f"{head}.{body}.{'A' * len(signature)}"
    assert client.refresh(forged).json["error"] == "invalid_grant"
    rotate(client, token)


def test_another_client_cannot_use_it(signer, client):
    token = seed(signer, client, 302)
    answer = create_client().refresh(token)
    assert (answer.status, answer.json["error"]) == (400, "invalid_grant")
    rotate(client, token)


def test_a_repeated_parameter_is_refused(signer, client):
    token = seed(signer, client, 304)
    answer = client.form("/token", f"grant_type=refresh_token&refresh_token={token}&scope=openid&scope=email")
    # RFC 6749 3.2, 5.2.
    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
    rotate(client, token)


def test_a_family_ends_when_it_is_revoked(signer, client):
    token = seed(signer, client, 303)
    rotated = rotate(client, token)
    assert client.form("/revoke", f"token={rotated}&token_type_hint=refresh_token").status == 200
    assert client.refresh(rotated).json["error"] == "invalid_grant"


def test_every_login_has_a_family_of_its_own(client, user):
    """Two devices never clash."""
    tokens = []
    for _ in range(2):
        asked = Authorization(client.client_id)
        code = asked.get(create_session(user["id"])).parameter("code")
        tokens.append(asked.redeem(client, code).json["refresh_token"])
    for _ in range(3):
        tokens = [rotate(client, token) for token in tokens]


def test_errors_never_name_the_database(client):
    for token in ("x", "rt_1_2_3", "a.b.c", "%00"):
        answer = client.refresh(token)
        assert answer.status == 400, answer.text
        assert "D1" not in answer.text and "database" not in answer.text
