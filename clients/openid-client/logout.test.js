// RP-initiated logout.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "openid-client";
import { fixtures } from "./browser.js";
import { configure, request, signIn } from "./relying-party.js";

const { web } = fixtures.clients;
const { post_logout_redirect_uri: target } = fixtures;

async function isSignedIn(config, browser) {
  const { url } = await request(config, { prompt: "none" });
  const { url: answer } = await browser.visit(url);
  return answer.searchParams.get("error") !== "login_required";
}

test("a logout with the ID token ends the session and comes back", async () => {
  const config = await configure(web);
  const { browser, tokens } = await signIn(config);
  const pages = [];
  const url = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: target,
    state: "back",
  });
  const { url: answer } = await browser.visit(url, { pages });
  assert.deepEqual(pages, [], "nobody is asked");
  assert.equal(answer.href, `${target}?state=back`);
  assert.equal(await isSignedIn(config, browser), false);
  // A refresh token without offline_access ends with its session.
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token), { error: "invalid_grant" });
  assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, false);
});

test("offline_access outlives the session", async () => {
  const config = await configure(web);
  const parameters = { scope: "openid offline_access", prompt: "consent" };
  const { browser, tokens } = await signIn(config, { parameters });
  assert.ok(tokens.scope.split(" ").includes("offline_access"));
  await browser.visit(client.buildEndSessionUrl(config, { id_token_hint: tokens.id_token }));
  assert.equal(await isSignedIn(config, browser), false);
  assert.ok((await client.refreshTokenGrant(config, tokens.refresh_token)).access_token);
});

test("a logout without a hint asks first", async () => {
  const config = await configure(web);
  const { browser } = await signIn(config);
  const pages = [];
  const { page, url } = await browser.visit(client.buildEndSessionUrl(config, { post_logout_redirect_uri: target }), { pages });
  assert.deepEqual(pages, ["logout"]);
  assert.ok(page || url);
  assert.equal(await isSignedIn(config, browser), false);
});

test("a logout never goes to a URI that is not registered", async () => {
  const config = await configure(web);
  const { browser, tokens } = await signIn(config);
  const url = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: "https://evil.example/",
  });
  const { url: answer, page } = await browser.visit(url);
  assert.equal(answer, undefined);
  assert.ok(page);
});
