// The page half of the walk-through: buttons, cards, and what is kept in this tab.
import { Failure, authorizationRequest, authorizationResponse, decode, discover, redeem, send, silently, verifyIdToken, withQuery } from "./oidc.js";

const config = document.body.dataset;
const $ = (id) => document.getElementById(id);
const issuerOrigin = new URL(config.issuer).origin;
const ownSite = issuerOrigin === location.origin;

// ---- What this tab keeps: nothing outside sessionStorage -------------------------------------------------------

const kept = {
  read: (name) => JSON.parse(sessionStorage.getItem(`symbolon.${name}`)),
  write: (name, value) => sessionStorage.setItem(`symbolon.${name}`, JSON.stringify(value)),
  take(name) {
    const value = this.read(name);
    sessionStorage.removeItem(`symbolon.${name}`);
    return value;
  },
};

// ---- Drawing: text goes in as text, never as markup ------------------------------------------------------------

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

const TIMES = new Set(["exp", "iat", "nbf", "auth_time", "updated_at"]);
const time = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A long token by its two ends; whole tokens are shown beside their claims. */
function shorten(text) {
  return text.length > 160 && !text.includes(" ") ? `${text.slice(0, 64)}\u2026${text.slice(-24)}` : text;
}

function json(value) {
  const pre = element("pre", { className: "json" });
  if (typeof value === "string") {
    pre.textContent = value;
    return pre;
  }
  const text = JSON.stringify(value, null, 2);
  let end = 0;
  let name;
  for (const match of text.matchAll(/("(?:\\.|[^"\\])*")(:)?|-?\d[\d.eE+-]*|true|false|null/g)) {
    const [whole, string, colon] = match;
    pre.append(text.slice(end, match.index));
    end = match.index + whole.length;
    const span = element("span", { className: colon ? "key" : string ? "text" : "other", textContent: shorten(string ?? whole) });
    pre.append(span, colon ?? "");
    if (colon) name = JSON.parse(string);
    if (string || !TIMES.has(name)) continue;
    const comma = text[end] === "," ? "," : "";
    end += comma.length;
    const note = element("span");
    note.dataset.note = time.format(new Date(Number(whole) * 1000));
    pre.append(comma, note);
  }
  pre.append(text.slice(end));
  pre.dataset.json = JSON.stringify(value);
  return pre;
}

function part(title, ...content) {
  return element("div", { className: "part" }, element("p", { className: "part-title", textContent: title }), ...content);
}

function token(value) {
  const parts = decode(value);
  if (!parts) return [part("Opaque token", json(value))];
  const encoded = element("details", { className: "wire" }, element("summary", { textContent: "Encoded" }), element("div", { className: "wire-body" }, element("code", { textContent: value })));
  return [part("Header", json(parts.header)), part("Claims", json(parts.claims)), encoded];
}

const MEANINGS = {
  response_type: "Answer with a code, not with tokens.",
  state: "Ties the answer to this tab.",
  nonce: "Comes back inside the ID token.",
  code_challenge: "SHA-256 of a secret that stays here.",
  code_verifier: "The secret itself: the matching half.",
  code: "Good once, for a minute.",
  iss: "Who answers (RFC 9207).",
  prompt: "Show no page, whatever happens.",
};

function pairs(entries) {
  const list = element("dl", { className: "pairs" });
  for (const [name, value] of entries) {
    const meaning = MEANINGS[name] ? [element("small", { textContent: MEANINGS[name] })] : [];
    list.append(element("dt", { textContent: name }), element("dd", {}, shorten(value), ...meaning));
  }
  return list;
}

function wire({ method, url, parameters, headers, status, response, navigation }, open = false) {
  const state = element("span", { className: "wire-status", textContent: status ?? (navigation ? "navigation" : "no answer") });
  state.dataset.ok = String(navigation || (status >= 200 && status < 300));
  const summary = element("summary", {}, element("span", { className: "method", textContent: method }), element("span", { textContent: url }), state);
  const body = element("div", { className: "wire-body" });
  if (headers) body.append(part("Headers", pairs(headers)));
  if (parameters.length) body.append(part(method === "POST" ? "Form" : "Query", pairs(parameters)));
  if (response !== undefined) body.append(part("Answer", json(response)));
  return element("details", { className: "wire", open }, summary, body);
}

function listChecks(id, checks) {
  $(id).replaceChildren(...checks.map((check) => element("li", { textContent: check })));
}

function result(id, outcome, ...content) {
  $(id).dataset.outcome = outcome;
  $(id).replaceChildren(...content);
}

const said = (text) => element("p", { className: "said", textContent: text });

// ---- The state of the page -------------------------------------------------------------------------------------

const STEPS = ["start", "authorize", "tokens", "use", "done"];

function enter(state, step) {
  config.state = state;
  const signedIn = state === "signed-in";
  for (const id of ["step-tokens", "step-use", "step-sign-out"]) $(id).hidden = !signedIn;
  $("sign-in").disabled = state === "signing-in";
  $("sign-in").textContent = signedIn ? "Sign in again" : "Sign in";
  $("sign-in").className = signedIn ? "button button-plain" : "button button-primary";
  for (const item of $("progress").children) {
    const name = item.dataset.progress;
    item.toggleAttribute("data-done", STEPS.indexOf(name) < STEPS.indexOf(step));
    if (name === step) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
}

function failed(error) {
  const code = error instanceof Failure ? error.code : "unexpected_error";
  enter("error", "start");
  $("error").dataset.code = code;
  $("error").replaceChildren(element("strong", { textContent: code }), `: ${error.message} `);
  $("error").hidden = false;
  if (error.wires?.length) drawAuthorize(error.wires, []);
  $("error").focus();
}

function drawAuthorize(wires, checks) {
  $("step-authorize").hidden = false;
  $("wire-authorize").replaceChildren(...wires.map((each) => wire(each, each.navigation)));
  listChecks("checks-authorize", checks);
}

function drawTokens(session) {
  result("result-id-token", "ok", ...token(session.tokens.id_token));
  result("result-access-token", "ok", ...token(session.tokens.access_token));
  $("refresh").disabled = !session.tokens.refresh_token;
  if (!session.tokens.refresh_token) $("refresh-text").textContent = "No refresh token was issued: the client or the scope does not ask for one.";
}

function drawSession(session) {
  enter("signed-in", "use");
  drawAuthorize(session.authorize.wires, session.authorize.checks);
  $("wire-token").replaceChildren(...session.token.wires.map((each) => wire(each, each.method === "POST")));
  listChecks("checks-id-token", session.token.checks);
  drawTokens(session);
  const claims = decode(session.tokens.id_token)?.claims;
  $("status").textContent = `Signed in as ${claims?.name ?? claims?.preferred_username ?? session.subject}.`;
}

/** Takes new tokens into the session; those that an answer leaves out live on. */
function adopt(session, tokens) {
  session.tokens = { ...session.tokens, ...tokens };
  kept.write("session", session);
  drawTokens(session);
}

// ---- The login -------------------------------------------------------------------------------------------------

async function signIn() {
  $("error").hidden = true;
  $("status").textContent = "";
  enter("signing-in", "authorize");
  const wires = [];
  const metadata = await discover(config.issuer, wires);
  const request = await authorizationRequest(metadata, { clientId: config.clientId, redirectUri: `${location.origin}/callback`, scope: config.scope });
  kept.write("login", { ...request.transaction, metadata, wires: [...wires, request.wire] });
  location.assign(request.url);
}

/** Redeems a code and believes the ID token only after its checks. */
async function receive(metadata, code, transaction, { wires, subject }) {
  const tokens = await redeem(metadata, config.clientId, code, transaction, wires);
  const expected = { metadata, clientId: config.clientId, nonce: transaction.nonce, accessToken: tokens.access_token, subject, wires };
  return [tokens, await verifyIdToken(tokens.id_token ?? "", expected)];
}

async function callback(search) {
  enter("signing-in", "tokens");
  const login = kept.take("login");
  if (!login) throw new Failure("invalid_state", "This tab has not asked for a login, or the answer was used already.");
  const { metadata } = login;
  const authorize = { wires: login.wires };
  const { code, checks } = authorizationResponse(search, login, metadata, authorize.wires);
  authorize.checks = checks;
  drawAuthorize(authorize.wires, checks);
  const wires = [];
  const [tokens, idToken] = await receive(metadata, code, login, { wires }).catch((error) => {
    error.wires = [...authorize.wires, ...wires];
    throw error;
  });
  const session = { metadata, subject: idToken.claims.sub, authorize, token: { wires, checks: idToken.checks }, tokens };
  kept.write("session", session);
  drawSession(session);
}

// ---- What can be done with the tokens --------------------------------------------------------------------------

async function userInfo(session, wires) {
  const claims = await send("GET", session.metadata.userinfo_endpoint, { bearer: session.tokens.access_token, wires });
  // OpenID Connect Core 1.0 section 5.3.2: claims about another user must not be used.
  if (claims.sub !== session.subject) throw new Failure("invalid_userinfo", "UserInfo names another user than the ID token.", wires);
  return [json(claims)];
}

async function renewSilently(session, wires) {
  const { metadata } = session;
  const scope = config.scope.split(" ").filter((name) => name !== "offline_access").join(" ");
  const request = await authorizationRequest(metadata, { clientId: config.clientId, redirectUri: `${location.origin}/callback/silent`, scope, prompt: "none" });
  wires.push(request.wire);
  const search = await silently(request.url);
  const { code } = authorizationResponse(search, request.transaction, metadata, wires);
  const [tokens, idToken] = await receive(metadata, code, request.transaction, { wires, subject: session.subject });
  adopt(session, tokens);
  return [said("Renewed, and nobody saw a page."), part("Claims of the new ID token", json(idToken.claims))];
}

async function refresh(session, wires) {
  const form = [["grant_type", "refresh_token"], ["client_id", config.clientId], ["refresh_token", session.tokens.refresh_token]];
  const tokens = await send("POST", session.metadata.token_endpoint, { form, wires });
  // Keep the successor before anything else can fail: the old token is used up.
  adopt(session, tokens);
  if (tokens.id_token) await verifyIdToken(tokens.id_token, { metadata: session.metadata, clientId: config.clientId, accessToken: tokens.access_token, subject: session.subject, wires });
  const rotated = tokens.refresh_token ? "New access token; the refresh token was replaced by its successor." : "New access token.";
  return [said(rotated), ...token(tokens.access_token)];
}

async function exchange(session, wires) {
  const answer = await send("POST", new URL(config.exchangePath, location.origin).href, { form: [["subject_token", session.tokens.access_token]], wires });
  const actor = decode(answer.access_token ?? "")?.claims.act?.sub;
  const line = actor ? `${actor} may now act for you.` : "Exchanged.";
  return [said(line), ...token(answer.access_token ?? "")];
}

function explain(error) {
  if (error.code !== "login_required") return error.message;
  return ownSite
    ? "The provider has no session for this browser any more, so it would have to ask. Sign in again."
    : "The provider saw no session. In a frame on another site the browser holds the session cookie back over plain HTTP, and over HTTPS where third-party cookies are blocked. An application then uses its refresh token.";
}

/** Runs one use of the tokens from its button, and shows requests, answer or error in its card. */
async function use(button, run) {
  const id = `result-${button.id}`;
  const session = kept.read("session");
  const wires = [];
  button.disabled = true;
  $(id).setAttribute("aria-busy", "true");
  try {
    const content = await run(session, wires);
    result(id, "ok", ...content, ...wires.map((each) => wire(each)));
  } catch (error) {
    const notice = element("div", { className: "notice notice-error" }, element("strong", { textContent: error.code ?? "unexpected_error" }), `: ${explain(error)}`);
    result(id, error.code ?? "unexpected_error", notice, ...wires.map((each) => wire(each)));
  } finally {
    $(id).removeAttribute("aria-busy");
    button.disabled = button.id === "refresh" && !kept.read("session").tokens.refresh_token;
  }
}

function signOut() {
  // RP-Initiated Logout 1.0 section 2: the relying party ends its own session first.
  const { metadata, tokens } = kept.take("session");
  const state = crypto.randomUUID();
  kept.write("logout", { state });
  location.assign(withQuery(metadata.end_session_endpoint, [
    ["id_token_hint", tokens.id_token],
    ["client_id", config.clientId],
    ["post_logout_redirect_uri", `${location.origin}/`],
    ["state", state],
  ]));
}

// ---- The start -------------------------------------------------------------------------------------------------

function describeSite() {
  const other = ownSite ? config.otherSite : issuerOrigin;
  $("origin").textContent = location.origin;
  $("site-kind").textContent = ownSite ? "the provider's own site" : "another site than the provider";
  $("other-site").href = `${other}/`;
  $("other-site").textContent = ownSite ? "Try it from another site" : "Back to the provider's own site";
}

async function start() {
  describeSite();
  const run = (promise) => promise.catch(failed);
  $("sign-in").addEventListener("click", () => run(signIn()));
  $("sign-out").addEventListener("click", signOut);
  const uses = { userinfo: userInfo, silent: renewSilently, refresh, exchange };
  for (const [id, each] of Object.entries(uses)) $(id).addEventListener("click", () => use($(id), each));
  // A page from the back-forward cache still believes that it is leaving.
  addEventListener("pageshow", (event) => event.persisted && location.reload());

  const { pathname, search } = location;
  // The code must not stay in the address bar or the history.
  if (pathname !== "/" || search) history.replaceState(null, "", "/");
  if (pathname === "/callback") return run(callback(search));
  const session = kept.read("session");
  if (session) return drawSession(session);
  enter("signed-out", "start");
  const logout = kept.take("logout");
  if (logout && new URLSearchParams(search).get("state") === logout.state) $("status").textContent = "You are signed out, here and at the provider.";
}

start();
