"""One winner: what may happen once happens once, however many ask at the same moment."""

import base64
import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from scripts import ISSUER, Authorization, admin, create_session, send

TASKS = 32
ROUNDS = 10


def at_once(ask) -> list:
    """Asks TASKS times at one moment."""
    barrier = Barrier(TASKS)

    def one(_: int):
        send("GET", "/.well-known/jwks.json")
        barrier.wait()
        return ask()

    with ThreadPoolExecutor(TASKS) as pool:
        return list(pool.map(one, range(TASKS)))


def test_a_code_has_one_winner(client, user):
    session = create_session(user["id"])
    for _ in range(ROUNDS):
        asked = Authorization(client.client_id)
        code = asked.get(session).parameter("code")
        answers = at_once(lambda asked=asked, code=code: asked.redeem(client, code))
        assert Counter(answer.status for answer in answers) == {200: 1, 400: TASKS - 1}
        assert {answer.json["error"] for answer in answers if answer.status == 400} == {"invalid_grant"}
        winner = next(answer.json for answer in answers if answer.status == 200)
        # RFC 6749 4.1.2: the replays ended what the winner got.
        assert client.introspect(winner["access_token"])["active"] is False
        assert client.refresh(winner["refresh_token"]).json["error"] == "invalid_grant"


def test_a_family_has_one_branch(client, user):
    session = create_session(user["id"])
    for _ in range(ROUNDS):
        asked = Authorization(client.client_id)
        token = asked.redeem(client, asked.get(session).parameter("code")).json["refresh_token"]
        answers = at_once(lambda token=token: client.refresh(token))
        # Retries of one client inside the window: the same successor for all.
        assert Counter(answer.status for answer in answers) == {200: TASKS}
        successors = {answer.json["refresh_token"] for answer in answers}
        assert len(successors) == 1
        assert client.refresh(successors.pop()).status == 200


def test_a_client_assertion_has_one_winner():
    key = ec.generate_private_key(ec.SECP256R1())
    public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    metadata = {
        "client_name": "Assertions",
        "grant_types": ["client_credentials"],
        "redirect_uris": [],
        "token_endpoint_auth_method": "private_key_jwt",
        "jwks": {"keys": [{**public, "kid": "one", "alg": "ES256", "use": "sig"}]},
        "scope": "read",
    }
    client_id = admin("POST", "/clients", metadata).json["client"]["client_id"]
    for _ in range(ROUNDS):
        now = int(time.time())
        claims = {"iss": client_id, "sub": client_id, "aud": ISSUER, "iat": now, "exp": now + 60}
        claims["jti"] = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode()
        fields = {
            "grant_type": "client_credentials",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": jwt.encode(claims, key, "ES256", {"kid": "one"}),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode(fields)
        answers = at_once(lambda body=body, headers=headers: send("POST", "/token", body, headers))
        assert Counter(answer.status for answer in answers) == {200: 1, 401: TASKS - 1}
        assert {answer.json["error"] for answer in answers if answer.status == 401} == {"invalid_client"}
