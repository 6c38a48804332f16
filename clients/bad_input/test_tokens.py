"""Tokens that are none: every one is refused, none is an error of ours."""

import base64
import json
import unittest

from raw import FIXTURES, as_web, is_well, post_form, request

EXCHANGE = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
ACCESS_TOKEN = "urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
SERVICE = FIXTURES["clients"]["service"]


def part(value: object) -> str:
    """One part of a JWS."""
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


CLAIMS = {
    "iss": FIXTURES["issuer"],
    "sub": FIXTURES["user"]["id"],
    "aud": FIXTURES["issuer"],
    "scope": "openid",
    "client_id": FIXTURES["clients"]["web"]["client_id"],
    "iat": 1,
    "exp": 32503680000,
    "jti": "x",
}


def tokens() -> dict[str, str]:
    """Bad tokens by what is bad about them."""
    kid = json.loads(request("GET", "/.well-known/jwks.json").body)["keys"][0]["kid"]
    body, signature = part(CLAIMS), part(b"s" * 256)
    header = {"alg": "RS256", "typ": "at+jwt", "kid": kid}
    heads = {
        "no algorithm": {**header, "alg": "none"},
        "a shared secret": {**header, "alg": "HS256"},
        "another algorithm": {**header, "alg": "ES256"},
        "an unknown key": {**header, "kid": "unknown"},
        "no key": {"alg": "RS256", "typ": "at+jwt"},
        "a key of its own": {**header, "jwk": {"kty": "RSA", "n": "AQAB", "e": "AQAB"}},
        "a critical extension": {**header, "crit": ["x"], "x": 1},
        "a key that is a list": {**header, "kid": ["a"]},
        "an algorithm that is a number": {**header, "alg": 1},
        "no object": [header],
        "a bad signature": header,
    }
    bad = {name: f"{part(head)}.{body}.{signature}" for name, head in heads.items()}
    bad["no signature"] = f"{part({**header, 'alg': 'none'})}.{body}."
    bad["deep JSON"] = f"{part(b'[' * 5000)}.{body}.{signature}"
    bad["not JSON"] = f"{part(b'nothing')}.{body}.{signature}"
    bad["bad base64"] = f"{part(header)}.{body[:-1]}!.{signature}"
    bad["padding"] = f"{part(header)}=.{body}.{signature}"
    bad["five parts"] = f"{part(header)}.{body}.{signature}.x.y"
    bad["dots"] = "." * 1000
    bad["a long one"] = "x" * 20_000
    bad["an empty signature"] = f"{part(header)}.{body}."
    bad["like a refresh token"] = "rt_1_2_" + "x" * 22 + "_1_" + "y" * 43
    bad["like a refresh token of numbers"] = "rt_99999999999999999999_-1_x_99999999999999999999_y"
    return bad


class Tokens(unittest.TestCase):
    """At every endpoint that takes one."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.tokens = tokens()

    def tearDown(self) -> None:
        self.assertTrue(is_well())

    def test_userinfo(self) -> None:
        for name, token in self.tokens.items():
            with self.subTest(name):
                answer = request("GET", "/userinfo", {"Authorization": f"Bearer {token}"})
                self.assertEqual(answer.status, 401)
                self.assertIn("invalid_token", answer.header("www-authenticate") or "")

    def test_introspection(self) -> None:
        for name, token in self.tokens.items():
            for hint in ("", "&token_type_hint=refresh_token", "&token_type_hint=unheard-of"):
                with self.subTest(name + hint):
                    answer = post_form("/introspect", as_web(f"token={token}{hint}"))
                    self.assertEqual((answer.status, answer.body), (200, b'{"active":false}'))

    def test_revocation(self) -> None:
        for name, token in self.tokens.items():
            with self.subTest(name):
                # RFC 7009 2.2: invalid tokens do not cause an error.
                self.assertEqual(post_form("/revoke", as_web(f"token={token}")).status, 200)

    def test_refresh(self) -> None:
        for name, token in self.tokens.items():
            with self.subTest(name):
                answer = post_form("/token", as_web(f"grant_type=refresh_token&refresh_token={token}"))
                self.assertEqual((answer.status, answer.error), (400, "invalid_grant"))

    def test_exchange(self) -> None:
        secret = f"client_id={SERVICE['client_id']}&client_secret={SERVICE['client_secret']}"
        for name, token in self.tokens.items():
            with self.subTest(name):
                body = f"{EXCHANGE}&subject_token={token}&subject_token_type={ACCESS_TOKEN}&{secret}"
                answer = post_form("/token", body)
                self.assertEqual((answer.status, answer.error), (400, "invalid_grant"))

    def test_client_assertions(self) -> None:
        kind = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        for name, token in self.tokens.items():
            with self.subTest(name):
                body = f"grant_type=client_credentials&client_assertion_type={kind}&client_assertion={token}"
                answer = post_form("/token", body)
                self.assertIn(
                    (answer.status, answer.error),
                    ((401, "invalid_client"), (400, "invalid_client"), (400, "invalid_request")),
                )

    def test_hints_and_cookies(self) -> None:
        client = FIXTURES["clients"]["web"]["client_id"]
        path = f"/authorize?response_type=code&client_id={client}&redirect_uri=https%3A%2F%2Frp.example%2Fcallback"
        path += "&scope=openid&prompt=none&code_challenge_method=S256"
        path += "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        for name, token in self.tokens.items():
            if len(token) > 16_000:
                continue
            with self.subTest(name):
                answer = request("GET", f"{path}&id_token_hint={token}", {"Cookie": f"symbolon_session={token}; =; ;a"})
                self.assertEqual(answer.status, 302)
                self.assertIn("error=login_required", answer.header("location") or "")
                answer = request("GET", f"/logout?id_token_hint={token}", {"Cookie": f"symbolon_session={token}"})
                self.assertIn(answer.status, (200, 400))
