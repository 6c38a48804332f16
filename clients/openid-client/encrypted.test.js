// ID tokens and UserInfo answers that are encrypted for the client (OpenID Connect Core 10.2).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "openid-client";
import { fixtures } from "./browser.js";
import { configure, register, signIn } from "./relying-party.js";

const rsa = { name: "RSA-OAEP", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
const kinds = [
  { alg: "RSA-OAEP-256", key: rsa, uses: ["encrypt", "decrypt"] },
  { alg: "ECDH-ES", key: { name: "ECDH", namedCurve: "P-256" }, uses: ["deriveBits", "deriveKey"] },
];

for (const { alg, key, uses } of kinds) {
  for (const enc of ["A128CBC-HS256", "A128GCM", "A256GCM"]) {
    test(`tokens are encrypted by ${alg} and ${enc}`, async () => {
      const pair = await crypto.subtle.generateKey(key, true, uses);
      const { key_ops, ext, ...jwk } = await crypto.subtle.exportKey("jwk", pair.publicKey);
      const metadata = {
        id_token_encrypted_response_alg: alg,
        id_token_encrypted_response_enc: enc,
        userinfo_signed_response_alg: "ES256",
        userinfo_encrypted_response_alg: alg,
        userinfo_encrypted_response_enc: enc,
      };
      const own = await register({ ...metadata, jwks: { keys: [{ ...jwk, kid: "enc-1", use: "enc", alg }] } });
      assert.equal(own.id_token_encrypted_response_alg, alg);
      const config = await configure(own, { metadata });
      client.enableDecryptingResponses(config, [enc], { key: pair.privateKey, alg, kid: "enc-1" });
      const { tokens } = await signIn(config);
      assert.equal(tokens.id_token.split(".").length, 5);
      assert.equal(tokens.claims().sub, fixtures.user.id);
      const info = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
      assert.equal(info.email, fixtures.user.email);
      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? (await again(config)));
      assert.equal(refreshed.claims().sub, fixtures.user.id);
    });
  }
}

/** A refresh token of another sign-in, which asks for one. */
async function again(config) {
  const { tokens } = await signIn(config, { parameters: { scope: "openid offline_access", prompt: "consent" } });
  return tokens.refresh_token;
}
