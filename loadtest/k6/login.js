// A full login by password: GET /authorize in a browser without cookies, the login page, its form with the CSRF token,
// back to the authorization endpoint, the code, POST /token. One iteration; its latency is that of all answers together.

import { expectEqual, expectStatus, expectTokens, tokenAnswer } from "./lib/answer.js";
import { authorization, codeOf, redemption } from "./lib/authorize.js";
import { encoded, get, post, postAsClient } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { loginForm } from "./lib/page.js";
import { client, password, pick, users } from "./lib/seed.js";
import { summary } from "./lib/summary.js";
import { Wrong } from "./lib/wrong.js";

// More answers than this before the code are a circle.
const MAX_STEPS = 12;
const FORM = "application/x-www-form-urlencoded";

// A browser's cookies, sent back as they came: over plain HTTP too, where k6 keeps `Secure` ones to itself.
class Browser {
  constructor(at) {
    this.at = at;
    this.cookies = {};
  }

  go(reference) {
    this.at = this.resolve(reference);
    return this.keep(get(this.at, this.fields()));
  }

  submit(reference, form) {
    this.at = this.resolve(reference);
    return this.keep(post(this.at, encoded(form), { ...this.fields(), "Content-Type": FORM }));
  }

  fields() {
    const pairs = Object.entries(this.cookies).map(([name, value]) => `${name}=${value}`);
    return pairs.length > 0 ? { Cookie: pairs.join("; ") } : {};
  }

  // RFC 6265 5.3, as far as a login needs it.
  keep(response) {
    for (const [name, [{ value, max_age: maxAge }]] of Object.entries(response.cookies)) {
      if (value === "" || maxAge < 0) delete this.cookies[name];
      else this.cookies[name] = value;
    }
    return response;
  }

  // At the provider, whatever host the reference names.
  resolve(reference) {
    const [, origin, path] = this.at.match(/^(https?:\/\/[^/]+)([^?]*)/);
    const local = reference.replace(/^https?:\/\/[^/]+/, "");
    if (local === "") return this.at;
    if (local.startsWith("/")) return origin + local;
    if (local.startsWith("?")) return origin + path + local;
    return `${origin}${path.slice(0, path.lastIndexOf("/") + 1)}${local}`;
  }
}

// What follows an answer: `{ go }`, `{ submit, form }` or `{ code }`.
function follow(response, { user, state, submitted }) {
  const { status } = response;
  if (status === 302 || status === 303) {
    const location = response.headers.Location;
    if (!location) throw new Wrong("location", "missing");
    if (!location.startsWith(client.redirect_uri)) return { go: location };
    const code = codeOf(location, state);
    if (!submitted) throw new Wrong("no_login", "a code without a login");
    return { code };
  }
  const form = loginForm(response.body || "");
  if (submitted && [200, 401, 403].includes(status)) {
    // The same page again is a refusal; another one asks for more than a password.
    throw new Wrong(form ? "login_refused" : "page", `${status}`);
  }
  expectStatus(response, 200);
  if (!form) throw new Wrong("page", "no form for a password");
  const fields = { ...form.hidden, [form.username]: user.username, [form.password]: password };
  return { submit: form.action || "", form: fields };
}

function obtainCode(target, user) {
  const { verifier, state, query } = authorization({});
  const browser = new Browser(target.authorization);
  let response = browser.go(`?${query}`);
  let submitted = false;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const next = follow(response, { user, state, submitted });
    if (next.code) return { code: next.code, verifier, state };
    if (next.form) {
      submitted = true;
      response = browser.submit(next.submit, next.form);
    } else {
      response = browser.go(next.go);
    }
  }
  throw new Wrong("circle", `no code after ${MAX_STEPS} answers`);
}

function login(target) {
  const user = pick(users);
  const { code, verifier, state } = obtainCode(target, user);
  const idToken = expectTokens(tokenAnswer(postAsClient(target.token, redemption(code, verifier))), user.id);
  // OpenID Connect Core 1.0, 2: the request's nonce, unmodified.
  expectEqual("nonce", idToken.nonce, state);
}

export { options };
export const setup = () => prepare(["authorization_endpoint", "token_endpoint"], { users });
export default (target) => visit(() => login(target));
export const handleSummary = (data) => summary("login", data);
