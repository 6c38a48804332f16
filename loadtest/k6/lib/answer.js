// What answers must say.

import encoding from "k6/encoding";

import { SCOPE, client, issuer } from "./seed.js";
import { Wrong } from "./wrong.js";

const STATUSES = [400, 401, 403, 429, 503];

export function expectStatus(response, status) {
  const got = response.status;
  if (got === status) return;
  let kind = got >= 500 ? "status_5xx" : "status";
  if (STATUSES.includes(got)) kind = `status_${got}`;
  throw new Wrong(kind, `${got} ${(response.body || "").slice(0, 200)}`);
}

export function expectEqual(kind, got, expected) {
  if (got !== expected) throw new Wrong(kind, `${got} instead of ${expected}`);
}

// Exactly these values, in any order (RFC 6749 3.3).
export function expectScope(got, expected) {
  const sorted = (scope) => (scope || "").split(" ").sort().join(" ");
  if (got !== expected && sorted(got) !== sorted(expected)) throw new Wrong("scope", `${got} instead of ${expected}`);
}

// This one client acts, and nobody acted before it (RFC 8693 4.1). A client may be named so that it cannot clash with
// a user, as `client:` and its id.
export function expectActor(act, id) {
  const sub = (act && act.sub) || "";
  if (withoutPrefix(sub) !== id) throw new Wrong("act", `${sub} acts instead of ${id}`);
  if (act.act) throw new Wrong("act", `${act.act.sub} acted before ${sub}`);
}

export function withoutPrefix(sub) {
  return sub.startsWith("client:") ? sub.slice("client:".length) : sub;
}

// One value or several (RFC 7519 4.1.3).
export function values(audience) {
  return Array.isArray(audience) ? audience : [audience];
}

export function json(response) {
  try {
    return JSON.parse(response.body);
  } catch (_) {
    throw new Wrong("body", "not JSON");
  }
}

// A 200 answer with a bearer token (RFC 6749 5.1).
export function tokenAnswer(response) {
  expectStatus(response, 200);
  const answer = json(response);
  expectEqual("token_type", answer.token_type, "Bearer");
  if (!answer.access_token) throw new Wrong("access_token", "missing");
  return answer;
}

// A token's claims. The signature is the clients' to check, not the load generator's.
export function claims(token) {
  const parts = token.split(".");
  if (parts.length !== 3) throw new Wrong("access_token", "not a JWT");
  try {
    return JSON.parse(encoding.b64decode(parts[1], "rawurl", "s"));
  } catch (_) {
    throw new Wrong("access_token", "its claims cannot be read");
  }
}

// The access token is about this user, for the seed's client.
export function expectUserToken(token, userId, scope = SCOPE) {
  const said = claims(token);
  expectEqual("iss", said.iss, issuer);
  expectEqual("sub", said.sub, userId);
  expectEqual("client_id", said.client_id, client.id);
  expectScope(said.scope, scope);
  return said;
}

// What a redeemed code gives (OpenID Connect Core 1.0, 3.1.3.3). The ID token's claims.
export function expectTokens(answer, userId) {
  expectUserToken(answer.access_token, userId);
  if (!answer.id_token) throw new Wrong("id_token", "missing");
  const said = claims(answer.id_token);
  expectEqual("id_token_iss", said.iss, issuer);
  expectEqual("id_token_sub", said.sub, userId);
  const audience = values(said.aud);
  if (audience.length !== 1 || audience[0] !== client.id) throw new Wrong("id_token_aud", `${said.aud}`);
  return said;
}
