"""An API that asks about tokens by the recipe's command, and causes of its table that a test can bring about."""

import base64
import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from driver.case import PartyCase

INACTIVE = {"active": False}


class IntrospectingApi(PartyCase):
    recipe_name = "introspecting-api"

    @classmethod
    def start(cls) -> None:
        cls.api, cls.caller = cls.clients

    def ask(self, token: str) -> dict:
        """Runs the recipe's command as a person would."""
        own = {"CLIENT_ID": self.api["client_id"], "CLIENT_SECRET": self.api["client_secret"], "TOKEN": token}
        command = ["bash", "-c", self.recipe.block("ask")]
        done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, timeout=30)
        return json.loads(done.stdout)

    def post(self, path: str, client: dict, **fields: str) -> dict:
        """Calls an endpoint as a client."""
        basic = base64.b64encode(f"{client['client_id']}:{client['client_secret']}".encode()).decode()
        body = urllib.parse.urlencode(fields).encode()
        request = urllib.request.Request(f"{self.issuer}{path}", body, {"Authorization": f"Basic {basic}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"{}")

    def token(self) -> str:
        """An access token of the caller."""
        return self.post("/token", self.caller, grant_type="client_credentials")["access_token"]

    def set(self, member: str, value: object) -> None:
        """Changes the caller."""
        self.symbolon("client", "update", self.caller["client_id"], "--set", f"{member}={json.dumps(value)}")

    def test_1_a_token_for_the_api(self) -> None:
        answer = self.ask(self.token())
        self.assertIs(answer["active"], True)
        self.assertEqual(answer["aud"], [self.issuer, "https://api.example.com"])
        self.assertEqual((answer["scope"], answer["sub"]), ("reports:read", f"client:{self.caller['client_id']}"))

    def test_2_a_token_for_another_api(self) -> None:
        """Also where the two differ in a slash."""
        for audiences in ([], ["https://other.example.com"], ["https://api.example.com/"]):
            self.set("access_token_audiences", audiences)
            early = self.token()
            self.assertEqual(self.ask(early), INACTIVE, audiences)
        self.set("access_token_audiences", ["https://api.example.com"])
        # The token was got before: it stays as it is.
        self.assertEqual(self.ask(early), INACTIVE)
        self.assertTrue(self.ask(self.token())["active"])

    def test_3_a_revoked_token(self) -> None:
        token = self.token()
        self.assertTrue(self.ask(token)["active"])
        self.post("/revoke", self.caller, token=token)
        self.assertEqual(self.ask(token), INACTIVE)

    def test_4_an_expired_token(self) -> None:
        self.set("settings.access_token_lifetime", 1)
        token = self.token()
        self.eventually("the token expires", lambda: self.ask(token) == INACTIVE)
        self.set("settings.access_token_lifetime", None)

    def test_5_a_token_that_was_cut(self) -> None:
        self.assertEqual(self.ask(self.token()[:-5]), INACTIVE)

    def test_6_the_apis_own_secret_is_wrong(self) -> None:
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.post("/introspect", {**self.api, "client_secret": "wrong"}, token=self.token())
        self.assertEqual(refused.exception.code, 401)
