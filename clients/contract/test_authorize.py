"""Section 3.9: authorization requests as the scripts send them, and the codes that they get."""

import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from scripts import ISSUER, REDIRECT_URI, Authorization, create_client, create_session, create_user, send


@pytest.fixture(scope="module")
def session(user) -> str:
    return create_session(user["id"])


def test_silent_authentication(client, session):
    asked = Authorization(client.client_id)
    answer = asked.get(session)
    assert answer.status == 302
    # The code comes first, and no earlier parameter ends in `code=`.
    assert answer.location.startswith(f"{REDIRECT_URI}?code=")
    assert f"state={asked.state}" in answer.location
    query = parse_qs(urlsplit(answer.location).query)
    assert query["iss"] == [ISSUER]
    assert "error" not in query


def test_codes_need_no_encoding(client, session):
    code = Authorization(client.client_id).get(session).parameter("code")
    assert re.fullmatch(r"[A-Za-z0-9_-]{32,512}", code), code


def test_the_code_is_redeemed(client, session, user):
    asked = Authorization(client.client_id)
    answer = asked.redeem(client, asked.get(session).parameter("code"))
    assert answer.status == 200, answer.text
    assert answer.json["access_token"] and answer.json["id_token"] and answer.json["refresh_token"]
    assert answer.json["token_type"] == "Bearer"
    assert answer.json["scope"] == "openid"
    assert answer.json["expires_in"] > 0
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["pragma"] == "no-cache"


def test_a_code_is_redeemed_once(client, session):
    asked = Authorization(client.client_id)
    code = asked.get(session).parameter("code")
    assert asked.redeem(client, code).status == 200
    again = asked.redeem(client, code)
    assert (again.status, again.json["error"]) == (400, "invalid_grant")


def test_the_warm_up_without_nonce(client, session):
    assert Authorization(client.client_id, nonce=False).get(session).parameter("code")


def test_the_warm_up_without_redirect_uri(client):
    path = f"/authorize?response_type=code&client_id={client.client_id}&scope=openid"
    assert 400 <= send("GET", path).status < 500


@pytest.mark.parametrize(
    "cookie",
    [
        "authrim_session={id}; authrim_session={id}",
        "a=b; authrim_session={id}",
        "xauthrim_session=other; authrim_session={id}",
        'authrim_session="{id}"',
        "authrim_session={encoded}",
    ],
)
def test_forms_of_the_cookie(client, session, cookie):
    cookie = cookie.format(id=session, encoded=quote(session, safe="").replace("_", "%5F"))
    answer = send("GET", Authorization(client.client_id).path, headers={"Cookie": cookie})
    assert answer.parameter("code"), answer.location


def test_a_session_of_the_reference_form_is_unknown_and_harmless(client):
    answer = Authorization(client.client_id).get("g1:enam:7:session_0123456789abcdefghijkl")
    assert answer.parameter("error") == "login_required"


def test_without_a_session(client):
    answer = Authorization(client.client_id, prompt=None).get()
    assert answer.status in (200, 302)
    assert "code=" not in answer.location
    asked = Authorization(client.client_id)
    silent = asked.get()
    assert silent.status == 302
    assert silent.location.startswith(f"{REDIRECT_URI}?")
    query = parse_qs(urlsplit(silent.location).query)
    assert (query["error"], query["state"], query["iss"]) == (["login_required"], [asked.state], [ISSUER])


def test_with_a_session_and_no_prompt(client, session):
    assert Authorization(client.client_id, prompt=None).get(session).parameter("code")


def test_without_consent(session):
    other = create_client(skip_consent=False)
    answer = Authorization(other.client_id).get(session)
    assert answer.parameter("error") == "consent_required"


def test_an_unknown_client_or_redirect_uri_goes_nowhere(client, session):
    for asked in (Authorization("unknown"), Authorization(client.client_id, redirect_uri="https://evil.example/cb")):
        answer = asked.get(session)
        assert answer.status == 400
        assert not answer.location
        assert answer.json["error"]


def test_five_hundred_sessions_at_once(client):
    """The silent benchmark's setup and its first iterations."""
    user = create_user("silent")

    def one(_: int) -> tuple[int, bool]:
        asked = Authorization(client.client_id)
        answer = asked.get(create_session(user["id"]))
        return answer.status, answer.parameter("state") == asked.state and bool(answer.parameter("code"))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(500)))
    assert answers == [(302, True)] * 500


def test_five_hundred_codes_of_one_session(client, session):
    """A limit on codes per user would stop the benchmark."""
    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(lambda _: Authorization(client.client_id).get(session).parameter("code"), range(500)))
    assert None not in codes
    assert len(set(codes)) == 500


def test_seed_authcodes(client):
    """Sessions of eight hours, 50 at once; codes with scope, without prompt."""
    users = [create_user("authcode") for _ in range(20)]
    with ThreadPoolExecutor(50) as pool:
        sessions = list(pool.map(lambda user: create_session(user["id"], 28800), users))

    def seed(session: str) -> int:
        asked = Authorization(client.client_id, "openid profile email", prompt=None)
        answer = asked.get(session)
        assert answer.status in (200, 302) and "error=" not in answer.location, answer.location
        return asked.redeem(client, answer.parameter("code")).status

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(seed, sessions)) == {200}
