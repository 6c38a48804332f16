// Second factors in headless Chromium: a generator of codes (RFC 6238) set up on the account page and on the way to an application,
// asked for at sign-in, remembered; recovery codes; a new password with one; and a passkey as the second factor.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { authorizationUrl, change, serve, set, somebody } from "../pages/application.js";
import { withFingerprint } from "../pages/device.js";
import { visits } from "../pages/look.js";
import { linkIn } from "../pages/mailbox.js";
import { start } from "../pages/own-provider.js";
import { fill, isIn, isRefused, signIn, submit, totp } from "../pages/visitor.js";

// Of its codes each is taken once, and none that is older than one that was.
const UNTIL_THE_NEXT_CODE = 60;

let browser;
let provider;
let site;
let stop;
// An application that needs two factors.
let careful;
before(async () => {
  ({ browser, provider, site, stop } = await start());
  careful = await serve(provider);
  await change(`/clients/${careful.client.client_id}`, { settings: { second_factor: "required" } }, provider);
});
after(async () => {
  careful?.close();
  await stop?.();
});

const scene = { browser: () => browser, provider: () => provider };
const told = [400, 403];

/** Types the code that the generator shows at the provider's time. */
async function confirm(page, secret) {
  await page.fill("#code", totp(secret, provider.now()));
  await submit(page, "#confirm");
}

/** The codes on the page that shows them once. */
async function codesOn(page) {
  await page.waitForSelector("#recovery-codes code");
  return page.locator("#recovery-codes code").allTextContents();
}

/** Sets a generator up on the account page. */
async function setUp(page, user) {
  await page.goto(`${provider.base_url}/account/security`);
  await signIn(page, user);
  await page.click("#set-up-generator");
  const secret = await page.locator("#secret").textContent();
  await confirm(page, secret);
  const codes = await codesOn(page);
  await provider.pass(UNTIL_THE_NEXT_CODE);
  return { secret, codes };
}

/** To the page that asks for the second factor. */
async function atSecond(page, user) {
  await page.goto(authorizationUrl(site, { prompt: "login" }));
  await signIn(page, user);
  await page.waitForSelector("form#second-factor");
}

visits(
  "a generator is set up on the account page and asked for at sign-in",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const user = await somebody("generator", locale, provider);
    await page.goto(`${provider.base_url}/account/security`);
    await signIn(page, user);
    await page.click("#set-up-generator");
    const secret = await page.locator("#secret").textContent();
    await page.fill("#code", "000000");
    await isRefused(page, "#confirm");
    await seeAgain("account-generator-refused");
    assert.equal(await page.locator("#secret").textContent(), secret, "the QR code is still right");
    await confirm(page, secret);
    assert.equal((await codesOn(page)).length, 10);
    await see("recovery-codes");
    await page.click("#continue");
    await page.waitForSelector("#codes-left");
    assert.equal(await page.textContent("#codes-left"), "10");
    await see("account-security-with-generator");
    await provider.pass(UNTIL_THE_NEXT_CODE);

    await atSecond(page, user);
    await see("second-factor");
    await page.fill("#code", "000000");
    await isRefused(page, "#confirm");
    await seeAgain("second-factor-refused");
    await confirm(page, secret);
    await isIn(page);
  },
  { told },
);

/** Signs in with recovery codes, of which each counts once, and replaces them. */
async function useCodes({ page, seeAgain }, user, codes) {
  await atSecond(page, user);
  await page.fill("#code", codes[0]);
  await page.click("#confirm");
  await isIn(page);
  await atSecond(page, user);
  await page.fill("#code", codes[0]);
  await isRefused(page, "#confirm");
  await page.fill("#code", codes[1]);
  await page.click("#confirm");
  await isIn(page);

  await page.goto(`${provider.base_url}/account/security`);
  assert.equal(await page.textContent("#codes-left"), "8");
  await page.click("#new-codes");
  const [fresh] = await codesOn(page);
  await seeAgain("recovery-codes-anew");
  await atSecond(page, user);
  await page.fill("#code", codes[2]);
  await isRefused(page, "#confirm");
  await page.fill("#code", fresh);
  await page.click("#confirm");
  await isIn(page);
}

/** Sets a password in place of a forgotten one, which needs the second factor too. */
async function reset({ page, see, seeAgain }, { email }, { secret, password }) {
  await page.goto(`${provider.base_url}/forgot-password`);
  await page.fill("#username", email);
  await page.click("#send");
  await page.waitForSelector("#notice");
  await page.goto(await provider.mailTo(email, linkIn));
  await page.waitForSelector("form#reset-password #code");
  await see("reset-password-with-code");
  await page.fill("#password", password);
  await page.fill("#code", "000000");
  await isRefused(page, "#set");
  await seeAgain("reset-password-code-refused");
  await page.fill("#password", password);
  await page.fill("#code", totp(secret, provider.now()));
  await page.click("#set");
  await page.waitForSelector("#onward");
  await provider.pass(UNTIL_THE_NEXT_CODE);
}

/** Signs in in a browser that is remembered and not asked again. */
async function beRemembered({ page, see }, user, secret) {
  await set({ remember_device_days: 30 }, provider);
  try {
    await atSecond(page, user);
    await see("second-factor-remember");
    await page.check("#remember");
    await confirm(page, secret);
    await isIn(page);
    await page.goto(authorizationUrl(site, { prompt: "login" }));
    await signIn(page, user);
    assert.equal(await page.locator("form#second-factor").count(), 0);
    await isIn(page);
  } finally {
    await set({ remember_device_days: null }, provider);
  }
}

visits(
  "recovery codes sign in once and are replaced, a forgotten password needs the second factor too, and a browser is remembered",
  scene,
  async (visit) => {
    const user = await somebody("factors", visit.locale, provider);
    const { secret, codes } = await setUp(visit.page, user);
    await useCodes(visit, user, codes);
    const password = "another one with something beside it";
    await reset(visit, user, { secret, password });
    await beRemembered(visit, { ...user, password }, secret);
  },
  { told },
);

visits(
  "an application that needs two factors has a generator set up on the way",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const user = await somebody("way", locale, provider);
    await page.goto(authorizationUrl(careful));
    await signIn(page, user);
    await page.waitForSelector("#secret");
    await see("second-factor-setup");
    const secret = await page.locator("#secret").textContent();
    await page.fill("#code", "000000");
    await isRefused(page, "#confirm");
    await confirm(page, secret);
    assert.equal((await codesOn(page)).length, 10);
    await seeAgain("second-factor-recovery-codes");
    await page.click("#continue");
    await isIn(page);
  },
  { told },
);

visits(
  "a passkey is the second factor",
  scene,
  async ({ page, context, see, locale }) => {
    const user = await somebody("passkey", locale, provider);
    const device = await withFingerprint(context, page);
    await page.goto(`${provider.base_url}/account/security`);
    await signIn(page, user);
    await page.click("#add-passkey");
    await page.click("#add");
    await page.waitForSelector("#notice[role=status]");
    // With autofill the virtual device would answer at once.
    await device.presence(false);
    await page.goto(authorizationUrl(careful, { prompt: "login" }));
    await fill(page, user);
    // The sign-in page has such a button, too.
    await submit(page, "#sign-in");
    await page.waitForSelector("#use-passkey");
    assert.equal(await page.locator("form#login, #code").count(), 0);
    await see("second-factor-passkey");
    await device.presence(true);
    await page.click("#use-passkey");
    await isIn(page);
  },
  { told, needs: "scripts" },
);
