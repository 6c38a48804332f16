"""Bodies that are too long, of the wrong type, or broken off; memory stays flat."""

import json
import socket
import unittest
from concurrent.futures import ThreadPoolExecutor

from raw import FIXTURES, FORM, HOST, MIB, as_web, connect, is_well, post_form, read, request, resident_mib, send_bytes

ENDPOINTS = ["/token", "/introspect", "/revoke", "/authorize", "/logout", "/login", "/consent"]
TEN_MIB = b"a=" + b"x" * (10 * MIB)
ADMIN = {"Authorization": f"Bearer {FIXTURES['admin_secret']}", "Content-Type": "application/json"}
# What allocators keep is allowed; what 320 or 500 MB of bodies would leave is not.
FLAT_MIB = 48


class Long(unittest.TestCase):
    """10 MB bodies and 100,000 parameters."""

    def setUp(self) -> None:
        for _ in range(50):
            post_form("/token", as_web("grant_type=client_credentials"))
        self.before = resident_mib()

    def tearDown(self) -> None:
        self.assertLess(resident_mib() - self.before, FLAT_MIB, "memory grew (MiB)")
        self.assertTrue(is_well())

    def test_ten_megabytes(self) -> None:
        for path in ENDPOINTS:
            with self.subTest(path):
                self.assertIn(post_form(path, TEN_MIB).status, (413, 400))
        self.assertIn(post_form("/userinfo", TEN_MIB).status, (413, 401, 400))
        self.assertIn(request("POST", "/api/admin/clients", ADMIN, b'{"client_name":"' + TEN_MIB).status, (413, 400))

    def test_ten_megabytes_in_chunks_of_no_said_length(self) -> None:
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        for path in ENDPOINTS:
            with self.subTest(path):
                head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\n"
                head += "Transfer-Encoding: chunked\r\n\r\n"
                answer = send_bytes(head.encode() + chunk * 160 + b"0\r\n\r\n")
                self.assertIn(answer.status, (413, 400))

    def test_many_long_bodies_at_once(self) -> None:
        with ThreadPoolExecutor(32) as pool:
            statuses = set(pool.map(lambda _: post_form("/token", TEN_MIB).status, range(64)))
        # 0: the server answered 413 and closed while the client was still sending.
        self.assertLessEqual(statuses, {413, 400, 0})
        self.assertIn(413, statuses)

    def test_100_000_parameters(self) -> None:
        many = "&".join(f"p{index}=1" for index in range(100_000))
        same = "&".join(["scope=openid"] * 100_000)
        for path in ENDPOINTS:
            for body in (many, same):
                with self.subTest(path):
                    self.assertIn(post_form(path, as_web(body)).status, (400, 413))
        self.assertIn(request("GET", f"/authorize?{many}").status, (400, 414, 431))

    def test_300_parameters(self) -> None:
        answer = post_form("/token", as_web("&".join(f"p{index}=1" for index in range(300))))
        self.assertEqual((answer.status, answer.error), (400, "invalid_request"))


class Types(unittest.TestCase):
    """Content types, and JSON that is none."""

    def test_forms_of_another_type(self) -> None:
        body = as_web("grant_type=client_credentials").encode()
        for kind in ("application/json", "multipart/form-data; boundary=x", "text/plain", "", "application/"):
            for path in ("/token", "/introspect", "/revoke"):
                with self.subTest(f"{path} {kind}"):
                    answer = request("POST", path, {"Content-Type": kind} if kind else {}, body)
                    self.assertIn(answer.status, (400, 415))
                    self.assertEqual(answer.error, "invalid_request")

    def test_a_form_may_name_its_charset(self) -> None:
        headers = {"Content-Type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8"}
        answer = request("POST", "/token", headers, b"grant_type=unheard-of&client_id=x")
        self.assertIn(answer.error, ("invalid_client", "unsupported_grant_type"))

    def test_admin_json(self) -> None:
        broken = [
            b"",
            b"{",
            b"[]",
            b"null",
            b'"text"',
            b"[" * 100_000,
            b'{"a":' * 50_000,
            b'{"client_name":"\xff\xfe"}',
            b'{"client_name":1e999}',
            b'{"client_name":["x"],"redirect_uris":{}}',
            b"\x00",
            b'{"client_name":"\\ud800"}',
            b'{"client_name":"x","client_name":"y"}',
            b"NaN",
        ]
        for path in ("/api/admin/clients", "/api/admin/users"):
            for body in broken:
                with self.subTest(f"{path} {body[:20]!r}"):
                    answer = request("POST", path, ADMIN, body)
                    self.assertIn(answer.status, (400, 413, 415, 422))
                    self.assertTrue(answer.error, answer.body)

    def test_admin_wants_json(self) -> None:
        body = json.dumps({"email": "type@example.com"}).encode()
        answer = request("POST", "/api/admin/users", {**ADMIN, "Content-Type": FORM}, body)
        # A form can be sent by any page without a preflight.
        self.assertIn(answer.status, (400, 415))


class BrokenOff(unittest.TestCase):
    """Bodies whose framing is a lie."""

    def chunked(self, body: bytes, more: str = "") -> bytes:
        head = (
            f"POST /token HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n{more}\r\n"
        )
        return head.encode() + body

    def test_a_client_that_leaves(self) -> None:
        for data in (self.chunked(b"5\r\nab"), self.chunked(b"5\r\nabcde\r\n"), self.chunked(b"")):
            with connect() as connection:
                connection.sendall(data)
            self.assertTrue(is_well())

    def test_a_client_that_stops_sending(self) -> None:
        for data in (self.chunked(b"5\r\nab"), self.chunked(b"5\r\nabcde\r\n")):
            with connect() as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                self.assertIn(read(connection).status, (400, 408, 0))

    def test_chunks_that_are_none(self) -> None:
        for body in (b"zz\r\nab\r\n0\r\n\r\n", b"-1\r\nab\r\n", b"FFFFFFFFFFFFFFFFF\r\nab", b"2\r\nabcd\r\n0\r\n\r\n"):
            with self.subTest(repr(body)):
                self.assertIn(send_bytes(self.chunked(body)).status, (400, 0))

    def test_lengths_that_are_none(self) -> None:
        for lines in (
            "Content-Length: -1",
            "Content-Length: x",
            "Content-Length: 3\r\nContent-Length: 4",
            "Content-Length: 99999999999999999999999",
            "Transfer-Encoding: gzip",
        ):
            with self.subTest(lines):
                head = f"POST /token HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\n{lines}\r\n\r\nabc"
                self.assertIn(send_bytes(head.encode()).status, (400, 411, 413, 501, 0))

    def test_a_length_beside_chunks_is_no_smuggling(self) -> None:
        smuggled = b"GET /.well-known/jwks.json HTTP/1.1\r\nHost: x\r\n\r\n"
        with connect() as connection:
            connection.sendall(self.chunked(b"0\r\n\r\n" + smuggled, "Content-Length: 6\r\n"))
            self.assertIn(read(connection).status, (400, 415, 401))
