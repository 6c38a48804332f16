// An application on a port of its own, and its client by the admin API.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

export const fixtures = JSON.parse(readFileSync(process.env.SYMBOLON_FIXTURES, "utf8"));
/** A name for the pages, in place of host and port. */
export const NAMED = { name: "Example" };

/** Serves the application of a provider, whose callback `takes` so many milliseconds; answers with its client and how it is stopped. */
export async function serve(provider = fixtures, { takes = 0 } = {}) {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://application");
    response.setHeader("content-type", "text/html");
    if (pathname === "/") return response.end('<!doctype html><html lang="en"><title>Application</title><p id="home">at home</p></html>');
    if (pathname !== "/callback") return response.writeHead(404).end();
    const answer = request.method === "POST" ? new URLSearchParams(await bodyOf(request)) : searchParams;
    const outcome = answer.has("code") ? "signed-in" : answer.get("error");
    const page = `<!doctype html><html lang="en"><title>Application</title><p id="outcome">${outcome}</p></html>`;
    setTimeout(() => response.end(page), takes);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  // On the provider's own host, as it is another application of the same site.
  const origin = `http://${new URL(provider.base_url).hostname}:${server.address().port}`;
  return { provider, origin, client: await register(provider, origin), close: () => server.close() };
}

async function bodyOf(request) {
  let body = "";
  for await (const bytes of request) body += bytes;
  return body;
}

/** Where the application sends the browser. */
export function authorizationUrl({ provider, origin, client }, more = {}) {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: `${origin}/callback`,
    scope: "openid profile",
    state: "a state",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    ...more,
  });
  return `${provider.base_url}/authorize?${query}`;
}

/** Changes settings of the issuer; `null` puts one back. */
export const set = (settings, provider) => change("/settings", settings, provider);

/** Changes a record of the admin API. */
export async function change(path, members, provider = fixtures) {
  const response = await fetch(`${provider.base_url}/api/admin${path}`, {
    method: "PATCH",
    headers: { authorization: `Bearer ${provider.admin_secret}`, "content-type": "application/json" },
    body: JSON.stringify(members),
  });
  if (response.status !== 200) throw new Error(`${path} was refused: ${await response.text()}`);
}

/** Puts a logo; answers with what the admin API says of it. */
export async function putLogo(path, type, body) {
  const response = await fetch(`${fixtures.base_url}/api/admin${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${fixtures.admin_secret}`, "content-type": type },
    body,
  });
  if (response.status !== 200) throw new Error(`the logo was refused: ${await response.text()}`);
  return (await response.json()).logo;
}

/** Makes a record of the admin API; answers with what it says. */
export async function create(path, members, provider = fixtures) {
  const response = await fetch(`${provider.base_url}/api/admin${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${provider.admin_secret}`, "content-type": "application/json" },
    body: JSON.stringify(members),
  });
  if (response.status !== 201) throw new Error(`${path} was refused: ${await response.text()}`);
  return response.json();
}

/** Creates a user; answers with it. */
export const createUser = async (user, provider) => (await create("/users", user, provider)).user;

/** An account of an address that no other visit has; with its id. */
export async function somebody(what, locale, provider) {
  const user = { email: `${what}-${locale}@example.com`, password: "the password of a whole account" };
  const { id } = await createUser({ ...user, email_verified: true, name: "Ann Smith" }, provider);
  return { ...user, id };
}

/** Removes what is below a path of the admin API. */
export async function remove(path, provider = fixtures) {
  const headers = { authorization: `Bearer ${provider.admin_secret}` };
  const response = await fetch(`${provider.base_url}/api/admin${path}`, { method: "DELETE", headers });
  if (!response.ok) throw new Error(`${path} was refused: ${await response.text()}`);
}

async function register(provider, origin) {
  const members = {
    client_name: "Example Shop",
    client_uri: origin,
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code"],
    redirect_uris: [`${origin}/callback`],
    scope: "openid profile",
  };
  return (await create("/clients", members, provider)).client;
}
