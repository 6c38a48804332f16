"""An agent made of the Python SDK. Its one argument, and each line that it reads and writes, is JSON (see agent.py)."""

import json
import sys
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken


def say(**message: object) -> None:
    """Writes a line."""
    print(json.dumps(message), flush=True)


async def hear() -> dict:
    """Reads a line."""
    line = await anyio.to_thread.run_sync(sys.stdin.readline)
    if not line:
        raise EOFError
    return json.loads(line)


class Memory:
    """Keeps what the SDK stores, for as long as the process lives."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def show(address: str) -> None:
    """The person is to visit an address."""
    say(open=address)


async def called_back() -> AuthorizationCodeResult:
    """Where the person was led back to."""
    query = parse_qs(urlsplit((await hear())["callback"]).query)
    first = {name: values[0] for name, values in query.items()}
    return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


async def main(server: str, redirect_uri: str, grant_types: list[str]) -> None:
    memory = Memory()
    metadata = OAuthClientMetadata(
        client_name="Agent of the Python SDK",
        redirect_uris=[redirect_uri],
        grant_types=grant_types,
        token_endpoint_auth_method="none",
    )
    provider = OAuthClientProvider(server, metadata, memory, show, called_back)
    async with (
        httpx2.AsyncClient(auth=provider, timeout=60) as http,
        streamable_http_client(server, http_client=http) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        say(ready=True, client_id=memory.client.client_id)
        while True:
            result = await session.call_tool((await hear())["call"])
            say(result=result.content[0].text)


try:
    anyio.run(lambda: main(**json.loads(sys.argv[1])))
except BaseException as problem:
    say(error=repr(problem))
    raise
