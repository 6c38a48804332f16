"""The OIDC authenticator of Kubernetes' API server, and kubectl's client-go, which refreshes ID tokens."""

import base64
import hashlib
import json
import secrets
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import create_default_context

from driver.browser import Browser, Person
from driver.case import MEMBER, PASSWORD, STRANGER, PartyCase
from driver.process import Process
from driver.recipe import parts

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class Listener(BaseHTTPRequestHandler):
    """Takes the code, as kubelogin does."""

    def do_GET(self) -> None:  # noqa: N802
        query = urllib.parse.urlsplit(self.path).query
        self.server.answer = dict(urllib.parse.parse_qsl(query))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Authenticated")

    def log_message(self, *_: object) -> None:
        pass


class Kubernetes(PartyCase):
    recipe_name = "kubernetes"

    @classmethod
    def setUpClass(cls) -> None:
        cls.listener = cls._listen()
        super().setUpClass()

    @classmethod
    def _listen(cls) -> ThreadingHTTPServer:
        for port in (8000, 18000):
            try:
                listener = ThreadingHTTPServer(("127.0.0.1", port), Listener)
            except OSError:
                continue
            threading.Thread(target=listener.serve_forever, daemon=True).start()
            cls.addClassCleanup(listener.server_close)
            cls.addClassCleanup(listener.shutdown)
            return listener
        raise AssertionError("the ports 8000 and 18000, which the preset registers, are both taken")

    @classmethod
    def start(cls) -> None:
        cls.ca = cls.fixtures["ca"]
        cls.program = str(cls.folder / "kubernetes")
        subprocess.run(["go", "build", "-o", cls.program, "."], cwd=Path(__file__).parent, check=True)
        (config,) = parts(cls.client["configuration"].split("---\n")[0], "# kube-apiserver")
        ca = json.dumps(Path(cls.ca).read_text())
        # As the recipe says for an issuer whose certificate the machine does not trust.
        config = config.replace("    audiences:", f"    certificateAuthority: {ca}\n    audiences:")
        file = cls.folder / "authentication.yaml"
        file.write_text(config)
        cls.server: Process = cls.run_process(
            [cls.program, "serve", f"127.0.0.1:{cls.port}", str(file)], f"{cls.url}{REVIEWS}"
        )

    def log_in(self, browser: Browser, **parameters: str) -> dict:
        """What kubelogin does with the arguments that the preset prints: code, PKCE, and the tokens."""
        kubeconfig = self.client["configuration"].split("---\n")[1]
        self.assertIn(f'"--oidc-issuer-url={self.issuer}"', kubeconfig)
        self.assertIn(f'"--oidc-client-id={self.client["client_id"]}"', kubeconfig)
        extra = [line.split("=")[1].rstrip('"') for line in kubeconfig.splitlines() if "extra-scope" in line]
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        redirect_uri = f"http://localhost:{self.listener.server_port}"
        request = {
            "response_type": "code",
            "client_id": self.client["client_id"],
            "redirect_uri": redirect_uri,
            "scope": " ".join(["openid", *extra]),
            "state": secrets.token_hex(8),
            "nonce": secrets.token_hex(8),
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **parameters,
        }
        page = browser.sign_in(f"{self.issuer}/authorize?{urllib.parse.urlencode(request)}")
        self.assertEqual(page.text, "Authenticated", page)
        answer = self.listener.answer
        self.assertEqual(answer["state"], request["state"])
        if "error" in answer:
            return answer
        grant = {"grant_type": "authorization_code", "code": answer["code"], "code_verifier": verifier}
        return self.post("/token", {**grant, "redirect_uri": redirect_uri})

    def post(self, path: str, fields: dict[str, str]) -> dict:
        """Calls an endpoint as the public client."""
        body = urllib.parse.urlencode({**fields, "client_id": self.client["client_id"]}).encode()
        context = create_default_context(cafile=self.ca)
        with urllib.request.urlopen(f"{self.issuer}{path}", body, context=context, timeout=20) as answer:
            text = answer.read()
            return json.loads(text) if text else {}

    def review(self, id_token: str) -> dict:
        """Who the API server takes the bearer for. It asks discovery once it has started, on its own time."""
        request = urllib.request.Request(f"{self.url}{REVIEWS}", headers={"Authorization": f"Bearer {id_token}"})
        self.eventually("the authenticator is initialized", lambda: "not initialized" not in self._ask(request)[1])
        status, text = self._ask(request)
        return json.loads(text)["status"]["userInfo"] if status == 200 else {"status": status, "text": text}

    @staticmethod
    def _ask(request: urllib.request.Request) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def whoami(self, **own: str) -> subprocess.CompletedProcess:
        """Asks as kubectl does."""
        settings = {
            "idp-issuer-url": self.issuer,
            "client-id": self.client["client_id"],
            "idp-certificate-authority": self.ca,
            **own,
        }
        command = [self.program, "whoami", self.url]
        return subprocess.run(command, input=json.dumps(settings), capture_output=True, text=True, timeout=60)

    def test_1_login(self) -> None:
        """User name and groups come from the ID token, with the prefixes of the file."""
        browser = self.browser()
        tokens = self.log_in(browser)
        self.assertEqual(browser.pages, ["login", "consent"])
        user = self.review(tokens["id_token"])
        self.assertEqual(user, {"username": "oidc:ada@example.com", "groups": ["oidc:staff", "system:authenticated"]})
        self.picture(f"{self.url}{REVIEWS}", "--bearer", tokens["id_token"])

    def test_2_second_visit(self) -> None:
        """Once signed in, kubelogin gets tokens without a question."""
        browser = self.browser()
        self.log_in(browser)
        tokens = self.log_in(browser)
        self.assertEqual(browser.pages, [])
        self.assertEqual(self.review(tokens["id_token"])["username"], "oidc:ada@example.com")

    def test_3_refresh(self) -> None:
        """client-go refreshes an ID token; the new one has the groups of now."""
        tokens = self.log_in(self.browser())
        with self.outside_the_group():
            done = self.whoami(**{"refresh-token": tokens["refresh_token"]})
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        groups = answer["review"]["status"]["userInfo"]["groups"]
        self.assertEqual(groups, ["system:authenticated"])
        self.assertNotEqual(answer["settings"]["refresh-token"], tokens["refresh_token"])
        again = self.whoami(**{"refresh-token": answer["settings"]["refresh-token"]})
        self.assertIn("oidc:staff", again.stdout, again.stderr)

    def test_4_logout(self) -> None:
        """A revoked refresh token gives no ID token; after the logout prompt=none finds nobody."""
        browser = self.browser()
        tokens = self.log_in(browser)
        self.post("/revoke", {"token": tokens["refresh_token"]})
        done = self.whoami(**{"refresh-token": tokens["refresh_token"]})
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("invalid_grant", done.stderr)
        browser.sign_out(f"{self.issuer}/logout")
        self.assertEqual(browser.pages, ["logout"])
        self.assertEqual(self.log_in(browser, prompt="none")["error"], "login_required")

    def test_5_who_is_in_no_group(self) -> None:
        tokens = self.log_in(self.browser(STRANGER))
        user = self.review(tokens["id_token"])
        self.assertEqual(user, {"username": "oidc:bob@example.com", "groups": ["system:authenticated"]})

    def test_6_an_address_that_is_not_verified_is_refused(self) -> None:
        """As the recipe warns."""
        self.symbolon("user", "create", "--email", "eve@example.com", "--name", "Eve")
        tokens = self.log_in(self.browser(Person("eve@example.com", PASSWORD)))
        refused = self.review(tokens["id_token"])
        self.assertEqual(refused["status"], 401)
        self.assertIn("email not verified", refused["text"])

    def test_7_other_tokens_are_refused(self) -> None:
        """An access token is none for the API server: its audience is another."""
        tokens = self.log_in(self.browser(MEMBER))
        self.assertEqual(self.review(tokens["access_token"])["status"], 401)
        self.assertEqual(self.review(tokens["id_token"][:-8] + "AAAAAAAA")["status"], 401)
