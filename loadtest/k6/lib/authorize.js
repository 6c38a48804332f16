// Authorization requests with PKCE, and what comes back.

import crypto from "k6/crypto";
import encoding from "k6/encoding";

import { expectEqual, expectStatus } from "./answer.js";
import { encoded, get, session } from "./http.js";
import { SCOPE, client, issuer } from "./seed.js";
import { Wrong } from "./wrong.js";

const SILENT_ERRORS = ["login_required", "consent_required", "interaction_required"];

const random = (bytes) => encoding.b64encode(crypto.randomBytes(bytes), "rawurl");

// A new request: its query, and what must be remembered of it.
export function authorization(more) {
  const verifier = random(32);
  const state = random(16);
  const query = encoded({
    response_type: "code",
    client_id: client.id,
    redirect_uri: client.redirect_uri,
    scope: SCOPE,
    ...more,
    code_challenge_method: "S256",
    code_challenge: crypto.sha256(verifier, "base64rawurl"),
    nonce: state,
    state,
  });
  return { verifier, state, query };
}

// The code in a successful response to the client (RFC 6749 4.1.2).
export function codeOf(location, state) {
  const uri = client.redirect_uri;
  if (!location.startsWith(`${uri}?`) && !location.startsWith(`${uri}&`)) {
    throw new Wrong("location", location.slice(0, 60));
  }
  const answer = {};
  for (const pair of location.slice(uri.length + 1).split("&")) {
    const [name, value = ""] = pair.split("=");
    answer[name] = decodeURIComponent(value.replace(/\+/g, " "));
  }
  if (answer.error) throw new Wrong(SILENT_ERRORS.includes(answer.error) ? answer.error : "error", answer.error);
  if (!answer.code) throw new Wrong("code", "missing");
  expectEqual("state", answer.state, state);
  // RFC 9207 2: the issuer in the authorization response.
  expectEqual("iss", answer.iss, issuer);
  return answer.code;
}

// `prompt=none` in a session: a code and its verifier (OpenID Connect Core 1.0, 3.1.2.1).
export function silently(target, sessionId) {
  const { verifier, state, query } = authorization({ prompt: "none" });
  const response = get(`${target.authorization}?${query}`, session(sessionId), false);
  if (response.status !== 303) expectStatus(response, 302);
  const location = response.headers.Location;
  if (!location) throw new Wrong("location", "missing");
  return { code: codeOf(location, state), verifier };
}

// The form that redeems a code (RFC 6749 4.1.3, RFC 7636 4.5).
export function redemption(code, verifier) {
  return { grant_type: "authorization_code", code, redirect_uri: client.redirect_uri, code_verifier: verifier };
}
