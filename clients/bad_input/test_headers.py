"""Heads that are too long, credentials that are none, methods in the wrong place."""

import base64
import unittest

from raw import FORM, HOST, MIB, WEB, as_web, connect, is_well, post_form, read, request, resident_mib, send_bytes


def basic(text: str | bytes) -> str:
    """A Basic header."""
    return "Basic " + base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


class Long(unittest.TestCase):
    """Heads beyond the limits."""

    def test_long_heads(self) -> None:
        before = resident_mib()
        heads = {
            "one long header": {"X-Long": "x" * MIB},
            "many headers": {f"X-{index}": "1" for index in range(5000)},
            "a long cookie": {"Cookie": "symbolon_session=" + "x" * (64 << 10)},
            "a long Authorization": {"Authorization": "Bearer " + "x" * (64 << 10)},
        }
        for _ in range(10):
            for name, headers in heads.items():
                with self.subTest(name):
                    self.assertIn(request("GET", "/userinfo", headers).status, (400, 431, 0))
        self.assertIn(request("GET", "/authorize?state=" + "x" * MIB).status, (400, 414, 431, 0))
        self.assertLess(resident_mib() - before, 32)
        self.assertTrue(is_well())

    def test_long_but_allowed(self) -> None:
        answer = request("GET", "/userinfo", {"Authorization": "Bearer " + "x" * (16 << 10)})
        self.assertEqual(answer.status, 401)
        cookies = "; ".join(["symbolon_session=" + "x" * 60] * 200)
        answer = request("GET", f"/authorize?response_type=code&client_id={WEB['client_id']}", {"Cookie": cookies})
        self.assertEqual(answer.status, 400)

    def test_what_is_no_http(self) -> None:
        for data in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"\x00" * 1000,
            b"GET\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\r\n b: folded\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
            b"GET / HTTP/1.1\r\nX\xff\r\n\r\n",
        ):
            with self.subTest(repr(data[:30])), connect() as connection:
                connection.sendall(data)
                self.assertLess(read(connection).status, 500)
        self.assertTrue(is_well())

    def test_an_http2_preface_and_then_nonsense(self) -> None:
        with connect() as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 4096)
            try:
                while connection.recv(65536):
                    pass
            except ConnectionError:
                pass
        self.assertTrue(is_well())


class Credentials(unittest.TestCase):
    """RFC 6749 2.3.1 and 5.2, RFC 7617, RFC 6750."""

    BAD_BASIC = [
        "Basic",
        "Basic ",
        "Basic !!!",
        "Basic =",
        basic("nocolon"),
        basic(":"),
        basic("a:"),
        basic(b"\xff\xfe:x"),
        basic("a%zz:b%"),
        basic("a\x00b:c"),
        basic("x" * 4096 + ":y"),
        basic(f"{WEB['client_id']}:wrong"),
        basic(f"{WEB['client_id']}:"),
        "basic " + "A" * 8000,
        "Digest username=x",
        "Bearer x",
        "",
    ]

    def test_bad_basic_headers(self) -> None:
        for path in ("/token", "/introspect", "/revoke"):
            for value in self.BAD_BASIC:
                with self.subTest(f"{path} {value[:40]}"):
                    answer = post_form(path, "grant_type=client_credentials&token=x", Authorization=value)
                    self.assertIn((answer.status, answer.error), ((401, "invalid_client"), (400, "invalid_request")))
                    if answer.status == 401:
                        # RFC 6749 5.2: the challenge is required for who used the Authorization header.
                        challenged = (answer.header("www-authenticate") or "").startswith("Basic ")
                        self.assertTrue(challenged or not value.lower().startswith("basic "))

    def test_good_basic_in_odd_forms(self) -> None:
        pair = f"{WEB['client_id']}:{WEB['client_secret']}"
        for value in (basic(pair), basic(pair).replace("Basic", "bAsIc"), basic(pair.replace("_", "%5F"))):
            with self.subTest(value):
                answer = post_form("/introspect", "token=x", Authorization=value)
                self.assertEqual((answer.status, answer.body), (200, b'{"active":false}'))

    def test_two_ways_at_once(self) -> None:
        value = basic(f"{WEB['client_id']}:{WEB['client_secret']}")
        answer = post_form("/introspect", as_web("token=x"), Authorization=value)
        # RFC 6749 2.3: a client must not use more than one method.
        self.assertIn((answer.status, answer.error), ((400, "invalid_request"), (401, "invalid_client")))
        twice = f"POST /introspect HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\nContent-Length: 7\r\n"
        twice += f"Authorization: {value}\r\nAuthorization: {value}\r\n\r\ntoken=x"
        self.assertIn(send_bytes(twice.encode()).status, (400, 401))

    def test_bad_bearer_headers(self) -> None:
        for value in (
            "Bearer",
            "Bearer ",
            "Bearer a b",
            "Bearer \xff\xfe",
            "Bearer ....",
            "Bearer a.b.c",
            "bearer x",
            "Basic x",
        ):
            with self.subTest(value):
                answer = request("GET", "/userinfo", {"Authorization": value})
                self.assertIn(answer.status, (400, 401))
                self.assertTrue((answer.header("www-authenticate") or "").startswith("Bearer"))

    def test_bad_admin_secrets(self) -> None:
        for value in ("Bearer", "Bearer ", "Bearer x", "Basic x", "Bearer \xff", "Bearer " + "x" * 8000, ""):
            with self.subTest(value[:20]):
                answer = request("GET", "/api/admin/users", {"Authorization": value} if value else {})
                self.assertIn((answer.status, answer.error), ((401, "invalid_token"), (400, "invalid_request")))


class Methods(unittest.TestCase):
    """RFC 9110 15.5.6: 405 with Allow."""

    ALLOWED = {
        "/authorize": {"GET", "POST"},
        "/token": {"POST"},
        "/userinfo": {"GET", "POST"},
        "/introspect": {"POST"},
        "/revoke": {"POST"},
        "/par": {"POST"},
        "/device_authorization": {"POST"},
        "/logout": {"GET", "POST"},
        "/.well-known/openid-configuration": {"GET"},
        "/.well-known/jwks.json": {"GET"},
    }

    def test_methods(self) -> None:
        for path, allowed in self.ALLOWED.items():
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} - allowed:
                with self.subTest(f"{method} {path}"):
                    answer = request(method, path)
                    self.assertEqual(answer.status, 405)
                    named = {each.strip() for each in (answer.header("allow") or "").split(",")}
                    self.assertLessEqual(allowed, named)
                    self.assertNotIn(method, named)

    def test_connect_and_asterisk(self) -> None:
        self.assertIn(send_bytes(b"CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n").status, (400, 404, 405, 0))
        self.assertIn(
            send_bytes(f"OPTIONS * HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()).status, (200, 204, 400, 404, 405)
        )

    def test_get_never_changes(self) -> None:
        answer = request("GET", f"/token?grant_type=client_credentials&client_id={WEB['client_id']}")
        self.assertEqual(answer.status, 405)

    def test_credentials_in_the_query_do_not_count(self) -> None:
        # RFC 6749 2.3.1: never in the request URI.
        answer = post_form(f"/introspect?{as_web('token=x')}", "token=x")
        self.assertEqual((answer.status, answer.error), (401, "invalid_client"))

    def test_head_is_get_without_a_body(self) -> None:
        with connect() as connection:
            connection.sendall(
                f"HEAD /.well-known/jwks.json HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
            )
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        self.assertTrue(received.startswith(b"HTTP/1.1 200"))
        self.assertTrue(received.endswith(b"\r\n\r\n"))
