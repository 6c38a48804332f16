// A single-page application made of oidc-client-ts, served on a port of its own, and its client by the admin API.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

export const fixtures = JSON.parse(readFileSync(process.env.SYMBOLON_FIXTURES, "utf8"));
const LIBRARY = readFileSync(new URL("./node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js", import.meta.url));

const page = (script) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Relying party</title>` +
  `<script src="/oidc-client-ts.js"></script><script>${script}</script></html>`;

// What each page of the application does. `settings` stands before each of them.
const PAGES = {
  "/": `globalThis.manager = new oidc.UserManager(settings);`,
  "/callback": `new oidc.UserManager(settings).signinRedirectCallback().then(() => location.replace("/"));`,
  "/popup": `new oidc.UserManager(settings).signinPopupCallback();`,
  "/silent": `new oidc.UserManager(settings).signinSilentCallback();`,
  "/landed": ``,
  "/signed-out": `new oidc.UserManager(settings).signoutPopupCallback();`,
};

/** Serves the application; answers with where it is and how it is stopped. */
export async function serve() {
  let settings;
  let elsewhere;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://relying.party");
    if (pathname === "/oidc-client-ts.js") return response.setHeader("content-type", "text/javascript").end(LIBRARY);
    if (pathname === "/posted") return posted(request, response);
    // A callback that goes on to another origin, as many do.
    if (pathname === "/hop") return response.writeHead(302, { location: `${elsewhere}/landed` }).end();
    const script = PAGES[pathname];
    if (script === undefined) return response.writeHead(404).end();
    response.setHeader("content-type", "text/html");
    response.end(page(`const settings = ${JSON.stringify(settings)}; ${script}`));
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const origin = `http://127.0.0.1:${server.address().port}`;
  elsewhere = origin.replace("127.0.0.1", "localhost");
  const client = await register(origin);
  settings = {
    authority: fixtures.issuer,
    client_id: client.client_id,
    redirect_uri: `${origin}/callback`,
    popup_redirect_uri: `${origin}/popup`,
    silent_redirect_uri: `${origin}/silent`,
    popup_post_logout_redirect_uri: `${origin}/signed-out`,
    scope: "openid profile email",
    loadUserInfo: true,
    automaticSilentRenew: false,
  };
  return { origin, elsewhere, client, close: () => server.close() };
}

/** An answer by form_post, handed to the page around the frame. */
async function posted(request, response) {
  let body = "";
  for await (const piece of request) body += piece;
  const answer = Object.fromEntries(new URLSearchParams(body));
  response.setHeader("content-type", "text/html");
  response.end(page(`parent.postMessage(${JSON.stringify(answer)}, location.origin);`));
}

async function register(origin) {
  const response = await fetch(`${fixtures.base_url}/api/admin/clients`, {
    method: "POST",
    headers: { authorization: `Bearer ${fixtures.admin_secret}`, "content-type": "application/json" },
    body: JSON.stringify({
      client_name: "Single page",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: ["callback", "popup", "silent", "posted", "hop"].map((path) => `${origin}/${path}`),
      post_logout_redirect_uris: [`${origin}/signed-out`],
      scope: "openid profile email offline_access",
      skip_consent: true,
    }),
  });
  if (response.status !== 201) throw new Error(`the client was refused: ${await response.text()}`);
  return (await response.json()).client;
}
