"""Section 6: the seeds' sequences, from first call to last."""

import random
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from scripts import Authorization, Signer, admin, create_client, create_session, send

REGIONS = {"enam": range(0, 13), "weur": range(13, 26), "apac": range(26, 32)}
SHARDS = [(region, shard) for region, shards in REGIONS.items() for shard in shards]


def seed_otp_users(count: int) -> list[dict]:
    """seed-otp-users: look each one up, create who is missing; a second run finds everybody."""

    def one(index: int) -> dict:
        email = f"otp-bench-{index:05}@test.authrim.internal"
        found = admin("GET", f"/users?email={quote(email, safe='')}")
        assert found.status == 200
        exact = [each for each in found.json["users"] if each["email"].lower() == email.lower()]
        if exact:
            return {"email": email, "userId": exact[0]["id"]}
        made = admin("POST", "/users", {"email": email, "name": f"OTP Bench {index}", "email_verified": True})
        assert 200 <= made.status < 300, made.text
        return {"email": email, "userId": made.json["user"]["id"]}

    with ThreadPoolExecutor(20) as pool:
        return list(pool.map(one, range(count)))


def test_seed_otp_users():
    first = seed_otp_users(60)
    assert len({each["userId"] for each in first}) == 60
    assert seed_otp_users(60) == first


def test_seed_access_tokens_and_the_introspection_benchmark(strict):
    """100 tokens in the seed's mix; then every one of them, in any order, gets the right verdict."""
    client, signer = create_client(), Signer()
    users = seed_otp_users(10)
    tokens = []
    for index in range(100):
        user, shard = users[index % len(users)]["userId"], SHARDS[index % len(SHARDS)]
        if index < 60:
            tokens.append(("valid", signer.access_token(client.client_id, user, shard)))
        elif index < 65:
            tokens.append(("valid_exchanged", signer.exchanged(client.client_id, user)))
        elif index < 77:
            tokens.append(("expired", signer.expired(client.client_id, user)))
        elif index < 89:
            tokens.append(("revoked", signer.access_token(client.client_id, user, shard)))
        elif index < 95:
            aud = "https://other-service.example.com"
            tokens.append(("wrong_audience", signer.access_token(client.client_id, user, shard, aud=aud)))
        else:
            tokens.append(("wrong_client", signer.access_token("non-existent-client-id", user, shard)))
    with ThreadPoolExecutor(2) as pool:
        revoked = [token for kind, token in tokens if kind == "revoked"]
        assert {answer.status for answer in pool.map(client.revoke, revoked)} == {200}
    random.Random(7).shuffle(tokens)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda each: client.introspect(each[1]), tokens))
    verdicts = [(kind, answer["active"]) for (kind, _), answer in zip(tokens, answers, strict=True)]
    wrong = [kind for kind, active in verdicts if active is not kind.startswith("valid")]
    assert wrong == []
    for (kind, _), answer in zip(tokens, answers, strict=True):
        if answer["active"]:
            assert all(answer.get(name) for name in ("scope", "aud", "sub", "iss", "client_id"))
        if kind == "valid_exchanged":
            assert answer["act"]["sub"] and isinstance(answer["resource"], str)


def test_the_exchange_benchmark():
    """70 / 10 / 10 / 10: successes succeed, and nothing else does."""
    client, signer = create_client(), Signer()
    user = seed_otp_users(1)[0]["userId"]
    good = [signer.access_token(client.client_id, user, shard) for shard in SHARDS]
    revoked = [signer.access_token(client.client_id, user) for _ in range(5)]
    for token in revoked:
        assert client.revoke(token).status == 200
    bad = revoked + [signer.expired(client.client_id, user) for _ in range(5)] + ["a.b.c"] * 5
    with ThreadPoolExecutor(16) as pool:
        accepted = list(pool.map(client.exchange, good * 3))
        refused = list(pool.map(client.exchange, bad))
    assert {answer.status for answer in accepted} == {200}
    assert {(answer.status, answer.json["error"]) for answer in refused} == {(400, "invalid_grant")}


def test_the_userinfo_benchmark():
    client, signer = create_client(), Signer()
    users = seed_otp_users(10)

    def one(user: dict) -> tuple[int, str]:
        token = signer.access_token(client.client_id, user["userId"])
        answer = send("GET", "/userinfo", headers={"Authorization": f"Bearer {token}"})
        return answer.status, answer.json["sub"]

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(one, users * 5)) == [(200, user["userId"]) for user in users * 5]


def test_a_login_from_session_to_exchange():
    """Steps 4 and 5 of the login scripts, then what other benchmarks do with its tokens."""
    client = create_client()
    user = seed_otp_users(1)[0]["userId"]
    asked = Authorization(client.client_id)
    code = asked.get(create_session(user)).parameter("code")
    tokens = asked.redeem(client, code).json
    assert client.introspect(tokens["access_token"])["active"] is True
    assert client.exchange(tokens["access_token"], scope="openid").status == 200
    rotated = client.refresh(tokens["refresh_token"])
    assert rotated.status == 200
    assert client.revoke(rotated.json["access_token"]).status == 200
    assert client.introspect(rotated.json["access_token"])["active"] is False
