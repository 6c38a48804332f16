// What a person does with the own account, in headless Chromium: passkeys that are synced or not, attributes, the password, sessions with their
// devices, applications, signing out, a copy of the data, and the end of it all.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before } from "node:test";
import { authorizationUrl, change, createUser, serve, set, somebody } from "../pages/application.js";
import { withFingerprint } from "../pages/device.js";
import { visits } from "../pages/look.js";
import { start } from "../pages/own-provider.js";
import { fill, isIn, isRefused, openContext, signIn, submit } from "../pages/visitor.js";

const PHONE = "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36";

const BOTH = ["person", "administrator"];
// One of each type, one that the person cannot write, and one that they cannot read.
const ATTRIBUTES = [
  { name: "team", type: "string", required: true, writable_by: BOTH },
  { name: "desk", type: "number", writable_by: BOTH },
  { name: "remote", type: "boolean", writable_by: BOTH },
  { name: "badges", type: "list", writable_by: BOTH },
  { name: "hired", type: "date" },
  { name: "pin", type: "string", readable_by: ["administrator"], writable_by: BOTH },
];

let browser;
let provider;
let site;
let stop;
// An application that is told when somebody signs out.
let beside;
before(async () => {
  ({ browser, provider, site, stop } = await start({ settings: { self_deletion: true } }));
  beside = await serve(provider);
  const members = { client_name: "Example Garden", backchannel_logout_uri: `${beside.origin}/signed-out` };
  await change(`/clients/${beside.client.client_id}`, members, provider);
});
after(async () => {
  beside?.close();
  await stop?.();
});

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
  "attributes of each type are saved on the profile page",
  scene,
  async ({ page, see, locale }) => {
    const user = { email: `attributes-${locale}@example.com`, password: "the password of a whole account" };
    const attributes = { team: "red", hired: "2020-01-31" };
    await set({ attributes: ATTRIBUTES }, provider);
    try {
      await createUser({ ...user, email_verified: true, name: "Ann Smith", attributes }, provider);
      await at(page, "/profile", user);
      const field = (name) => page.locator(`[name="attribute.${name}"]`);
      await field("team").fill("blue");
      await field("desk").fill("4");
      await field("remote").selectOption("true");
      await field("badges").fill("first aid\nfire");
      await field("pin").fill("1234");
      assert.equal(await field("hired").count(), 0, "that one is shown only");
      await submit(page, "#save");
      await isDone(page);
      await see("account-profile-with-attributes");
      const saved = await Promise.all(["team", "desk", "remote", "badges", "pin"].map((name) => field(name).inputValue()));
      assert.deepEqual(saved, ["blue", "4", "true", "first aid\nfire", ""], "and what nobody may read is not shown");
    } finally {
      await set({ attributes: null }, provider);
    }
  },
  { told, needs: "looks" },
);

visits(
  "the password is changed",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const user = await somebody("password", locale, provider);
    const password = "the second password of an account";
    const type = async (present, again) => {
      await page.fill("#present", present);
      await page.fill("#new", password);
      await page.fill("#again", again);
    };
    await at(page, "/password", user);
    await type("not the password", password);
    await isRefused(page, "#change");
    await see("account-password-refused");
    await type(user.password, "the second one in other words");
    await isRefused(page, "#change");
    await seeAgain("account-password-differs");
    await type(user.password, password);
    await submit(page, "#change");
    await isDone(page);
    await see("account-password-changed");
    await page.goto(authorizationUrl(site, { prompt: "login" }));
    await fill(page, user);
    await isRefused(page, "#sign-in");
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
  async ({ page, see, seeAgain, locale }) => {
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
    await seeAgain("account-applications-ended");
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
    await submit(page, "#confirm");
    assert.equal(await page.locator("form#logout").count(), 0);
    // Nobody is signed in by now: who asked is where the person came from.
    await page.goto(logout);
    await page.waitForSelector("#return");
    await see("signed-out-with-return");
    await page.click("#return");
    await page.waitForSelector("#home");
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
