// Several accounts in one browser, in headless Chromium: choosing one, switching on the account page, and signing out of one or of
// all.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { authorizationUrl, createUser, fixtures, serve } from "./application.js";
import { visits } from "./look.js";
import { launch, outcome } from "./visitor.js";

const SECOND = { email: "second@example.com", password: "a second account has one too" };

let browser;
let site;
before(async () => {
  [browser, site] = [await launch(), await serve()];
  await createUser({ ...SECOND, name: "Second Person", email_verified: true });
});
after(async () => {
  await browser?.close();
  site?.close();
});

const select = (page) => page.goto(authorizationUrl(site, { prompt: "select_account" }));
const account = (page, { email }) => page.locator("#accounts button", { hasText: email });

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

const scene = { browser: () => browser, provider: () => fixtures };

visits("two accounts are chosen from, switched and signed out", scene, async ({ page, see }) => {
  await page.goto(authorizationUrl(site));
  await signIn(page, fixtures.user);
  await select(page);
  assert.equal(await page.locator("#accounts button").count(), 1);
  await page.click("#other");
  await signIn(page, SECOND);

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
  await signIn(page, fixtures.user);
  await page.goto(`${fixtures.base_url}/logout`);
  await page.click("#confirm-all");
  await page.waitForLoadState();
  await page.goto(authorizationUrl(site));
  await page.waitForSelector("#sign-in");
});
