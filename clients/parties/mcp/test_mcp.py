"""Agents made of the SDKs of MCP, and a protected MCP server that introspects, by the recipe."""

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from agent import Agent
from driver.case import MEMBER, PartyCase
from notes import Notes

FOLDER = Path(__file__).parent
# Long enough for a sign-in on a slow machine, and waited for.
SHORT_SECONDS = 4


class McpCase(PartyCase):
    """What holds for the agents of both SDKs."""

    recipe_name = "mcp"
    host = "127.0.0.1"
    command: tuple[str, ...] = ()

    @classmethod
    def start(cls) -> None:
        cls.notes = Notes(cls.url, cls.issuer, cls.client)
        cls.addClassCleanup(cls.notes.stop)
        cls.redirect_uri = f"{cls.url}/callback"

    def agent(self, visit: Callable[[str], str] | None = None, **setting: object) -> tuple[Agent, dict]:
        """An agent that has connected, and what it said then. The person at the browser does what they are asked."""
        browser = self.browser()

        def sign_in(address: str) -> str:
            page = browser.sign_in(address)
            self.assertTrue(page.url.startswith(f"{self.redirect_uri}?"), page)
            return page.url

        own = {"server": self.notes.resource, "redirect_uri": self.redirect_uri}
        own |= {"grant_types": ["authorization_code", "refresh_token"], **setting}
        log = self.folder / f"{self.id()}.log"
        agent = Agent([str(part) for part in self.command], log, own, visit or sign_in)
        self.processes.append(agent)
        self.addCleanup(agent.stop)
        return agent, agent.wait()

    def told(self) -> dict:
        """What introspection said of the token that was let in last."""
        return list(self.notes.let_in.values())[-1]

    def audience(self) -> list[str]:
        """Its audiences."""
        audience = self.told()["aud"]
        return [audience] if isinstance(audience, str) else audience

    def person(self) -> str:
        """Who is signed in, as the tools say it."""
        return self.told()["sub"]

    def test_1_the_agent_registers_itself_and_gets_a_token_for_the_server_alone(self) -> None:
        agent, ready = self.agent()
        self.assertEqual(agent.call("read"), f"read for {self.person()}")
        self.assertEqual(len(agent.visited), 1)
        asked = parse_qs(urlsplit(agent.visited[0]).query)
        self.assertEqual(asked["resource"], [self.notes.resource])
        self.assertEqual(asked["code_challenge_method"], ["S256"])
        self.assertEqual(asked["client_id"], [ready["client_id"]])
        self.assertNotEqual(ready["client_id"], self.client["client_id"])
        self.assertEqual(self.audience(), [self.notes.resource])
        self.assertEqual(self.told()["client_id"], ready["client_id"])
        self.assertIn("notes:read", self.told()["scope"].split())
        self.assertNotIn("notes:write", self.told()["scope"].split())

    def test_2_no_other_resource_may_be_named(self) -> None:
        browser = self.browser()
        refusals = []

        def first_another(address: str) -> str:
            parts = urlsplit(address)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            other = parts._replace(query=urlencode({**query, "resource": f"{self.url}/other"}))
            refusals.append(parse_qs(urlsplit(browser.open(other.geturl()).url).query)["error"])
            return browser.sign_in(address).url

        agent, _ = self.agent(first_another)
        self.assertEqual(refusals, [["invalid_target"]])
        self.assertEqual(agent.call("read"), f"read for {self.person()}")

    def test_3_a_token_that_has_expired_is_refreshed(self) -> None:
        self.symbolon.set(lifetimes={"access_token": SHORT_SECONDS})
        self.addCleanup(self.symbolon.set, lifetimes=None)
        agent, _ = self.agent()
        before = len(self.notes.let_in)
        # Until the token is over for both: its `exp` is of whole seconds, so the server ends it up to a second before the SDK does, and
        # the Python SDK begins anew where it is refused in between.
        time.sleep(SHORT_SECONDS + 1)
        agent.call("read")
        self.assertGreater(len(self.notes.let_in), before, "another token is let in")
        self.assertEqual(len(agent.visited), 1, "nobody is asked for it")
        self.assertEqual(self.audience(), [self.notes.resource])

    def test_4_what_an_administrator_ends_is_over_at_the_next_call(self) -> None:
        agent, _ = self.agent()
        agent.call("read")
        self.assertEqual(len(agent.visited), 1)
        self.symbolon("user", "sign-out", MEMBER.email)
        agent.call("read")
        self.assertEqual(len(agent.visited), 2, "the person signs in again")

    def test_5_what_a_token_lacks_is_asked_for_when_it_is_needed(self) -> None:
        """Without a refresh token: with one, the TypeScript SDK refreshes, and does not ask for more."""
        agent, _ = self.agent(grant_types=["authorization_code"])
        agent.call("read")
        self.assertEqual(self.told()["scope"], "notes:read")
        self.assertEqual(agent.call("write"), f"write for {self.person()}")
        self.assertEqual(len(agent.visited), 2)
        self.assertIn("notes:write", self.told()["scope"].split())
        self.assertEqual(self.audience(), [self.notes.resource])


class PythonSdk(McpCase):
    command = (FOLDER / ".venv/bin/python", FOLDER / "python_agent.py")

    def setUp(self) -> None:
        # This SDK asks for what the metadata names; without that, for every scope of the provider.
        self.notes.scopes_supported = ["notes:read"]


class TypeScriptSdk(McpCase):
    command = ("node", FOLDER / "typescript_agent.mjs")


# It is no test by itself.
del McpCase
