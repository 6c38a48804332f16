// The passkeys of a person on the account pages, in headless Chromium; and what the page says without JavaScript.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fixtures } from "./application.js";
import { withFingerprint } from "./device.js";
import { eventually } from "./patience.js";
import { fill, launch, openContext } from "./visitor.js";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** A browser of its own, signed in on the way to the account. */
async function signedIn(run, options = {}) {
  const context = await openContext(browser, options);
  const blocked = [];
  try {
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && blocked.push(message.text()));
    await page.goto(`${fixtures.base_url}/account`);
    await fill(page, fixtures.user);
    await page.click("#sign-in");
    await page.waitForSelector("#places");
    await run(page, context);
    assert.deepEqual(blocked, [], "nothing was blocked by the policy");
  } finally {
    await context.close();
  }
}

test("a passkey is added, renamed and removed, also from the browser's list", () =>
  signedIn(async (page, context) => {
    const device = await withFingerprint(context, page);
    await page.goto(`${fixtures.base_url}/account/security`);
    await page.click("#add-passkey");
    assert.equal(await page.isVisible("#passkey-unsupported"), false);
    await page.fill("#name", "Laptop");
    await page.click("#add");
    await page.waitForSelector("#notice[role=status]");
    assert.equal(await page.inputValue(".entry-form input[name=name]"), "Laptop");
    assert.equal((await device.credentials()).length, 1);
    await page.click("#add-passkey");
    await page.click("#add");
    await page.waitForSelector("#passkey-exists:not([hidden])");
    await page.click("#cancel");
    await page.fill(".entry-form input[name=name]", "Old laptop");
    await page.click(".entry-form button[name=rename]");
    await page.waitForSelector("#notice[role=status]");
    assert.equal(await page.inputValue(".entry-form input[name=name]"), "Old laptop");
    await page.click(".entry-form button[name=remove]");
    await page.waitForSelector("#notice[role=status]");
    assert.equal(await page.locator(".entry-form").count(), 0);
    if (await page.evaluate(() => "signalAllAcceptedCredentials" in PublicKeyCredential)) {
      await eventually("a browser that has forgotten it, too", async () => (await device.credentials()).length === 0);
    }
  }));

test("a passkey that was not made says so, and can be tried again", () =>
  signedIn(async (page, context) => {
    const device = await withFingerprint(context, page);
    await device.refuse();
    await page.goto(`${fixtures.base_url}/account/security/passkey`);
    await page.click("#add");
    await page.waitForSelector("#passkey-failed:not([hidden])");
    assert.equal(await page.isEnabled("#add"), true);
  }));

test("without scripts the page says what a passkey needs", () =>
  signedIn(
    async (page) => {
      await page.goto(`${fixtures.base_url}/account/security/passkey`);
      assert.equal(await page.isVisible("#passkey-unsupported"), true);
      assert.equal(await page.isEnabled("#add"), false);
      await page.click("#cancel");
      await page.waitForSelector("#passkeys");
    },
    { javaScriptEnabled: false },
  ));
