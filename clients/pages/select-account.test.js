// Several accounts in one browser, in headless Chromium: choosing one, switching on the account page, and signing out of one or of
// all; with and without JavaScript, on a phone and on a desk, in a language from right to left. axe-core looks at each page.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { authorizationUrl, createUser, fixtures, serve } from "./application.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PICTURES = process.env.SYMBOLON_PICTURES_TO;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SECOND = { email: "second@example.com", password: "a second account has one too" };

let browser;
let site;
before(async () => {
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  site = await serve();
  await createUser({ ...SECOND, name: "Second Person", email_verified: true });
  if (PICTURES) await mkdir(PICTURES, { recursive: true });
});
after(async () => {
  await browser?.close();
  site?.close();
});

const outcome = (page) => page.locator("#outcome").textContent();
const select = (page) => page.goto(authorizationUrl(site, { prompt: "select_account" }));
const account = (page, { email }) => page.locator("#accounts button", { hasText: email });

/** The page fits its window, and axe-core finds nothing. */
async function look(page, name, { javaScriptEnabled, locale, viewport }) {
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/${name}-${locale}-${viewport.width}.png`, fullPage: true });
  if (!javaScriptEnabled) return;
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules }), RULES);
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`);
  assert.deepEqual(told, [], name);
}

async function signIn(page, { email, password }) {
  await page.fill("#username", email);
  await page.fill("#password", password);
  await page.click("#sign-in");
  await page.waitForSelector("#allow, #later, #outcome");
  if (await page.$("#later")) {
    await page.click("#later");
    await page.waitForSelector("#allow, #outcome");
  }
  if (await page.$("#allow")) await page.click("#allow");
  assert.equal(await outcome(page), "signed-in");
}

const WINDOWS = [
  { viewport: { width: 390, height: 844 }, colorScheme: "dark", javaScriptEnabled: false, locale: "en" },
  { viewport: { width: 1280, height: 800 }, colorScheme: "light", javaScriptEnabled: true, locale: "de" },
  { viewport: { width: 390, height: 844 }, colorScheme: "light", javaScriptEnabled: true, locale: "ar" },
];

for (const options of WINDOWS) {
  const shape = `${options.locale}, ${options.viewport.width} px, ${options.colorScheme}, script ${options.javaScriptEnabled}`;
  test(`two accounts are chosen from, switched and signed out (${shape})`, async () => {
    const context = await browser.newContext(options);
    context.setDefaultTimeout(20_000);
    const blocked = [];
    try {
      const page = await context.newPage();
      page.on("console", (message) => {
        // Of the application, Chromium may ask for an icon, which it does not have.
        const isOfProvider = message.location().url.startsWith(fixtures.base_url);
        if (message.type() === "error" && isOfProvider) blocked.push(message.text());
      });
      await page.goto(authorizationUrl(site));
      await signIn(page, fixtures.user);
      await select(page);
      assert.equal(await page.locator("#accounts button").count(), 1);
      await page.click("#other");
      await signIn(page, SECOND);

      await select(page);
      assert.equal(await page.locator("#accounts button").count(), 2);
      await look(page, "select-account", options);
      await account(page, fixtures.user).click();
      assert.equal(await outcome(page), "signed-in", "one click, no password");
      await page.goBack();
      await account(page, SECOND).click();
      assert.equal(await outcome(page), "signed-in", "Back and another choice");

      await page.goto(`${fixtures.base_url}/account`);
      assert.match(await page.textContent(".account-foot"), /Second Person/);
      await page.click("#switch-account");
      await account(page, fixtures.user).click();
      await page.waitForSelector("#places");
      assert.doesNotMatch(await page.textContent(".account-foot"), /Second Person/);

      await page.goto(`${fixtures.base_url}/logout`);
      assert.match(await page.textContent("#others"), /second@example\.com/);
      await look(page, "sign-out-of-several", options);
      await page.click("#confirm");
      await page.waitForSelector("#others");
      await look(page, "signed-out-of-one", options);
      await page.goto(authorizationUrl(site));
      await account(page, SECOND).click();
      assert.equal(await outcome(page), "signed-in", "none is in use until one is chosen");

      await select(page);
      await page.click("#other");
      await signIn(page, fixtures.user);
      await page.goto(`${fixtures.base_url}/logout`);
      await page.click("#confirm-all");
      await page.waitForLoadState();
      await page.goto(authorizationUrl(site));
      await page.waitForSelector("#sign-in");
      assert.deepEqual(blocked, [], "nothing was blocked by the policy");
    } finally {
      await context.close();
    }
  });
}
