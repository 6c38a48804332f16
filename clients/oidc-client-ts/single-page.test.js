// npm oidc-client-ts in headless Chromium, on another origin than the provider: redirect, popup, hidden frame.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { fixtures, serve } from "./relying-party.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
const WAIT = 60_000;

let browser;
let site;
before(async () => {
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  site = await serve();
});
after(async () => {
  await browser?.close();
  site?.close();
});

/** A browser of its own, at the application's page. */
async function visiting(run) {
  const context = await browser.newContext();
  context.setDefaultTimeout(WAIT);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  try {
    await page.goto(site.origin);
    await run(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** Where the browser is sent for a code that nobody will redeem. */
function authorizationUrl(path, more = {}) {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: site.client.client_id,
    redirect_uri: `${site.origin}/${path}`,
    scope: "openid",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    ...more,
  });
  return `${fixtures.base_url}/authorize?${query}`;
}

/** Fills in the provider's login form. */
async function signInAt(page) {
  await page.waitForSelector("form#login");
  await page.fill("#username", fixtures.user.email);
  await page.fill("#password", fixtures.user.password);
  await page.click("form#login button[type=submit]");
}

/** Signs in in a window of its own, which is gone afterwards; answers with the user. */
async function signInByPopup(page) {
  const opened = page.waitForEvent("popup");
  const signedIn = page.evaluate(() => manager.signinPopup().then((user) => ({ ...user })));
  const popup = await opened;
  await popup.waitForSelector("form#login");
  assert.ok(await popup.evaluate(() => opener !== null), "the window still knows who opened it");
  await signInAt(popup);
  const user = await signedIn;
  if (!popup.isClosed()) await popup.waitForEvent("close");
  return user;
}

test("by redirect, with UserInfo", () =>
  visiting(async (page) => {
    await Promise.all([page.waitForURL(`${fixtures.base_url}/**`), page.evaluate(() => void manager.signinRedirect())]);
    await signInAt(page);
    await page.waitForURL(`${site.origin}/`);
    const user = await page.evaluate(() => manager.getUser().then((found) => ({ ...found })));
    assert.equal(user.profile.sub, fixtures.user.id);
    assert.equal(user.profile.email, fixtures.user.email);
    assert.equal(user.token_type, "Bearer");
  }));

test("by a callback that goes on to another origin", () =>
  visiting(async (page) => {
    await page.goto(authorizationUrl("hop"));
    await signInAt(page);
    await page.waitForURL(`${site.elsewhere}/landed`);
  }));

test("by a popup, which the page hears of", () =>
  visiting(async (page) => {
    const user = await signInByPopup(page);
    assert.equal(user.profile.sub, fixtures.user.id);
  }));

test("silently in a hidden frame", () =>
  visiting(async (page) => {
    const { profile, access_token: before } = await signInByPopup(page);
    const renewed = await page.evaluate(() => manager.signinSilent().then((user) => ({ ...user })));
    assert.equal(renewed.profile.sub, profile.sub);
    assert.notEqual(renewed.access_token, before);
  }));

test("silently without a session says so", () =>
  visiting(async (page) => {
    const error = await page.evaluate(() => manager.signinSilent().catch((refused) => refused.error));
    assert.equal(error, "login_required");
  }));

test("a silent answer by form_post arrives in a frame", () =>
  visiting(async (page) => {
    await signInByPopup(page);
    const silently = { response_mode: "form_post", prompt: "none", state: "framed" };
    const answer = await page.evaluate(async (source) => {
      const frame = document.createElement("iframe");
      const answered = new Promise((heard) => addEventListener("message", (event) => heard(event.data)));
      frame.src = source;
      document.body.append(frame);
      return Promise.race([answered, new Promise((gone) => setTimeout(gone, 10_000, "nothing"))]);
    }, authorizationUrl("posted", silently));
    assert.equal(answer.state, "framed");
    assert.equal(answer.iss, fixtures.issuer);
    assert.ok(answer.code);
  }));

test("with a refresh token, and its revocation", () =>
  visiting(async (page) => {
    await page.evaluate(() => {
      manager = new oidc.UserManager({ ...manager.settings, scope: "openid offline_access" });
    });
    const first = await signInByPopup(page);
    assert.ok(first.refresh_token);
    const renewed = await page.evaluate(() => manager.signinSilent().then((user) => ({ ...user })));
    assert.notEqual(renewed.refresh_token, first.refresh_token);
    await page.evaluate(() => manager.revokeTokens());
    const answer = await fetch(`${fixtures.base_url}/userinfo`, {
      headers: { authorization: `Bearer ${renewed.access_token}` },
    });
    assert.equal(answer.status, 401);
  }));

test("signing out in a popup ends the session", () =>
  visiting(async (page) => {
    await signInByPopup(page);
    const opened = page.waitForEvent("popup");
    await Promise.all([opened, page.evaluate(() => manager.signoutPopup())]);
    const error = await page.evaluate(() => manager.signinSilent().catch((refused) => refused.error));
    assert.equal(error, "login_required");
  }));
