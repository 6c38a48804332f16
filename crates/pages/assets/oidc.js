// The protocol half of the walk-through: what a relying party in a browser has to do, in the order of the
// specifications, with nothing but fetch and WebCrypto. Every request is reported to the page as a "wire".

/** What went wrong, by its OAuth error code where there is one. */
export class Failure extends Error {
  constructor(code, description, wires = []) {
    super(description);
    this.code = code;
    this.wires = wires;
  }
}

const encoder = new TextEncoder();

export function base64url(bytes) {
  const text = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64url(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Sends one request; `form` becomes the body, `bearer` the Authorization header. */
export async function send(method, url, { form, bearer, wires = [] } = {}) {
  const wire = { method, url, parameters: form ? [...form] : [] };
  if (bearer) wire.headers = [["Authorization", `Bearer ${bearer}`]];
  wires.push(wire);
  const headers = { Accept: "application/json" };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  let response;
  try {
    response = await fetch(url, { method, headers, body: form && new URLSearchParams(form), credentials: "omit" });
  } catch (error) {
    throw new Failure("network_error", `${method} ${url} got no answer: ${error.message}. Is the provider running, and does it allow this origin (CORS)?`, wires);
  }
  wire.status = response.status;
  const text = await response.text();
  try {
    wire.response = JSON.parse(text);
  } catch {
    wire.response = text;
  }
  if (!response.ok) {
    const code = wire.response?.error ?? challengeError(response) ?? `http_${response.status}`;
    throw new Failure(code, wire.response?.error_description ?? `${url} answered ${response.status}.`, wires);
  }
  return wire.response;
}

// A resource puts its error into the challenge (RFC 6750 section 3).
function challengeError(response) {
  return response.headers.get("WWW-Authenticate")?.match(/error="([^"]+)"/)?.[1];
}

/** Reads the provider's metadata. */
export async function discover(issuer, wires) {
  const metadata = await send("GET", `${issuer}/.well-known/openid-configuration`, { wires });
  // OpenID Connect Discovery 1.0 section 4.3: the issuer must be exactly the one that was asked.
  if (metadata.issuer !== issuer) throw new Failure("invalid_issuer", `The metadata name the issuer ${metadata.issuer}, not ${issuer}.`, wires);
  return metadata;
}

/** Makes an authorization request, and the secrets that its answer will be checked against. */
export async function authorizationRequest(metadata, { clientId, redirectUri, scope, prompt }) {
  const transaction = { state: random(), nonce: random(), verifier: random(), redirectUri };
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(transaction.verifier));
  const parameters = [
    ["response_type", "code"],
    ["client_id", clientId],
    ["redirect_uri", redirectUri],
    ["scope", scope],
    ["state", transaction.state],
    ["nonce", transaction.nonce],
    ["code_challenge", base64url(digest)],
    ["code_challenge_method", "S256"],
  ];
  if (prompt) parameters.push(["prompt", prompt]);
  const url = withQuery(metadata.authorization_endpoint, parameters);
  return { url, transaction, wire: { method: "GET", url: metadata.authorization_endpoint, parameters, navigation: true } };
}

export function withQuery(endpoint, parameters) {
  const url = new URL(endpoint);
  for (const [name, value] of parameters) url.searchParams.append(name, value);
  return url.href;
}

/** Checks an authorization response and answers with its code and the checks that it passed. */
export function authorizationResponse(search, transaction, metadata, wires) {
  const parameters = new URLSearchParams(search);
  wires.push({ method: "GET", url: transaction.redirectUri, parameters: [...parameters], navigation: true });
  // RFC 9700 section 2.1: the answer belongs to this browser only if its state does.
  if (parameters.get("state") !== transaction.state) throw new Failure("invalid_state", "The state in the response is not the one that this tab sent.", wires);
  const checks = ["state is the one this tab sent"];
  // RFC 9207 section 2.4: an answer from another issuer must be refused, errors too.
  if (metadata.authorization_response_iss_parameter_supported || parameters.has("iss")) {
    if (parameters.get("iss") !== metadata.issuer) throw new Failure("invalid_issuer", `The response comes from ${parameters.get("iss")}, not from ${metadata.issuer}.`, wires);
    checks.push("iss is the issuer we asked");
  }
  if (parameters.has("error")) throw new Failure(parameters.get("error"), parameters.get("error_description") ?? "The provider refused the request.", wires);
  if (!parameters.get("code")) throw new Failure("invalid_response", "The response has no code.", wires);
  return { code: parameters.get("code"), checks };
}

/** Exchanges the code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.5). */
export function redeem(metadata, clientId, code, transaction, wires) {
  const form = [
    ["grant_type", "authorization_code"],
    ["client_id", clientId],
    ["code", code],
    ["redirect_uri", transaction.redirectUri],
    ["code_verifier", transaction.verifier],
  ];
  return send("POST", metadata.token_endpoint, { form, wires });
}

/** The header and claims of a JWT, unchecked; nothing for a token of another form. */
export function decode(token) {
  try {
    const [header, claims] = token.split(".", 2).map((part) => JSON.parse(new TextDecoder().decode(fromBase64url(part))));
    return { header, claims };
  } catch {
    return undefined;
  }
}

// JWS algorithms (RFC 7518 section 3.1, RFC 8037): for the key, for the signature, and the hash of at_hash.
const ALGORITHMS = {
  RS256: { key: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, use: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  PS256: { key: { name: "RSA-PSS", hash: "SHA-256" }, use: { name: "RSA-PSS", saltLength: 32 }, hash: "SHA-256" },
  ES256: { key: { name: "ECDSA", namedCurve: "P-256" }, use: { name: "ECDSA", hash: "SHA-256" }, hash: "SHA-256" },
  EdDSA: { key: "Ed25519", use: "Ed25519", hash: "SHA-512" },
};

/** Validates an ID token (OpenID Connect Core 1.0 section 3.1.3.7) and answers with its parts and the checks. */
export async function verifyIdToken(token, { metadata, clientId, nonce, accessToken, subject, wires }) {
  const refuse = (description) => { throw new Failure("invalid_id_token", description, wires); };
  const parts = decode(token) ?? refuse("The ID token is not a JWT.");
  const { header, claims } = parts;
  const algorithm = Object.hasOwn(ALGORITHMS, header.alg) ? ALGORITHMS[header.alg] : refuse(`The ID token is signed with ${header.alg}, which is not accepted here.`);
  if (!(await signed(token, header, algorithm, metadata, wires))) refuse("The signature of the ID token does not verify.");
  const checks = [`signature verifies (${header.alg}, key ${header.kid})`];
  if (claims.iss !== metadata.issuer) refuse(`iss is ${claims.iss}, not ${metadata.issuer}.`);
  checks.push("iss is the issuer");
  const audience = [claims.aud].flat();
  if (!audience.includes(clientId)) refuse("aud does not name this client.");
  if (audience.length > 1 && claims.azp !== clientId) refuse("The token has several audiences and azp is not this client.");
  checks.push("aud names this client");
  // A minute for clocks that differ.
  if (!(claims.exp > Date.now() / 1000 - 60)) refuse("The ID token has expired.");
  checks.push("exp lies ahead");
  if (nonce !== undefined) {
    if (claims.nonce !== nonce) refuse("nonce is not the one that this tab sent.");
    checks.push("nonce is the one this tab sent");
  }
  if (claims.at_hash !== undefined) {
    const digest = await crypto.subtle.digest(algorithm.hash, encoder.encode(accessToken));
    if (claims.at_hash !== base64url(digest.slice(0, digest.byteLength / 2))) refuse("at_hash does not fit the access token.");
    checks.push("at_hash fits the access token");
  }
  if (subject !== undefined) {
    // OpenID Connect Core 1.0 section 12.2: a renewed ID token names the same user.
    if (claims.sub !== subject) refuse("The new ID token names another user.");
    checks.push("sub is the same user");
  }
  return { ...parts, checks };
}

async function signed(token, header, algorithm, metadata, wires) {
  const { keys } = await send("GET", metadata.jwks_uri, { wires });
  const jwk = keys.find((key) => key.kid === header.kid && (key.use ?? "sig") === "sig");
  if (!jwk) throw new Failure("invalid_id_token", `The provider publishes no key ${header.kid}.`, wires);
  const { kty, n, e, crv, x, y } = jwk;
  const key = await crypto.subtle.importKey("jwk", { kty, n, e, crv, x, y }, algorithm.key, false, ["verify"]);
  const end = token.lastIndexOf(".");
  return crypto.subtle.verify(algorithm.use, key, fromBase64url(token.slice(end + 1)), encoder.encode(token.slice(0, end)));
}

/** Asks for an answer without a page (prompt=none) in a hidden frame; resolves to the response's query. */
export function silently(url, timeoutMilliseconds = 10_000) {
  const frame = document.createElement("iframe");
  frame.hidden = true;
  frame.title = "Silent renewal";
  return new Promise((resolve, reject) => {
    const finish = (settle, value) => {
      clearTimeout(timer);
      removeEventListener("message", listen);
      frame.remove();
      settle(value);
    };
    const listen = (event) => {
      const ours = event.origin === location.origin && event.source === frame.contentWindow;
      if (ours && event.data?.type === "symbolon-silent-callback") finish(resolve, event.data.search);
    };
    const timer = setTimeout(() => finish(reject, new Failure("timeout", "The frame did not come back. Is the redirect URI of the frame registered?")), timeoutMilliseconds);
    addEventListener("message", listen);
    frame.src = url;
    document.body.append(frame);
  });
}
