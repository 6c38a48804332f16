// The account pages in headless Chromium: every page with and without JavaScript, in both colour schemes, narrow and
// wide, and what a person does on them.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { fixtures } from "./application.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PICTURES = process.env.SYMBOLON_PICTURES_TO;
const PATHS = ["", "/profile", "/password", "/sessions", "/applications", "/data"];

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
});
after(() => browser?.close());

/** A browser of its own, signed in on the way to the account. */
async function signedIn(run, options = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  const blocked = [];
  try {
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && blocked.push(message.text()));
    await page.goto(`${fixtures.base_url}/account`);
    await page.fill("#username", fixtures.user.email);
    await page.fill("#password", fixtures.user.password);
    await page.click("#sign-in");
    await page.waitForSelector("#places");
    await run(page, context);
    assert.deepEqual(blocked, [], "nothing was blocked by the policy");
  } finally {
    await context.close();
  }
}

const NAMES = ["overview", "profile", "password", "sessions", "applications", "data"];

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1280]) {
    test(`every page fits ${width} px, ${colorScheme}`, () =>
      signedIn(
        async (page) => {
          for (const [at, path] of PATHS.entries()) {
            await page.goto(`${fixtures.base_url}/account${path}`);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            assert.ok(wide <= 0, `${path} is ${wide} px too wide`);
            assert.equal(await page.locator("h1").count(), 1);
            if (PICTURES) {
              await mkdir(PICTURES, { recursive: true });
              await page.screenshot({ path: `${PICTURES}/account-${NAMES[at]}-${colorScheme}-${width}.png`, fullPage: true });
            }
          }
        },
        { colorScheme, viewport: { width, height: 900 } },
      ));
  }
}

for (const javaScriptEnabled of [true, false]) {
  test(`a person saves the profile and ends another session, scripts ${javaScriptEnabled ? "on" : "off"}`, () =>
    signedIn(async (other) => {
      await signedIn(
        async (page) => {
          await page.goto(`${fixtures.base_url}/account/profile`);
          const name = `Ann ${javaScriptEnabled}`;
          await page.fill("#nickname", name);
          await page.click("#save");
          await page.waitForSelector("#notice[role=status]");
          assert.equal(await page.inputValue("#nickname"), name);
          await page.goto(`${fixtures.base_url}/account/sessions`);
          await page.click("#end-others");
          await page.waitForSelector("#notice[role=status]");
          assert.equal(await page.locator("#end-others").count(), 0);
        },
        { javaScriptEnabled },
      );
      await other.goto(`${fixtures.base_url}/account`);
      await other.waitForSelector("#sign-in");
    }));
}
