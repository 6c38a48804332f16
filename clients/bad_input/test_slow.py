"""Clients that send slowly: cut off in time, and nobody else waits for them."""

import time
import unittest

from raw import FORM, HOST, connect, is_well, read, request, resident_mib

HEADER_TIMEOUT = 2
REQUEST_TIMEOUT = 4
IDLE_TIMEOUT = 6
SLACK = 4
GIVE_UP = 15


class Slow(unittest.TestCase):
    """The runner sets 2 s for a head, 4 s for a request, 6 s between requests."""

    def seconds_until_closed(self, first: bytes, drip: bytes, every: float = 0.25) -> tuple[float, bytes]:
        """Sends, then drips, until the server answers or closes."""
        with connect() as connection:
            began = time.monotonic()
            connection.sendall(first)
            connection.settimeout(every)
            while time.monotonic() - began < GIVE_UP:
                try:
                    received = connection.recv(65536)
                    return time.monotonic() - began, received
                except TimeoutError:
                    try:
                        connection.sendall(drip)
                    except ConnectionError:
                        return time.monotonic() - began, b""
                except ConnectionError:
                    return time.monotonic() - began, b""
        return time.monotonic() - began, b"still open"

    def test_a_slow_head(self) -> None:
        for first in (b"GET / HTTP/1.1\r\nX-Slow: ", b"G"):
            with self.subTest(repr(first)):
                seconds, received = self.seconds_until_closed(first, b"x")
                self.assertGreater(seconds, HEADER_TIMEOUT - 0.5, received)
                self.assertLess(seconds, HEADER_TIMEOUT + SLACK)
                self.assertTrue(received == b"" or received.startswith((b"HTTP/1.1 408", b"HTTP/1.1 400")), received)

    def test_a_connection_that_says_nothing(self) -> None:
        seconds, received = self.seconds_until_closed(b"", b"")
        self.assertEqual(received, b"")
        self.assertLess(seconds, IDLE_TIMEOUT + SLACK)

    def test_a_slow_http2_preface(self) -> None:
        for first in (b"P", b"PRI * HTTP/2.0\r\n\r\nSM"):
            with self.subTest(repr(first)):
                seconds, received = self.seconds_until_closed(first, b"")
                self.assertLess(seconds, IDLE_TIMEOUT + SLACK, received)

    def test_an_http2_connection_without_a_request(self) -> None:
        settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
        with connect(IDLE_TIMEOUT + SLACK) as connection:
            connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
            try:
                while connection.recv(65536):
                    pass
            except TimeoutError:
                self.fail("the connection is kept open")

    def test_a_connection_that_is_kept_alive(self) -> None:
        ask = f"GET /.well-known/jwks.json HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
        with connect() as connection:
            connection.sendall(ask)
            self.assertEqual(read(connection).status, 200)
            began = time.monotonic()
            self.assertEqual(connection.recv(1), b"", "closed without a word")
            self.assertGreater(time.monotonic() - began, IDLE_TIMEOUT - 2)
            self.assertLess(time.monotonic() - began, IDLE_TIMEOUT + SLACK)

    def test_a_slow_body(self) -> None:
        head = f"POST /token HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\nContent-Length: 1000\r\n\r\n"
        seconds, received = self.seconds_until_closed(head.encode(), b"x")
        self.assertLess(seconds, REQUEST_TIMEOUT + SLACK)
        self.assertTrue(received == b"" or received.startswith((b"HTTP/1.1 408", b"HTTP/1.1 400")), received)

    def test_a_slow_chunked_body(self) -> None:
        head = f"POST /token HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {FORM}\r\nTransfer-Encoding: chunked\r\n\r\n"
        seconds, received = self.seconds_until_closed(head.encode(), b"1\r\nx\r\n")
        self.assertLess(seconds, REQUEST_TIMEOUT + SLACK)
        self.assertTrue(received == b"" or received.startswith((b"HTTP/1.1 408", b"HTTP/1.1 400")), received)

    def test_hundreds_of_slow_clients_keep_nobody_waiting(self) -> None:
        before = resident_mib()
        slow = [connect() for _ in range(400)]
        try:
            for index, connection in enumerate(slow):
                connection.sendall(f"GET /userinfo HTTP/1.1\r\nX-Slow-{index}: ".encode())
            for _ in range(20):
                self.assertEqual(request("GET", "/userinfo").status, 401)
            self.assertLess(resident_mib() - before, 48)
            time.sleep(HEADER_TIMEOUT + SLACK)
            for connection in slow:
                connection.settimeout(1)
                try:
                    received = connection.recv(65536)
                except ConnectionError:
                    received = b""
                self.assertTrue(received == b"" or received.startswith(b"HTTP/1.1 4"), received)
        finally:
            for connection in slow:
                connection.close()
        self.assertTrue(is_well())

    def test_a_client_that_does_not_read(self) -> None:
        with connect() as connection:
            ask = f"GET /.well-known/openid-configuration HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
            connection.settimeout(2)
            before = resident_mib()
            try:
                for _ in range(20_000):
                    connection.sendall(ask)
            except (TimeoutError, ConnectionError):
                pass
            self.assertLess(resident_mib() - before, 32, "answers pile up in memory (MiB)")
        self.assertTrue(is_well())
