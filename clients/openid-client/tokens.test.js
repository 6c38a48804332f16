// Refresh, introspection, revocation, client credentials, token exchange, private_key_jwt.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "openid-client";
import { fixtures } from "./browser.js";
import { configure, register, signIn } from "./relying-party.js";

const { web, spa, service } = fixtures.clients;
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

const payload = (token) => JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
const refused = (code) => (error) => {
  assert.equal(error.error, code, String(error));
  return true;
};

test("a refresh token rotates, and a lost answer is given again", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  const first = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(first.refresh_token, tokens.refresh_token);
  assert.notEqual(first.access_token, tokens.access_token);
  assert.equal(first.claims().sub, fixtures.user.id);
  const again = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.equal(again.refresh_token, first.refresh_token, "the retry window gives the same successor");
  const second = await client.refreshTokenGrant(config, first.refresh_token);
  assert.notEqual(second.refresh_token, first.refresh_token);
});

test("a refresh token that is used again ends its grant", async () => {
  const config = await configure(await register({ settings: { refresh_retry_window: 0 } }));
  const { tokens } = await signIn(config);
  const first = await client.refreshTokenGrant(config, tokens.refresh_token);
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token), refused("invalid_grant"));
  await assert.rejects(client.refreshTokenGrant(config, first.refresh_token), refused("invalid_grant"));
  const { active } = await client.tokenIntrospection(config, first.access_token);
  assert.equal(active, false, "the access tokens of the grant are dead too");
});

test("a refresh token whose successor was used is reuse, inside the window too", async () => {
  const config = await configure(await register({}));
  const { tokens } = await signIn(config);
  const first = await client.refreshTokenGrant(config, tokens.refresh_token);
  const second = await client.refreshTokenGrant(config, first.refresh_token);
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token), refused("invalid_grant"));
  await assert.rejects(client.refreshTokenGrant(config, second.refresh_token), refused("invalid_grant"));
});

test("a refresh may narrow the scope and not widen it", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  const narrow = await client.refreshTokenGrant(config, tokens.refresh_token, { scope: "openid" });
  assert.equal(narrow.scope, "openid");
  const wide = { scope: "openid profile email phone" };
  await assert.rejects(client.refreshTokenGrant(config, narrow.refresh_token, wide), refused("invalid_scope"));
});

test("a public client's refresh token rotates", async () => {
  const config = await configure(spa, { authentication: client.None() });
  const { tokens } = await signIn(config);
  const next = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(next.refresh_token, tokens.refresh_token);
});

test("another client cannot use a refresh token", async () => {
  const { tokens } = await signIn(await configure(web));
  const other = await configure(await register({}));
  await assert.rejects(client.refreshTokenGrant(other, tokens.refresh_token), refused("invalid_grant"));
  assert.ok((await client.refreshTokenGrant(await configure(web), tokens.refresh_token)).access_token);
});

test("introspection tells a client about its own tokens", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  const access = await client.tokenIntrospection(config, tokens.access_token);
  assert.equal(access.active, true);
  assert.equal(access.client_id, web.client_id);
  assert.equal(access.sub, fixtures.user.id);
  assert.equal(access.iss, fixtures.issuer);
  assert.deepEqual(access.scope.split(" ").sort(), ["email", "openid", "profile"]);
  const refresh = await client.tokenIntrospection(config, tokens.refresh_token, { token_type_hint: "refresh_token" });
  assert.equal(refresh.active, true);
  assert.equal((await client.tokenIntrospection(config, "nothing")).active, false);
  const other = await configure(await register({}));
  assert.deepEqual(await client.tokenIntrospection(other, tokens.access_token), { active: false });
});

test("a revoked access token is dead at once", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  await client.tokenRevocation(config, tokens.access_token);
  assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, false);
  await assert.rejects(client.fetchUserInfo(config, tokens.access_token, fixtures.user.id), { status: 401 });
  assert.ok((await client.refreshTokenGrant(config, tokens.refresh_token)).access_token, "the grant lives");
});

test("a revoked refresh token ends its grant", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  await client.tokenRevocation(config, tokens.refresh_token, { token_type_hint: "refresh_token" });
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token), refused("invalid_grant"));
  assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, false);
});

test("another client cannot revoke a token", async () => {
  const config = await configure(web);
  const { tokens } = await signIn(config);
  const other = await configure(await register({}));
  // RFC 7009 2.1: refused, and the token lives on.
  await client.tokenRevocation(other, tokens.access_token).catch((error) => assert.ok(error.status < 500));
  assert.equal((await client.tokenIntrospection(config, tokens.access_token)).active, true);
});

test("client credentials: the client acts for itself", async () => {
  const config = await configure(service);
  const tokens = await client.clientCredentialsGrant(config, { scope: "read" });
  assert.equal(tokens.scope, "read");
  assert.equal(tokens.refresh_token, undefined);
  assert.equal(tokens.id_token, undefined);
  assert.equal(payload(tokens.access_token).sub, `client:${service.client_id}`);
  await assert.rejects(client.clientCredentialsGrant(await configure(web)), refused("unauthorized_client"));
  const impostor = await configure({ ...service, client_secret: "x".repeat(64) });
  await assert.rejects(client.clientCredentialsGrant(impostor), (error) => {
    // RFC 6749 5.2: who tried Basic is answered 401 with a Basic challenge.
    assert.equal(error.status, 401, String(error));
    return true;
  });
});

async function exchange(config, subjectToken, more = {}) {
  return client.genericGrantRequest(config, EXCHANGE, {
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    ...more,
  });
}

test("token exchange: a service acts for the person", async () => {
  const { tokens } = await signIn(await configure(web));
  const config = await configure(service);
  const exchanged = await exchange(config, tokens.access_token, { audience: "https://api.example.com", scope: "profile" });
  assert.equal(exchanged.issued_token_type, ACCESS_TOKEN);
  assert.equal(exchanged.scope, "profile");
  assert.equal(exchanged.refresh_token, undefined);
  const [subject, result] = [payload(tokens.access_token), payload(exchanged.access_token)];
  assert.equal(result.sub, fixtures.user.id);
  assert.equal(result.act.sub, `client:${service.client_id}`);
  assert.deepEqual([result.aud].flat(), ["https://api.example.com"]);
  assert.ok(result.exp <= subject.exp, "never outlives its subject");
});

test("token exchange: the chain of actors is kept", async () => {
  const { tokens } = await signIn(await configure(web));
  const config = await configure(service);
  const actor = await client.clientCredentialsGrant(config, {});
  const more = { actor_token: actor.access_token, actor_token_type: ACCESS_TOKEN };
  const first = await exchange(config, tokens.access_token);
  const second = await exchange(config, first.access_token, more);
  const { act } = payload(second.access_token);
  assert.equal(act.sub, `client:${service.client_id}`);
  assert.equal(act.act.sub, `client:${service.client_id}`);
});

test("token exchange: what dies with the subject, and what is refused", async () => {
  const rp = await configure(web);
  const { tokens } = await signIn(rp);
  const config = await configure(service);
  const exchanged = await exchange(config, tokens.access_token);
  assert.equal((await client.tokenIntrospection(config, exchanged.access_token)).active, true);
  await assert.rejects(exchange(config, tokens.access_token, { scope: "phone" }), refused("invalid_scope"));
  await assert.rejects(exchange(config, "not.a.token"), refused("invalid_grant"));
  await client.tokenRevocation(rp, tokens.access_token);
  assert.equal((await client.tokenIntrospection(config, exchanged.access_token)).active, false);
  await assert.rejects(exchange(config, tokens.access_token), refused("invalid_grant"));
  await assert.rejects(exchange(rp, tokens.access_token), refused("unauthorized_client"));
});

// openid-client signs with the name of RFC 9864, Ed25519; others use that of RFC 8037, EdDSA.
for (const algorithm of ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"]) {
  test(`private_key_jwt with ${algorithm}: an assertion is good once`, async () => {
    const [config, bodies] = await byPrivateKey(algorithm);
    assert.ok((await client.clientCredentialsGrant(config, { scope: "read" })).access_token);
    assert.ok((await client.clientCredentialsGrant(config, { scope: "read" })).access_token, "a new assertion is fine");
    const [body] = bodies;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const replay = await fetch(config.serverMetadata().token_endpoint, { method: "POST", headers, body });
    assert.equal((await replay.json()).error, "invalid_client");
    assert.equal(replay.status, 401);
  });
}

const KEYS = {
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  PS256: { name: "RSA-PSS", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  Ed25519: { name: "Ed25519" },
  EdDSA: { name: "Ed25519" },
};

async function byPrivateKey(algorithm) {
  const pair = await crypto.subtle.generateKey(KEYS[algorithm], true, ["sign", "verify"]);
  const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
  const { kty, n, e, crv, x, y } = jwk;
  const registered = await register({
    token_endpoint_auth_method: "private_key_jwt",
    grant_types: ["client_credentials"],
    redirect_uris: [],
    scope: "read",
    jwks: { keys: [{ kty, n, e, crv, x, y, kid: "one", use: "sig", alg: algorithm }] },
  });
  const authentication = client.PrivateKeyJwt(
    { key: pair.privateKey, kid: "one" },
    { [client.modifyAssertion]: (header) => (header.alg = algorithm) },
  );
  const config = await configure(registered, { authentication });
  const bodies = [];
  config[client.customFetch] = (url, options) => {
    if (options.method === "POST") bodies.push(String(options.body));
    return fetch(url, options);
  };
  return [config, bodies];
}
