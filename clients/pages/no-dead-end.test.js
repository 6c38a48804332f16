// The provider's pages in headless Chromium, as people use them: Back, bookmarks, a reload, a second tab, another browser, with and
// without JavaScript. All of it ends at the application.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { authorizationUrl, fixtures, serve } from "./application.js";
import * as visitor from "./visitor.js";
import { launch, outcome } from "./visitor.js";

let browser;
let site;
before(async () => {
  [browser, site] = [await launch(), await serve()];
});
after(async () => {
  await browser?.close();
  site?.close();
});

const visiting = (run, options) => visitor.visiting(browser, fixtures, run, options);
const fill = (page) => visitor.fill(page, fixtures.user);

/** To the login page. */
const atLogin = (page, more) => page.goto(authorizationUrl(site, more));

/** To the consent page. */
async function atConsent(page) {
  await atLogin(page, { prompt: "consent" });
  await fill(page);
  await page.click("#sign-in");
  await page.waitForSelector("form#consent");
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with JavaScript" : "without JavaScript";
  test(`Back, a bookmark, a reload and a second tab lead on, ${how}`, () =>
    visiting(
      async (page, context) => {
        await atLogin(page);
        const bookmark = page.url();
        const second = await context.newPage();
        await second.goto(authorizationUrl(site));
        await fill(page);
        await page.click("#sign-in");
        await page.waitForSelector("form#consent, #outcome");
        if (await page.$("form#consent")) await page.click("#allow");
        assert.equal(await outcome(page), "signed-in");
        // The tab that was left at the login page.
        await second.reload();
        assert.equal(await outcome(second), "signed-in");
        await page.goBack();
        await page.waitForSelector("#outcome, form#consent");
        await page.goto(bookmark);
        assert.equal(await outcome(page), "signed-in");
      },
      { javaScriptEnabled },
    ));
}

test("a bookmark in another browser begins anew", () =>
  visiting(async (page) => {
    await atLogin(page);
    const bookmark = page.url();
    await visiting(async (other) => {
      await other.goto(bookmark);
      await fill(other);
      await other.click("#sign-in");
      await other.waitForSelector("form#consent, #outcome");
      if (await other.$("form#consent")) await other.click("#allow");
      assert.equal(await outcome(other), "signed-in");
    });
  }));

test("somebody else signs in from the consent page", () =>
  visiting(async (page) => {
    await atConsent(page);
    await page.click("#not-you");
    await page.waitForSelector("form#login");
    await fill(page);
    await page.click("#sign-in");
    await page.waitForSelector("form#consent");
    await page.click("#deny");
    assert.equal(await outcome(page), "access_denied");
  }));
