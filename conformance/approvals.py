"""The person who decides about backchannel authentication requests (CIBA), and what the suite calls to have it done."""
import html
import http.cookiejar
import http.server
import re
import secrets
import threading
import urllib.parse
import urllib.request

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
DECISIONS = ("allow", "deny")


class Person:
    """Signs in at the provider's pages, once, and decides on the account page."""

    def __init__(self, issuer, username, password, tls):
        self.issuer, self.username, self.password = issuer, username, password
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies, urllib.request.HTTPSHandler(context=tls))
        parts = urllib.parse.urlsplit(issuer)
        self.opener.addheaders.append(("Origin", f"{parts.scheme}://{parts.netloc}"))
        self.lock = threading.Lock()

    def open(self, path, fields=None):
        """The address and the text of the page that a path leads to."""
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        with self.opener.open(self.issuer + path, data, timeout=60) as answer:
            return answer.geturl(), answer.read().decode()

    def decide(self, request, decision):
        with self.lock:
            address, page = self.open("/account/requests")
            if "/login?" in address:
                fields = hidden(page) | {"username": self.username, "password": self.password}
                _, page = self.open("/login", fields)
            fields = {"csrf_token": hidden(page).get("csrf_token", ""), "request": request, "decision": decision}
            address, _ = self.open("/account/requests", fields)
        if "done=request_" not in address:
            raise RuntimeError(f"nothing was decided: {address}")


def hidden(page):
    return {name: html.unescape(value) for name, value in HIDDEN.findall(page)}


def serve(host, port, person):
    """Has the person decide whatever is posted to `<address>/<auth_req_id>/<decision>`; returns the address.

    The address has a secret in its path, so that nobody else on this network decides.
    """
    secret = secrets.token_urlsafe(16)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            parts = self.path.strip("/").split("/")
            if len(parts) != 3 or parts[0] != secret or parts[2] not in DECISIONS:
                return self.answer(404)
            # ar_<id>.<secret of the client>
            request = parts[1].removeprefix("ar_").split(".")[0]
            try:
                person.decide(request, parts[2])
            except (OSError, RuntimeError) as error:
                self.log_error("%s", error)
                return self.answer(502)
            return self.answer(200)

        def answer(self, status):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_request(self, code="-", size="-"):
            """Says nothing of what went well."""

    server = http.server.ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{host}:{server.server_address[1]}/{secret}"
