// The provider's pages in headless Chromium, as people use them: buttons pressed twice, Enter twice, Back, bookmarks,
// a second tab, with and without JavaScript. All of it ends at the application, signed in or refused as pressed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { authorizationUrl, fixtures, serve } from "./application.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const WAIT = 20_000;
const PAUSES = [50, 150, 300];

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

/** A browser of its own, which must never see an error of the provider's. */
async function visiting(run, { javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ javaScriptEnabled });
  context.setDefaultTimeout(WAIT);
  const errors = [];
  context.on("response", (response) => {
    const ours = response.url().startsWith(fixtures.base_url);
    if (ours && response.status() >= 400) errors.push(`${response.status()} ${response.url()}`);
  });
  try {
    await run(await context.newPage(), context);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

const outcome = (page) => page.locator("#outcome").textContent();

async function fill(page) {
  await page.fill("#username", fixtures.user.email);
  await page.fill("#password", fixtures.user.password);
}

/** To the login page. */
const atLogin = (page, more) => page.goto(authorizationUrl(site, more));

/** To the consent page. */
async function atConsent(page) {
  await atLogin(page, { prompt: "consent" });
  await fill(page);
  await page.click("#sign-in");
  await page.waitForSelector("form#consent");
}

/** To the page that asks whether to sign out. */
async function atLogout(page) {
  await atConsent(page);
  await page.goto(`${fixtures.base_url}/logout`);
  await page.waitForSelector("form#logout");
}

/** Presses a button twice, without waiting for what the first one leads to. */
async function pressTwice(page, button, pause) {
  const { x, y, width, height } = await page.locator(button).boundingBox();
  const at = [x + width / 2, y + height / 2];
  await page.mouse.click(...at);
  await new Promise((ready) => setTimeout(ready, pause));
  await page.mouse.click(...at);
}

const signedOut = (page) => page.waitForSelector("text=You are signed out");

const BUTTONS = [
  ["#cancel", atLogin, async (page) => assert.equal(await outcome(page), "access_denied")],
  ["#allow", atConsent, async (page) => assert.equal(await outcome(page), "signed-in")],
  ["#deny", atConsent, async (page) => assert.equal(await outcome(page), "access_denied")],
  ["#confirm", atLogout, signedOut],
];

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "with JavaScript" : "without JavaScript";
  for (const [button, reach, check] of BUTTONS) {
    for (const pause of PAUSES) {
      test(`${button} pressed twice, ${pause} ms apart, ${how}`, () =>
        visiting(
          async (page) => {
            await reach(page);
            await pressTwice(page, button, pause);
            await check(page);
          },
          { javaScriptEnabled },
        ));
    }
  }

  for (const pause of PAUSES) {
    test(`#sign-in pressed twice, ${pause} ms apart, ${how}`, () =>
      visiting(
        async (page) => {
          await atLogin(page);
          await fill(page);
          await pressTwice(page, "#sign-in", pause);
          await page.waitForSelector("form#consent, #outcome");
          if (await page.$("form#consent")) await page.click("#allow");
          assert.equal(await outcome(page), "signed-in");
        },
        { javaScriptEnabled },
      ));
  }

  test(`Enter twice in the password field, ${how}`, () =>
    visiting(
      async (page) => {
        await atLogin(page);
        await fill(page);
        await page.focus("#password");
        await page.keyboard.press("Enter");
        await page.keyboard.press("Enter");
        await page.waitForSelector("form#consent, #outcome");
        if (await page.$("form#consent")) await page.click("#allow");
        assert.equal(await outcome(page), "signed-in");
      },
      { javaScriptEnabled },
    ));

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
