// A relying party made of openid-client, and clients of our own by the admin API.
import * as client from "openid-client";
import { Browser, fixtures } from "./browser.js";

export const { redirect_uri: redirectUri } = fixtures;

/** Registers a client with these members of metadata. */
export async function register(metadata) {
  const body = {
    client_name: "Suite openid-client",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    scope: "openid profile email offline_access",
    skip_consent: true,
    ...metadata,
  };
  const response = await fetch(`${fixtures.base_url}/api/admin/clients`, {
    method: "POST",
    headers: { authorization: `Bearer ${fixtures.admin_secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`the client was refused: ${response.status} ${text}`);
  return JSON.parse(text).client;
}

/** Discovery, with every ID token's signature checked though TLS would allow to skip it. */
export async function configure(registered, { authentication, metadata = {} } = {}) {
  const own = { ...metadata, client_secret: registered.client_secret };
  const config = await client.discovery(new URL(fixtures.issuer), registered.client_id, own, authentication, {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  });
  return config;
}

/** An authorization request with everything that can be checked in its answer. */
export async function request(config, parameters = {}) {
  const secrets = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedState: client.randomState(),
    expectedNonce: client.randomNonce(),
  };
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: "openid profile email",
    state: secrets.expectedState,
    nonce: secrets.expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(secrets.pkceCodeVerifier),
    code_challenge_method: "S256",
    ...parameters,
  });
  return { url, secrets };
}

/** A whole login: request, pages, code, tokens. */
export async function signIn(config, { browser = new Browser(), parameters, ...visit } = {}) {
  const { url, secrets } = await request(config, parameters);
  const { url: answer, page } = await browser.visit(url, visit);
  if (!answer) throw new Error(`the login did not come back: ${page}`);
  const tokens = await client.authorizationCodeGrant(config, answer, { ...secrets, idTokenExpected: true });
  return { browser, tokens, answer, secrets };
}
