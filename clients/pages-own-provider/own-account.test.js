// What a person does with the own account, in headless Chromium: passkeys that are synced or not, sessions with their devices,
// applications, a copy of the data, and the end of it all.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before } from "node:test";
import { authorizationUrl, somebody } from "../pages/application.js";
import { withFingerprint } from "../pages/device.js";
import { visits } from "../pages/look.js";
import { start } from "../pages/own-provider.js";
import { isIn, isRefused, openContext, signIn } from "../pages/visitor.js";

const PHONE = "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36";

let browser;
let provider;
let site;
let stop;
before(async () => {
  ({ browser, provider, site, stop } = await start({ settings: { self_deletion: true } }));
});
after(() => stop?.());

const scene = { browser: () => browser, provider: () => provider };
const told = [400, 403];
const isDone = (page) => page.waitForSelector("#notice[role=status]");

/** Opens a page of the account, signed in. */
async function at(page, path, user) {
  await page.goto(`${provider.base_url}/account${path}`);
  await signIn(page, user);
}

visits(
  "a synced passkey and one of this device are told apart",
  scene,
  async ({ page, context, see, locale }) => {
    await at(page, "/security", await somebody("passkeys", locale, provider));
    const tags = [];
    for (const isSynced of [true, false]) {
      const device = await withFingerprint(context, page, { isSynced });
      await page.click("#add-passkey");
      await page.fill("#name", isSynced ? "In the cloud" : "Laptop");
      await page.click("#add");
      await isDone(page);
      await device.remove();
      const item = page.locator(".entries > li").filter({ has: page.locator(`input[value="${isSynced ? "In the cloud" : "Laptop"}"]`) });
      tags.push(await item.locator(".tag").textContent());
    }
    await see("account-security-with-passkeys");
    assert.equal(new Set(tags).size, 2, `each says where it is: ${tags}`);
    if (locale === "en") assert.deepEqual(tags, ["synced between devices", "on one device only"]);
  },
  { told, needs: "scripts" },
);

visits(
  "sessions are told by their device, and one is ended",
  scene,
  async ({ page, see, locale, hasScripts }) => {
    const user = await somebody("sessions", locale, provider);
    const phone = await openContext(browser, { userAgent: PHONE, locale, javaScriptEnabled: hasScripts });
    try {
      const other = await phone.newPage();
      await at(other, "", user);
      await at(page, "/sessions", user);
      await page.waitForSelector("#sessions");
      const devices = await page.locator("#sessions li bdi").allTextContents();
      assert.match(devices.join("\n"), /Chrome.*Android|Android.*Chrome/);
      await see("account-sessions-of-two-devices");
      await page.click("#sessions button[name=end]");
      await isDone(page);
      await see("account-session-ended");
      assert.equal(await page.locator("#sessions button[name=end]").count(), 0);
      await other.goto(`${provider.base_url}/account`);
      await other.waitForSelector("form#login");
    } finally {
      await phone.close();
    }
  },
  { told },
);

visits(
  "what applications may do is shown and ended",
  scene,
  async ({ page, see, locale }) => {
    await page.goto(authorizationUrl(site));
    await signIn(page, await somebody("applications", locale, provider));
    await isIn(page);
    await page.goto(`${provider.base_url}/account/applications`);
    await see("account-applications-with-one");
    await page.click("#applications button[name=end]");
    await isDone(page);
    await see("account-application-ended");
    assert.equal(await page.locator("#applications button[name=end]").count(), 0);
    await page.goto(authorizationUrl(site));
    await page.waitForSelector("form#consent");
  },
  { told },
);

visits(
  "a copy is taken, and the account is deleted",
  scene,
  async ({ page, see, locale }) => {
    const user = await somebody("leaving", locale, provider);
    await at(page, "/data", user);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#export")]);
    assert.equal(download.suggestedFilename(), "account.json");
    assert.equal(JSON.parse(await readFile(await download.path(), "utf8")).profile.email, user.email);

    await provider.pass(360);
    await page.goto(`${provider.base_url}/account/data`);
    await see("account-data-with-password");
    await page.fill("#password", "not the password");
    await page.check("input[name=confirm]");
    await isRefused(page, "#delete-account");
    await see("account-data-refused");
    await page.fill("#password", user.password);
    await page.check("input[name=confirm]");
    await page.click("#delete-account");
    await page.waitForSelector("#delete", { state: "detached" });
    await see("account-deleted");
    await page.goto(`${provider.base_url}/account`);
    await page.fill("#username", user.email);
    await page.fill("#password", user.password);
    await page.click("#sign-in");
    await page.waitForSelector("#login-error");
  },
  { told },
);
