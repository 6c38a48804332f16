// A passkey on the provider's pages in headless Chromium, with its virtual authenticator (WebAuthn): created after a password, and used
// on the sign-in page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { authorizationUrl, fixtures, serve } from "./application.js";
import { withFingerprint } from "./device.js";
import { fill, launch, openContext, outcome } from "./visitor.js";

let browser;
let site;
before(async () => {
  [browser, site] = [await launch(), await serve()];
});
after(async () => {
  await browser?.close();
  site?.close();
});

const atLogin = (page, more) => page.goto(authorizationUrl(site, more));

/** A browser with an authenticator of its own; what it reports is an error of the page's script or policy. */
async function visiting(run) {
  const context = await openContext(browser);
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

async function toTheApplication(page) {
  await page.waitForSelector("form#consent, #outcome");
  if (await page.$("form#consent")) await page.click("#allow");
  return outcome(page);
}

test("a passkey is created after a password and signs in", () =>
  visiting(async (page, { credentials, presence }) => {
    await atLogin(page);
    await page.waitForSelector("#use-passkey");
    await fill(page, fixtures.user);
    await page.click("#sign-in");
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
