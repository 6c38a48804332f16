"""What the suite calls in place of a person who decides about a backchannel authentication request (CIBA)."""
import http.server
import secrets
import threading

# What the suite says, and the operation of the admin API for it.
ACTIONS = {"allow": "approve", "deny": "deny"}


def serve(host, port, provider):
    """Decides by the provider's admin API whatever is posted to `<address>/<auth_req_id>/<action>`; returns the address.

    The address has a secret in its path, so that nobody else on this network decides.
    """
    secret = secrets.token_urlsafe(16)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            parts = self.path.strip("/").split("/")
            if len(parts) != 3 or parts[0] != secret or parts[2] not in ACTIONS:
                return self.answer(404, "{}")
            # ar_<id>.<secret of the client>
            request = parts[1].removeprefix("ar_").split(".")[0]
            try:
                provider.call("POST", provider.at(f"/ciba/requests/{request}/{ACTIONS[parts[2]]}"))
            except (OSError, RuntimeError) as error:
                self.log_error("%s", error)
                return self.answer(502, "{}")
            return self.answer(200, "{}")

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_request(self, code="-", size="-"):
            """Says nothing of what went well."""

    server = http.server.ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{host}:{server.server_address[1]}/{secret}"
