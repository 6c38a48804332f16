"""A server that treats requests as a plan says: by their number it answers, answers late, refuses, resets or hangs."""

import asyncio
import json
import socket
import struct
import threading
import time
from collections import Counter

LATE_SECONDS = 0.3
# Of a hundred requests, in this order.
PLAN = ["hang"] * 5 + ["reset"] * 2 + ["refused"] * 3 + ["late"] * 10 + ["right"] * 80
# Another plan: everything in a second of it is held until the second is over.
STALL = range(200, 300)
BODY = b'{"answer":"right"}'


def fate(number: int) -> str:
    """What becomes of the request of this number, from 0. Neighbours differ."""
    return PLAN[number * 37 % 100]


def stalled(number: int) -> str:
    """The same of the plan with a stall."""
    return "held" if number in STALL else "right"


class Faulty:
    """Listens on a free port of loopback, and counts on its own side."""

    def __init__(self, fate=fate, rate: int = 100):
        self.counts = Counter()
        self._fate, self._rate = fate, rate
        self._began = None
        self._number = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._converse, "127.0.0.1", 0, backlog=1024))
        host, port = self._server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def end(self) -> None:
        """Ends with every connection."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._server.close()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()


    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
        await reader.readexactly(length)
        if head.startswith(b"GET /.well-known/openid-configuration"):
            await send(writer, "200 OK", json.dumps(self._discovery()).encode())
            return True
        what = self._fate(self._number)
        if self._began is None:
            self._began = time.monotonic()
        self._number += 1
        self.counts[what] += 1
        if what == "hang":
            # Until the client hangs up.
            await reader.read()
            return False
        if what == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return False
        if what == "late":
            await asyncio.sleep(LATE_SECONDS)
        if what == "held":
            await asyncio.sleep(max(0, self._began + STALL.stop / self._rate - time.monotonic()))
        await send(writer, "503 Service Unavailable" if what == "refused" else "200 OK", BODY)
        return True

    def _discovery(self) -> dict:
        endpoints = ["authorization", "token", "userinfo", "introspection", "revocation"]
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks",
            **{f"{name}_endpoint": f"{self.url}/{name}" for name in endpoints},
        }


async def send(writer: asyncio.StreamWriter, status: str, body: bytes) -> None:
    """An answer."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
