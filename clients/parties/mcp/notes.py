"""A protected MCP server (streamable HTTP), with a tool that reads and one that writes. Standard library alone."""

import base64
import json
import threading
import urllib.parse
import urllib.request
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

METADATA = "/.well-known/oauth-protected-resource/mcp"
# The scope that each tool needs.
TOOLS = {"read": "notes:read", "write": "notes:write"}
LIMIT_SECONDS = 30


class Notes:
    """The server at `url`, which asks the issuer about every token. `scopes_supported` is what its metadata says."""

    def __init__(self, url: str, issuer: str, client: dict):
        self.resource = f"{url}/mcp"
        self.metadata_url = f"{url}{METADATA}"
        self.issuer = issuer
        self.scopes_supported: list[str] | None = None
        # What introspection said of each token that was let in.
        self.let_in: dict[str, dict] = {}
        basic = f"{client['client_id']}:{client['client_secret']}"
        self._authorization = f"Basic {base64.b64encode(basic.encode()).decode()}"
        parts = urllib.parse.urlsplit(url)
        handler = type("Handler", (_Handler,), {"notes": self})
        self._server = ThreadingHTTPServer((parts.hostname, parts.port), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()

    def metadata(self) -> dict:
        """What it says of itself (RFC 9728 2)."""
        told: dict = {"resource": self.resource, "authorization_servers": [self.issuer]}
        if self.scopes_supported is not None:
            told["scopes_supported"] = self.scopes_supported
        return told

    def introspect(self, token: str) -> dict | None:
        """What the issuer says of a token (RFC 7662); None unless it is valid and for this server."""
        body = urllib.parse.urlencode({"token": token}).encode()
        request = urllib.request.Request(f"{self.issuer}/introspect", body, {"Authorization": self._authorization})
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
            told = json.load(answer)
        audience = told.get("aud", [])
        named = [audience] if isinstance(audience, str) else audience
        return told if told["active"] and self.resource in named else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    notes: Notes

    def log_message(self, *_: object) -> None:
        """Prints nothing."""

    def do_GET(self) -> None:
        path = urllib.parse.urlsplit(self.path).path
        if path == METADATA:
            self._answer(HTTPStatus.OK, self.notes.metadata())
        elif path == "/callback":
            # Where the agent would take the code from the browser.
            self._answer(HTTPStatus.OK, {})
        elif path == "/mcp":
            # No stream from the server.
            self._answer(HTTPStatus.METHOD_NOT_ALLOWED, {})
        else:
            self._answer(HTTPStatus.NOT_FOUND, {})

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path != "/mcp":
            self._answer(HTTPStatus.NOT_FOUND, {})
            return
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        told = self.notes.introspect(token) if scheme.lower() == "bearer" and token else None
        if told is None:
            self._challenge(HTTPStatus.UNAUTHORIZED, 'error="invalid_token", ' if token else "")
            return
        needed = TOOLS.get(message.get("params", {}).get("name", "")) if message.get("method") == "tools/call" else None
        if needed and needed not in told.get("scope", "").split():
            self._challenge(HTTPStatus.FORBIDDEN, f'error="insufficient_scope", scope="{needed}", ')
            return
        self.notes.let_in[token] = told
        self._serve(message, told)

    def _serve(self, message: dict, told: dict) -> None:
        if "id" not in message:
            self._answer(HTTPStatus.ACCEPTED, None)
            return
        result = self._result(message["method"], message.get("params", {}), told)
        outcome = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        self._answer(HTTPStatus.OK, {"jsonrpc": "2.0", "id": message["id"], **outcome})

    def _result(self, method: str, params: dict, told: dict) -> dict | None:
        if method == "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "Notes", "version": "1"},
            }
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": f"{params['name']} for {told['sub']}"}]}
        return {} if method == "ping" else None

    def _challenge(self, status: HTTPStatus, parameters: str) -> None:
        """RFC 6750 3, and where to learn more by RFC 9728 5.1."""
        value = f'Bearer {parameters}resource_metadata="{self.notes.metadata_url}"'
        self._answer(status, {}, {"WWW-Authenticate": value})

    def _answer(self, status: HTTPStatus, body: dict | None, headers: dict[str, str] | None = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
