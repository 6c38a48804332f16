"""Sections 3.6 to 3.8: the full logins of the mail OTP and passkey benchmarks, call by call, as k6 sends them."""

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from scripts import BASE_URL, ISSUER, Answer, Authorization, admin, b64url, claims_of, create_client, create_user, send
from test_login import PASSWORD, Browser, sign_in

JSON = {"Content-Type": "application/json", "Connection": "keep-alive"}
# What k6's extension signs with, by its AAGUID.
AAGUID = bytes.fromhex("fbfc3007154e4ecc8c0b6e020557d7bd")
UP_UV_BE_BS, AT = 0x1D, 0x40


def login_api(path: str, body: dict, **headers: str) -> Answer:
    """A call of the login API."""
    return send("POST", f"/api/auth{path}", json.dumps(body), {**JSON, "Origin": ISSUER, **headers})


def begin(client) -> Authorization:
    """Step 1: the start of a login, which nobody answers."""
    asked = Authorization(client.client_id, prompt=None)
    answer = send("GET", asked.path, headers={"Accept": "text/html", "Connection": "keep-alive"})
    assert answer.status in (200, 302), answer.text
    return asked


def end(client, asked: Authorization, session: str, user: dict) -> None:
    """The last two steps: a code for the session, and tokens for the code."""
    answer = asked.get(session)
    assert answer.status == 302, answer.text
    assert answer.location.startswith(f"{asked.redirect_uri}?code="), answer.location
    assert f"state={asked.state}" in answer.location
    tokens = asked.redeem(client, answer.parameter("code"))
    assert tokens.status == 200, tokens.text
    assert claims_of(tokens.json["access_token"])["sub"] == user["id"]


def ask_for_code(email: str, **more: object) -> dict:
    """Step 2: a code, which is shown instead of mailed."""
    answer = admin("POST", "/test/email-codes", {"email": email, **more})
    assert answer.status in (200, 201), answer.text
    return answer.json


def test_the_warm_ups_of_both(client, user):
    """Their authorization request lacks the redirect URI; the answer is ignored, but comes."""
    answer = send("GET", f"/authorize?response_type=code&client_id={client.client_id}&scope=openid")
    assert 200 <= answer.status < 500
    assert ask_for_code(user["email"])["userId"] == user["id"]


def test_a_login_by_mail_otp(client, user):
    asked = begin(client)
    code = ask_for_code(user["email"], create_user=False)
    cookie = f"authrim_otp_session={code['otpSessionId']}"
    verified = login_api("/email-code/verify", {"email": user["email"], "code": code["code"]}, Cookie=cookie)
    assert verified.status == 200, verified.text
    assert verified.json["userId"] == user["id"]
    session = verified.json["sessionId"]
    # The cloud script prefers the cookie, as it is.
    [line] = [line for line in verified.headers.get_all("set-cookie") if line.startswith("authrim_session=")]
    assert line.split(";")[0] == f"authrim_session={session}"
    asked.path += "&prompt=none"
    # k6's jar sends the same cookie again.
    end(client, asked, f"{session}; authrim_session={session}", user)


def test_an_unknown_user_is_told_apart():
    answer = admin("POST", "/test/email-codes", {"email": "nobody@test.authrim.internal", "create_user": False})
    assert answer.status == 404


def cbor(value: object) -> bytes:
    """CBOR (RFC 8949) of what attestations are made of."""
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value)) + value.encode()
    assert isinstance(value, dict)
    return _head(5, len(value)) + b"".join(cbor(part) for pair in value.items() for part in pair)


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    if number < 256:
        return bytes([major << 5 | 24, number])
    return bytes([major << 5 | 25]) + number.to_bytes(2, "big")


@dataclass
class Authenticator:
    """What k6's extension does: one credential, a counter that stays 0, packed self-attestation."""

    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict) -> dict:
        """An attestation response."""
        point = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (point.x, point.y))
        cose = cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        attested = AAGUID + len(self.id).to_bytes(2, "big") + self.id + cose
        data, client, signature = self._sign("webauthn.create", options, UP_UV_BE_BS | AT, attested)
        attestation = {"fmt": "packed", "attStmt": {"alg": -7, "sig": signature}, "authData": data}
        return self._credential(clientDataJSON=client, attestationObject=cbor(attestation))

    def get(self, options: dict, user_id: str) -> dict:
        """An assertion response."""
        assert b64url(self.id) in [allowed["id"] for allowed in options["allowCredentials"]], options
        data, client, signature = self._sign("webauthn.get", options, UP_UV_BE_BS, b"")
        more = {"signature": signature, "userHandle": user_id.encode()}
        return self._credential(clientDataJSON=client, authenticatorData=data, **more)

    def _sign(self, kind: str, options: dict, flags: int, attested: bytes) -> tuple[bytes, bytes, bytes]:
        host = urlsplit(BASE_URL).hostname.encode()
        data = hashlib.sha256(host).digest() + bytes([flags]) + bytes(4) + attested
        client = json.dumps({"type": kind, "challenge": options["challenge"], "origin": ISSUER}).encode()
        signed = data + hashlib.sha256(client).digest()
        return data, client, self.key.sign(signed, ec.ECDSA(hashes.SHA256()))

    def _credential(self, **response: bytes) -> dict:
        own = {name: b64url(value) for name, value in response.items()}
        return {"id": b64url(self.id), "rawId": b64url(self.id), "type": "public-key", "response": own}


def register(email: str, user: dict) -> Authenticator:
    """The setup of the passkey benchmark, for one user: nobody is signed in."""
    authenticator = Authenticator()
    asked = login_api("/passkey/register/options", {"email": email, "userId": user["id"]})
    assert asked.status == 200, asked.text
    credential = authenticator.create(asked.json["options"])
    body = {"userId": user["id"], "credential": credential, "deviceName": "Benchmark Device 0"}
    added = login_api("/passkey/register/verify", body)
    assert added.status == 200, added.text
    return authenticator


def test_logins_by_passkey(client):
    user = create_user("pk-bench")
    authenticator = register(user["email"], user)
    for _ in range(3):
        asked = begin(client)
        options = login_api("/passkey/login/options", {"email": user["email"]})
        assert options.status == 200, options.text
        credential = authenticator.get(options.json["options"], user["id"])
        body = {"challengeId": options.json["challengeId"], "credential": credential}
        verified = login_api("/passkey/login/verify", body)
        assert verified.status == 200, verified.text
        end(client, asked, verified.json["sessionId"], user)


def one_time_password(secret: bytes, step: int) -> str:
    """HOTP (RFC 4226 5.3) of a time step (RFC 6238 4)."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), "sha1")
    offset = digest[-1] & 0xF
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def set_up_a_generator(client, person: dict) -> tuple[bytes, list[str]]:
    """Where the client demands a second factor, the pages set one up: its secret, and the recovery codes."""
    browser = Browser()
    page = sign_in(browser, person, Authorization(client.client_id, prompt=None).path)
    typed = re.search(r'<code id="secret"[^>]*>([^<]*)</code>', page.text)[1].replace(" ", "")
    secret = base64.b32decode(typed + "=" * (-len(typed) % 8))
    shown = browser.post(page, code=one_time_password(secret, int(time.time()) // 30))
    assert shown.status == 200, shown.text
    listed = shown.text.split('class="recovery-codes"')[1].split("</ul>")[0]
    return secret, re.findall(r"<code[^>]*>([^<]*)</code>", listed)


def test_a_login_by_mail_otp_with_a_second_factor():
    """What an application does that no load script does: it brings the second factor to the login API."""
    body = {"email": f"two-{secrets.token_hex(4)}@example.com", "email_verified": True, "password": PASSWORD}
    person = admin("POST", "/users", body).json["user"]
    client = create_client(settings={"second_factor": "required"})
    secret, recovery_codes = set_up_a_generator(client, person)
    # The step of the code that set it up counts once; the one after it is taken too.
    following = one_time_password(secret, int(time.time()) // 30 + 1)
    for code in (following, recovery_codes[0]):
        asked, browser = begin(client), Browser()
        sent = ask_for_code(person["email"], create_user=False)
        browser.cookies["authrim_otp_session"] = sent["otpSessionId"]
        call = {"Origin": ISSUER, "Content-Type": "application/json"}
        body = json.dumps({"email": person["email"], "code": sent["code"], "client_id": client.client_id})
        first = browser.send("POST", "/api/auth/email-code/verify", body, **call)
        assert first.status == 403, first.text
        needed = first.json["secondFactor"]
        assert needed["methods"] == ["totp", "recovery_code"], needed
        for typed, status in (("000000000", 400), (code, 200), (code, 400)):
            body = json.dumps({"challengeId": needed["challengeId"], "code": typed})
            second = browser.send("POST", "/api/auth/second-factor/verify", body, **call)
            assert second.status == status, second.text
            if status == 200:
                session = second.json["sessionId"]
        assert second.json["error"] == "invalid_grant"
        asked.path += "&prompt=none"
        end(client, asked, session, person)
