// Passkeys on the provider's pages in headless Chromium, with its virtual authenticator (WebAuthn): created after a password,
// used on the login page, and gone where nobody has them any more.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { authorizationUrl, fixtures, serve } from "./application.js";
import { withFingerprint } from "./device.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

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

const outcome = (page) => page.locator("#outcome").textContent();
const atLogin = (page, more) => page.goto(authorizationUrl(site, more));

/** A browser with an authenticator of its own; what it reports is an error of the page's script or policy. */
async function visiting(run) {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  try {
    const page = await context.newPage();
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) complaints.push(message.text());
    });
    await run(page, await withFingerprint(context, page));
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

async function withPassword(page) {
  await page.fill("#username", fixtures.user.email);
  await page.fill("#password", fixtures.user.password);
  await page.click("#sign-in");
}

async function toTheApplication(page) {
  await page.waitForSelector("form#consent, #outcome");
  if (await page.$("form#consent")) await page.click("#allow");
  return outcome(page);
}

test("a passkey is created after a password and signs in", () =>
  visiting(async (page, { credentials, presence }) => {
    await atLogin(page);
    await page.waitForSelector("#use-passkey");
    await withPassword(page);
    await page.click("#create-passkey");
    assert.equal(await toTheApplication(page), "signed-in");
    assert.equal((await credentials()).length, 1);
    // The virtual authenticator takes what autofill offers without anybody's touch.
    await atLogin(page, { prompt: "login" });
    assert.equal(await toTheApplication(page), "signed-in");
    await presence(false);
    await atLogin(page, { prompt: "login" });
    await page.waitForSelector("#use-passkey");
    await presence(true);
    await page.click("#use-passkey");
    assert.equal(await toTheApplication(page), "signed-in");
  }));

test("not now leads on", () =>
  visiting(async (page) => {
    await atLogin(page, { prompt: "login" });
    await withPassword(page);
    await page.waitForSelector("#later, form#consent, #outcome");
    if (await page.$("#later")) await page.click("#later");
    assert.equal(await toTheApplication(page), "signed-in");
  }));

test("without scripts the password works and nothing of passkeys is shown", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await atLogin(page);
    assert.equal(await page.locator("#use-passkey").isVisible(), false);
    await withPassword(page);
    assert.equal(await toTheApplication(page), "signed-in");
  } finally {
    await context.close();
  }
});
