// Which ways the sign-in page offers, in headless Chromium: the name first, a passkey alone, mail alone; a passkey that is offered and
// not wanted now; and one that the provider has forgotten.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { authorizationUrl, remove, set, somebody } from "../pages/application.js";
import { withFingerprint } from "../pages/device.js";
import { visits } from "../pages/look.js";
import { codeIn } from "../pages/mailbox.js";
import { start } from "../pages/own-provider.js";
import { eventually } from "../pages/patience.js";
import { fill, isIn, signIn } from "../pages/visitor.js";

let browser;
let provider;
let site;
let stop;
before(async () => {
  ({ browser, provider, site, stop } = await start());
});
after(() => stop?.());

const scene = { browser: () => browser, provider: () => provider };
const told = [400, 403];
const atLogin = (page) => page.goto(authorizationUrl(site, { prompt: "login" }));

/** Signs in with a code that is sent from the page. */
async function byMailedCode(page, { email }) {
  await page.click("#send-code");
  await page.waitForSelector("form#email-code");
  await page.fill("#code", await provider.mailTo(email, codeIn));
  await page.click("#confirm");
  await isIn(page);
}

/** Adds a passkey on the account page, and not on that which offers one after the password. */
async function addPasskey(page, user, see = () => {}) {
  await page.goto(`${provider.base_url}/account/security`);
  await fill(page, user);
  // One is offered where the sign-in page has learnt that the browser can make one.
  await page.waitForSelector("input[name=creates_passkeys][value=true]", { state: "attached" });
  await page.click("#sign-in");
  await page.waitForSelector("#later");
  await see("passkey-offer");
  await page.click("#later");
  await page.click("#add-passkey");
  await page.click("#add");
  await page.waitForSelector("#notice[role=status]");
}

visits(
  "the name comes first, and each way after it",
  scene,
  async ({ page, see, locale }) => {
    const user = await somebody("first", locale, provider);
    await set({ sign_in_methods: ["password", "email_code", "passkey"], sign_in_page: "identifier_first" }, provider);
    await atLogin(page);
    assert.equal(await page.locator("#password").count(), 0);
    await see("identifier");
    await page.fill("#username", user.email);
    await page.click("#next");
    await page.waitForSelector("#password");
    assert.equal(await page.inputValue("#username"), user.email);
    await see("identifier-ways");
    await page.fill("#password", "a wrong password");
    await page.click("#sign-in");
    await page.waitForSelector("#login-error");
    await see("identifier-refused");
    await page.fill("#password", user.password);
    await page.click("#sign-in");
    await isIn(page);

    await atLogin(page);
    await page.fill("#username", "somebody else");
    await page.click("#next");
    await page.click("#other-name");
    await page.fill("#username", user.email);
    await page.click("#next");
    await byMailedCode(page, user);
  },
  { told },
);

visits(
  "mail is the only way",
  scene,
  async ({ page, see, locale }) => {
    const user = await somebody("mail", locale, provider);
    await set({ sign_in_methods: ["email_code", "magic_link"], sign_in_page: null }, provider);
    await atLogin(page);
    assert.equal(await page.locator("#password").count(), 0);
    await see("sign-in-by-mail");
    await page.fill("#username", user.email);
    await byMailedCode(page, user);
  },
  { told },
);

visits(
  "a passkey is the only way, and says what it needs",
  scene,
  async ({ page, context, see, locale, hasScripts }) => {
    await set({ sign_in_methods: null, sign_in_page: null }, provider);
    const user = await somebody("passkey", locale, provider);
    const device = hasScripts ? await withFingerprint(context, page) : null;
    if (device) await addPasskey(page, user);
    await set({ sign_in_methods: ["passkey"] }, provider);
    // The virtual device takes what autofill offers without anybody's touch.
    await device?.presence(false);
    await atLogin(page);
    assert.equal(await page.locator("#username").count(), 0);
    await see("sign-in-by-passkey");
    assert.equal(await page.locator("#use-passkey").isVisible(), hasScripts);
    assert.equal(await page.locator("noscript p").isVisible(), !hasScripts);
    if (!device) return;
    await device.presence(true);
    await page.click("#use-passkey");
    await isIn(page);
  },
  { told },
);

visits(
  "a passkey that the provider has forgotten is forgotten by the browser, too",
  scene,
  async ({ page, context, see, locale }) => {
    await set({ sign_in_methods: ["password", "passkey"], sign_in_page: null }, provider);
    const user = await somebody("forgotten", locale, provider);
    const device = await withFingerprint(context, page);
    await addPasskey(page, user, see);
    await device.presence(false);
    await remove(`/users/${user.id}/authenticators`, provider);
    assert.equal((await device.credentials()).length, 1);
    await atLogin(page);
    await device.presence(true);
    await page.click("#use-passkey");
    await page.waitForSelector("#login-error");
    await see("sign-in-passkey-unknown");
    // PublicKeyCredential.signalUnknownCredential (WebAuthn Level 3, 5.1.10.2).
    await eventually("a device that has forgotten the passkey", async () => (await device.credentials()).length === 0);
    await signIn(page, user);
    await isIn(page);
  },
  { told, needs: "scripts" },
);
