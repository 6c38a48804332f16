// Discovery, the login page, code + PKCE, ID tokens, UserInfo, silent authentication.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "openid-client";
import { Browser, fixtures } from "./browser.js";
import { configure, redirectUri, register, request, signIn } from "./relying-party.js";

const { web, spa } = fixtures.clients;

test("discovery names the issuer and every endpoint", async () => {
  const metadata = (await configure(web)).serverMetadata();
  assert.equal(metadata.issuer, fixtures.issuer);
  for (const name of ["authorization", "token", "userinfo", "introspection", "revocation", "end_session"]) {
    assert.ok(metadata[`${name}_endpoint`].startsWith(`${fixtures.issuer}/`), name);
  }
  assert.equal(metadata.supportsPKCE(), true);
  assert.equal(metadata.authorization_response_iss_parameter_supported, true);
  assert.equal(metadata.response_types_supported[0], "code");
  const oauth = await client.discovery(new URL(fixtures.issuer), web.client_id, web.client_secret, undefined, {
    algorithm: "oauth2",
    execute: [client.allowInsecureRequests],
  });
  assert.equal(oauth.serverMetadata().token_endpoint, metadata.token_endpoint);
});

test("a person signs in and consents, and the ID token holds", async () => {
  const config = await configure(web);
  const pages = [];
  const { tokens, answer } = await signIn(config, { pages });
  assert.deepEqual(pages, ["login", "consent"]);
  assert.equal(answer.searchParams.get("iss"), fixtures.issuer);
  assert.equal(tokens.token_type, "bearer");
  const claims = tokens.claims();
  assert.equal(claims.sub, fixtures.user.id);
  assert.equal(claims.aud, web.client_id);
  assert.ok(Math.abs(claims.auth_time - Date.now() / 1000) < 60);
  assert.ok(claims.at_hash);
  // The claims of the granted scopes, as UserInfo has them.
  const info = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
  for (const name of ["email", "email_verified", "name"]) {
    assert.ok(claims[name] !== undefined && claims[name] === info[name], name);
  }
  const { tokens: fewer } = await signIn(config, { parameters: { scope: "openid" } });
  assert.equal(fewer.claims().email, undefined);
});

test("UserInfo holds the claims of the scopes", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  const claims = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  assert.equal(claims.email, fixtures.user.email);
  assert.equal(claims.email_verified, true);
  assert.equal(claims.name, fixtures.user.name);
  const { tokens: fewer } = await signIn(config, { parameters: { scope: "openid" } });
  const less = await client.fetchUserInfo(config, fewer.access_token, fewer.claims().sub);
  assert.equal(less.email, undefined);
  assert.equal(less.name, undefined);
});

test("UserInfo refuses what is no token, with a challenge", async () => {
  const config = await configure(web);
  await assert.rejects(client.fetchUserInfo(config, "nothing", fixtures.user.id), (error) => {
    assert.ok(error instanceof client.WWWAuthenticateChallengeError, String(error));
    assert.equal(error.status, 401);
    assert.equal(error.cause[0].parameters.error, "invalid_token");
    return true;
  });
});

test("a public client signs in with PKCE alone", async () => {
  const config = await configure(spa, { authentication: client.None() });
  const { tokens } = await signIn(config);
  assert.equal(tokens.claims().aud, spa.client_id);
  assert.ok(tokens.refresh_token);
});

test("a client may send its secret in the form", async () => {
  const own = await register({ token_endpoint_auth_method: "client_secret_post" });
  const { tokens } = await signIn(await configure(own, { authentication: client.ClientSecretPost() }));
  assert.equal(tokens.claims().aud, own.client_id);
});

test("a wrong password does not sign in", async () => {
  const { url } = await request(await configure(web));
  const user = { ...fixtures.user, password: "not it" };
  const browser = new Browser();
  await assert.rejects(browser.visit(url, { user }), /login page came twice/);
  const silent = await request(await configure(web), { prompt: "none" });
  const { url: answer } = await browser.visit(silent.url);
  assert.equal(answer.searchParams.get("error"), "login_required");
});

test("a person who refuses is told to the client", async () => {
  const fresh = await register({ skip_consent: false });
  const config = await configure(fresh);
  const { url, secrets } = await request(config);
  const { url: answer } = await new Browser().visit(url, { decision: "deny" });
  await assert.rejects(client.authorizationCodeGrant(config, answer, secrets), { error: "access_denied" });
});

test("silent authentication follows the session", async () => {
  const config = await configure(web);
  const { browser, tokens } = await signIn(config);
  const pages = [];
  const silent = await signIn(config, { browser, pages, parameters: { prompt: "none" } });
  assert.deepEqual(pages, []);
  assert.equal(silent.tokens.claims().sub, tokens.claims().sub);
  assert.equal(silent.tokens.claims().auth_time, tokens.claims().auth_time);
  assert.notEqual(silent.tokens.access_token, tokens.access_token);
});

test("silent authentication without a session is login_required", async () => {
  const config = await configure(web);
  const { url, secrets } = await request(config, { prompt: "none" });
  const { url: answer } = await new Browser().visit(url);
  await assert.rejects(client.authorizationCodeGrant(config, answer, secrets), { error: "login_required" });
});

test("silent authentication without consent is consent_required", async () => {
  const { browser } = await signIn(await configure(web));
  const config = await configure(await register({ skip_consent: false }));
  const { url, secrets } = await request(config, { prompt: "none" });
  const { url: answer } = await browser.visit(url);
  await assert.rejects(client.authorizationCodeGrant(config, answer, secrets), { error: "consent_required" });
});

test("prompt=login and max_age=0 ask for the password again", async () => {
  const config = await configure(web);
  const { browser, tokens } = await signIn(config);
  for (const parameters of [{ prompt: "login" }, { max_age: "0" }]) {
    const pages = [];
    const again = await signIn(config, { browser, pages, parameters });
    assert.equal(pages[0], "login", JSON.stringify(parameters));
    assert.ok(again.tokens.claims().auth_time >= tokens.claims().auth_time);
  }
});

test("a hint about somebody else is login_required, silently", async () => {
  const config = await configure(web);
  const { browser, tokens } = await signIn(config);
  const own = await request(config, { prompt: "none", id_token_hint: tokens.id_token });
  const { url: fine } = await browser.visit(own.url);
  assert.ok(fine.searchParams.get("code"));
  const broken = await request(config, { prompt: "none", id_token_hint: `${tokens.id_token}x` });
  const { url: refused } = await browser.visit(broken.url);
  assert.equal(refused.searchParams.get("error"), "login_required");
});

test("form_post answers by a form", async () => {
  const config = await configure(web);
  const { browser } = await signIn(config);
  const { url, secrets } = await request(config, { response_mode: "form_post" });
  const { post } = await browser.visit(url);
  assert.equal(post.action, redirectUri);
  const response = new Request(post.action, { method: "POST", body: post.fields });
  const tokens = await client.authorizationCodeGrant(config, response, secrets);
  assert.equal(tokens.claims().sub, fixtures.user.id);
});

test("fragment answers behind the hash", async () => {
  const config = await configure(web);
  const { browser } = await signIn(config);
  const { url } = await request(config, { response_mode: "fragment" });
  const { url: answer } = await browser.visit(url);
  assert.equal(answer.search, "");
  assert.ok(new URLSearchParams(answer.hash.slice(1)).get("code"));
});

test("a code is good once, and only with its verifier", async () => {
  const config = await configure(web);
  const { browser } = await signIn(config);
  const { url, secrets } = await request(config);
  const { url: answer } = await browser.visit(url);
  const wrong = { ...secrets, pkceCodeVerifier: client.randomPKCECodeVerifier() };
  await assert.rejects(client.authorizationCodeGrant(config, answer, wrong), { error: "invalid_grant" });
  const tokens = await client.authorizationCodeGrant(config, answer, secrets);
  await assert.rejects(client.authorizationCodeGrant(config, answer, secrets), { error: "invalid_grant" });
  // RFC 6749 4.1.2: the replay revokes what the code gave.
  const { active } = await client.tokenIntrospection(config, tokens.access_token);
  assert.equal(active, false);
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token), { error: "invalid_grant" });
});

for (const algorithm of ["RS256", "PS256", "ES256", "EdDSA"]) {
  test(`ID tokens are signed with ${algorithm} where the client asks for it`, async () => {
    const metadata = { id_token_signed_response_alg: algorithm };
    const config = await configure(await register(metadata), { metadata });
    const { tokens } = await signIn(config);
    const header = JSON.parse(Buffer.from(tokens.id_token.split(".")[0], "base64url"));
    assert.equal(header.alg, algorithm);
    assert.equal(tokens.claims().sub, fixtures.user.id);
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token);
    assert.equal(refreshed.claims().sub, fixtures.user.id);
  });
}
