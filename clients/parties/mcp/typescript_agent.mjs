// An agent made of the TypeScript SDK. Its one argument, and each line that it reads and writes, is JSON: see agent.py.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { server, redirect_uri, grant_types } = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function hear() {
  const { value, done } = await lines.next();
  if (done) process.exit(0);
  return JSON.parse(value);
}

/** Keeps what the SDK stores, for as long as the process lives. */
class Memory {
  redirectUrl = redirect_uri;
  clientMetadata = {
    client_name: "Agent of the TypeScript SDK",
    redirect_uris: [redirect_uri],
    grant_types,
    token_endpoint_auth_method: "none",
    scope: "notes:read",
  };
  #kept = {};

  /** Where the person has to go, until they went. */
  address = undefined;

  state() {
    this.#kept.state = randomUUID();
    return this.#kept.state;
  }
  clientInformation() {
    return this.#kept.client;
  }
  saveClientInformation(client) {
    this.#kept.client = client;
  }
  tokens() {
    return this.#kept.tokens;
  }
  saveTokens(tokens) {
    this.#kept.tokens = tokens;
  }
  saveCodeVerifier(verifier) {
    this.#kept.verifier = verifier;
  }
  codeVerifier() {
    return this.#kept.verifier;
  }
  redirectToAuthorization(address) {
    this.address = address;
  }
  invalidateCredentials(scope) {
    if (scope === "all" || scope === "tokens") delete this.#kept.tokens;
  }
  isOwn(state) {
    return state === this.#kept.state;
  }
}

const memory = new Memory();
let client;
let transport;

async function connect() {
  transport = new StreamableHTTPClientTransport(new URL(server), { authProvider: memory });
  client = new Client({ name: "agent", version: "1" });
  await client.connect(transport);
}

/** Does something, and once more after the person signed in, if the SDK asks for that. */
async function signedIn(action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof UnauthorizedError) || !memory.address) throw error;
  }
  say({ open: memory.address.href });
  memory.address = undefined;
  const { searchParams } = new URL((await hear()).callback);
  if (!memory.isOwn(searchParams.get("state"))) throw new Error("the state is another one's");
  await transport.finishAuth(searchParams.get("code"));
  return await action();
}

try {
  await signedIn(connect);
  say({ ready: true, client_id: memory.clientInformation().client_id });
  for (;;) {
    const { call } = await hear();
    const result = await signedIn(() => client.callTool({ name: call, arguments: {} }));
    say({ result: result.content[0].text });
  }
} catch (error) {
  say({ error: String(error) });
  process.exit(1);
}
