"""Parameters that are repeated, broken or foreign: the error that the RFC names."""

import unittest
from urllib.parse import quote

from raw import FIXTURES, WEB, as_web, is_well, post_form, request

CALLBACK = "https%3A%2F%2Frp.example%2Fcallback"
CHALLENGE = "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256"
GOOD = f"response_type=code&client_id={WEB['client_id']}&redirect_uri={CALLBACK}&scope=openid&prompt=none&{CHALLENGE}"


class Encoding(unittest.TestCase):
    """RFC 6749 appendix B: UTF-8, percent-encoded."""

    BROKEN = [b"\xff\xfe", b"%ff", b"%", b"%4", b"%zz", b"\x00\x01", b"%c3%28", b"%ed%a0%80"]

    def test_forms(self) -> None:
        for path in ("/token", "/introspect", "/revoke"):
            for value in self.BROKEN:
                with self.subTest(f"{path} {value!r}"):
                    answer = post_form(path, b"grant_type=client_credentials&token=" + value + b"&client_id=" + value)
                    self.assertIn(answer.status, (400, 401))
                    self.assertIn(answer.error, ("invalid_request", "invalid_client"))

    def test_queries(self) -> None:
        for value in (b"%ff", b"%", b"%zz", b"%00", b"%ed%a0%80"):
            with self.subTest(repr(value)):
                answer = request("GET", f"/authorize?{GOOD}&state={value.decode()}")
                self.assertIn(answer.status, (400, 302))
                if answer.status == 302:
                    self.assertNotIn("\x00", answer.header("location") or "")

    def test_raw_bytes_in_the_path(self) -> None:
        for path in (
            "/authorize?state=\xff",
            "/\xff",
            "/%00",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/../../etc/passwd",
            "//token",
        ):
            with self.subTest(repr(path)):
                self.assertIn(request("GET", path).status, (400, 404, 0))


class Repeated(unittest.TestCase):
    """RFC 6749 3.1, 3.2: parameters must not be included more than once."""

    def test_at_the_token_endpoint(self) -> None:
        twice = {
            "grant_type": "grant_type=authorization_code&grant_type=authorization_code&code=x",
            "code": f"grant_type=authorization_code&code=x&code=y&redirect_uri={CALLBACK}&code_verifier={'v' * 43}",
            "code_verifier": f"grant_type=authorization_code&code=x&redirect_uri={CALLBACK}" + "&code_verifier=abc" * 2,
            "refresh_token": "grant_type=refresh_token&refresh_token=x&refresh_token=y",
        }
        for name, body in twice.items():
            with self.subTest(name):
                answer = post_form("/token", as_web(body))
                self.assertEqual((answer.status, answer.error), (400, "invalid_request"))

    def test_client_credentials_twice(self) -> None:
        answer = post_form("/token", as_web("grant_type=client_credentials&client_id=another"))
        self.assertIn((answer.status, answer.error), ((400, "invalid_request"), (401, "invalid_client")))

    def test_at_introspection_and_revocation(self) -> None:
        for path in ("/introspect", "/revoke"):
            with self.subTest(path):
                answer = post_form(path, as_web("token=x&token=y"))
                self.assertEqual((answer.status, answer.error), (400, "invalid_request"))

    def test_at_the_authorization_endpoint(self) -> None:
        for name in ("state=a&state=b", "scope=openid&scope=email", "nonce=a&nonce=b", "prompt=none&prompt=none"):
            with self.subTest(name):
                answer = request("GET", f"/authorize?{GOOD}&{name}")
                self.assertEqual(answer.status, 302)
                self.assertIn("error=invalid_request", answer.header("location") or "")

    def test_what_says_where_to_go_is_never_repeated(self) -> None:
        for extra in (
            f"client_id={WEB['client_id']}",
            f"redirect_uri={CALLBACK}",
            "redirect_uri=https%3A%2F%2Fevil.example",
        ):
            with self.subTest(extra):
                answer = request("GET", f"/authorize?{GOOD}&{extra}")
                self.assertEqual(answer.status, 400)
                self.assertIsNone(answer.header("location"))


class Wrong(unittest.TestCase):
    """Values that the RFC has an error for."""

    def test_at_the_token_endpoint(self) -> None:
        expected = {
            "": "invalid_request",
            "grant_type=": "invalid_request",
            "grant_type=password&username=a&password=b": "unsupported_grant_type",
            "grant_type=authorization_code": "invalid_request",
            f"grant_type=authorization_code&code=x&redirect_uri={CALLBACK}&code_verifier={'v' * 43}": "invalid_grant",
            "grant_type=refresh_token": "invalid_request",
            "grant_type=refresh_token&refresh_token=x": "invalid_grant",
            "grant_type=client_credentials": "unauthorized_client",
        }
        for body, error in expected.items():
            with self.subTest(body):
                answer = post_form("/token", as_web(body))
                self.assertEqual((answer.status, answer.error), (400, error))
                self.assertEqual(answer.header("cache-control"), "no-store")

    def test_at_the_authorization_endpoint(self) -> None:
        def sent(old: str, new: str) -> str:
            self.assertIn(old, GOOD)
            return f"/authorize?{GOOD.replace(old, new)}"

        expected = {
            sent("response_type=code", "response_type=token"): "unsupported_response_type",
            sent("&scope=openid", "&scope=%22"): "invalid_scope",
            sent("prompt=none", "prompt=none%20login"): "invalid_request",
            sent("prompt=none", "prompt=unheard-of"): "invalid_request",
            sent("prompt=none", "max_age=-1"): "invalid_request",
            sent("prompt=none", "max_age=x"): "invalid_request",
            sent("prompt=none", "response_mode=unheard-of"): "invalid_request",
            sent("prompt=none", "request=x.y.z"): "invalid_request_object",
            sent("prompt=none", "request_uri=https%3A%2F%2Frp.example%2Fr"): "invalid_request_uri",
            sent("&code_challenge_method=S256", "&code_challenge_method=plain"): "invalid_request",
            sent(f"&{CHALLENGE}", ""): "invalid_request",
            sent("code_challenge=E9", "code_challenge="): "invalid_request",
        }
        for path, error in expected.items():
            with self.subTest(path):
                answer = request("GET", path)
                self.assertEqual(answer.status, 302, answer.body)
                self.assertIn(f"error={error}", answer.header("location") or "")
                # An answer to a request for tokens goes in the fragment, its refusal too (RFC 6749 4.2.2.1).
                separator = "#" if "response_type=token" in path else "?"
                self.assertTrue((answer.header("location") or "").startswith(f"https://rp.example/callback{separator}"))

    def test_redirect_uris_match_exactly(self) -> None:
        for uri in (
            "https://rp.example/callback/",
            "https://rp.example/callback?x",
            "https://RP.example/callback",
            "https://rp.example:443/callback",
            "http://rp.example/callback",
            "https://rp.example/callback#x",
            "https://rp.example/x/../callback",
            "https://rp.example.evil.example/callback",
            "javascript:alert(1)",
        ):
            with self.subTest(uri):
                answer = request("GET", f"/authorize?{GOOD.replace(CALLBACK, quote(uri, safe=''))}")
                self.assertEqual(answer.status, 400)
                self.assertIsNone(answer.header("location"))

    def test_state_comes_back_as_it_was(self) -> None:
        answer = request("GET", f"/authorize?{GOOD}&state=a%0D%0ASet-Cookie%3A%20x%3Dy%26code%3Dz%C3%A4")
        location = answer.header("location") or ""
        self.assertIn("state=a%0D%0ASet-Cookie", location)
        self.assertNotIn("&code=", location)
        self.assertIsNone(answer.header("set-cookie"))

    def test_pages_of_interactions_ask_for_their_transaction(self) -> None:
        for path in ("/login", "/consent"):
            for body in (
                "",
                "username=a&password=b",
                "transaction=x&csrf_token=y&username=a&password=b",
                "decision=allow",
            ):
                with self.subTest(f"{path} {body}"):
                    answer = post_form(path, body, Origin=FIXTURES["base_url"])
                    self.assertIn(answer.status, (400, 403, 404, 410))

    def test_test_endpoints_are_off_by_default(self) -> None:
        admin = {"Authorization": f"Bearer {FIXTURES['admin_secret']}", "Content-Type": "application/json"}
        for method, path, body in (
            ("GET", "signing-key", b""),
            ("POST", "sessions", b'{"user_id":"x"}'),
            ("POST", "tokens", b"{}"),
        ):
            with self.subTest(path):
                answer = request(method, f"/api/admin/test/{path}", admin, body)
                self.assertEqual((answer.status, answer.error), (403, "access_denied"))

    def tearDown(self) -> None:
        self.assertTrue(is_well())
