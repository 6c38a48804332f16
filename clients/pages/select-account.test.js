// Several accounts in one browser, in headless Chromium: choosing one, switching on the account page, and signing out of one or of
// all.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { NAMED, authorizationUrl, createUser, fixtures, serve, set } from "./application.js";
import { visits } from "./look.js";
import { isIn, launch, outcome, signIn } from "./visitor.js";

const SECOND = { email: "second@example.com", password: "a second account has one too" };

let browser;
let site;
before(async () => {
  [browser, site] = [await launch(), await serve()];
  await createUser({ ...SECOND, name: "Second Person", email_verified: true });
  await set({ branding: NAMED });
});
after(async () => {
  await set({ branding: null });
  await browser?.close();
  site?.close();
});

const select = (page) => page.goto(authorizationUrl(site, { prompt: "select_account" }));
const account = (page, { email }) => page.locator("#accounts button", { hasText: email });

/** Signs in on the way to the application. */
async function enter(page, user) {
  await signIn(page, user);
  await isIn(page);
}

const scene = { browser: () => browser, provider: () => fixtures };

visits("two accounts are chosen from, switched and signed out", scene, async ({ page, see }) => {
  await page.goto(authorizationUrl(site));
  await enter(page, fixtures.user);
  await select(page);
  assert.equal(await page.locator("#accounts button").count(), 1);
  await page.click("#other");
  await enter(page, SECOND);

  await select(page);
  assert.equal(await page.locator("#accounts button").count(), 2);
  await see("select-account");
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
  await see("sign-out-of-several");
  await page.click("#confirm");
  await page.waitForSelector("#others");
  await see("signed-out-of-one");
  await page.goto(authorizationUrl(site));
  await account(page, SECOND).click();
  assert.equal(await outcome(page), "signed-in", "none is in use until one is chosen");

  await select(page);
  await page.click("#other");
  await enter(page, fixtures.user);
  await page.goto(`${fixtures.base_url}/logout`);
  await page.click("#confirm-all");
  await page.waitForLoadState();
  await page.goto(authorizationUrl(site));
  await page.waitForSelector("#sign-in");
});
