// What a person does with the own account, in headless Chromium: passkeys that are synced or not, the password, sessions with their devices,
// applications, a copy of the data, and the end of it all.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before } from "node:test";
import { authorizationUrl, change, serve, somebody } from "../pages/application.js";
import { withFingerprint } from "../pages/device.js";
import { visits } from "../pages/look.js";
import { browser, provider, scene, site, withOwnProvider } from "../pages/own-provider.js";
import { fill, isIn, signIn } from "../pages/visitor.js";

const PHONE = "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36";

withOwnProvider({ settings: { self_deletion: true } });
// An application that is told when somebody signs out.
let beside;
before(async () => {
  beside = await serve(provider);
  const members = { client_name: "Example Garden", backchannel_logout_uri: `${beside.origin}/signed-out` };
  await change(`/clients/${beside.client.client_id}`, members, provider);
});
after(() => beside?.close());

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
  "the password is changed",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const user = await somebody("password", locale, provider);
    const password = "the second password of an account";
    const send = async (present, again) => {
      await page.fill("#present", present);
      await page.fill("#new", password);
      await page.fill("#again", again);
      await page.click("#change");
    };
    await at(page, "/password", user);
    await send("not the password", password);
    await page.waitForSelector("#notice[role=alert]");
    await see("account-password-refused");
    await send(user.password, "the second one in other words");
    await page.waitForSelector("#notice[role=alert]");
    await seeAgain("account-password-differs");
    await send(user.password, password);
    await isDone(page);
    await see("account-password-changed");
    await page.goto(authorizationUrl(site, { prompt: "login" }));
    await fill(page, user);
    await page.click("#sign-in");
    await page.waitForSelector("#login-error");
    await signIn(page, { ...user, password });
    await isIn(page);
  },
  { told },
);

visits(
  "sessions are told by their device, and one is ended",
  scene,
  async ({ page, see, locale, hasScripts }) => {
    const user = await somebody("sessions", locale, provider);
    const phone = await browser.newContext({ userAgent: PHONE, locale, javaScriptEnabled: hasScripts });
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
    await isIn(page);
    await page.goto(`${provider.base_url}/account/applications`);
    await page.click("#end-all");
    await isDone(page);
    assert.equal(await page.locator("form#applications").count(), 0);
  },
  { told },
);

visits(
  "signing out names who asks for it and who is told, and leads back",
  scene,
  async ({ page, see, locale }) => {
    const logout = `${provider.base_url}/logout?client_id=${site.client.client_id}`;
    await page.goto(authorizationUrl(beside));
    await signIn(page, await somebody("out", locale, provider));
    await isIn(page);
    await page.goto(logout);
    assert.match(await page.textContent("main"), /Example Shop/);
    assert.match(await page.textContent("#applications"), /Example Garden/);
    await see("sign-out-for-applications");
    await page.click("#confirm");
    await page.waitForSelector("form#logout", { state: "detached" });
    await page.goto(logout);
    await page.waitForSelector("#return");
    await see("signed-out-with-return");
    await page.click("#return");
    await page.waitForURL(`${site.origin}/`);
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
    await page.click("#delete-account");
    await page.waitForSelector("#notice[role=alert]");
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
