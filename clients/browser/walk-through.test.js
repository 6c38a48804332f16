// The walk-through of development mode in headless Chromium, on the provider's own site and on another one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Walk, fixtures, launch } from "./walk.js";

const port = new URL(fixtures.base_url).port;
const OWN_SITE = `http://localhost:${port}/`;
const OTHER_SITE = `http://127.0.0.1:${port}/`;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function walking(name, run) {
  const walk = await Walk.start(browser, name);
  try {
    await run(walk);
  } catch (error) {
    await walk.shoot("failed").catch(() => undefined);
    error.message += `\nthe page complained: ${walk.complaints.join("; ") || "of nothing"}`;
    throw error;
  } finally {
    await walk.close();
  }
}

test("on the provider's own site everything works", () =>
  walking("own-site", async (walk) => {
    await walk.open(OWN_SITE);
    await walk.shoot("start");
    await walk.signIn();
    assert.equal(new URL(walk.page.url()).search, "", "the code has left the address bar");
    const [, idToken] = await walk.json("id-token");
    assert.equal(idToken.iss, OWN_SITE.replace(/\/$/, ""));
    assert.equal(await walk.use("userinfo"), "ok");
    assert.equal((await walk.json("userinfo"))[0].sub, idToken.sub);
    assert.equal(await walk.use("silent"), "ok");
    assert.equal(await walk.use("refresh"), "ok");
    assert.equal(await walk.use("exchange"), "ok");
    const exchanged = (await walk.json("exchange")).find((each) => each.act);
    assert.ok(exchanged, "the exchanged token names who acts");
    assert.equal(exchanged.sub, idToken.sub);
    await walk.signOut();
    assert.deepEqual(walk.takeComplaints(), []);
  }));

test("after signing out the provider asks for the password again", () =>
  walking("again", async (walk) => {
    await walk.open(OWN_SITE);
    await walk.signIn();
    await walk.signOut();
    await walk.page.click("#sign-in");
    await walk.page.waitForSelector("form#login");
    assert.deepEqual(walk.takeComplaints(), []);
  }));

test("on another site everything works but the silent frame, whose cookie the browser withholds", () =>
  walking("other-site", async (walk) => {
    await walk.open(OTHER_SITE);
    await walk.shoot("start");
    await walk.signIn();
    assert.equal(new URL(walk.page.url()).origin, new URL(OTHER_SITE).origin);
    assert.equal(await walk.use("userinfo"), "ok");
    assert.equal(await walk.use("refresh"), "ok");
    assert.equal(await walk.use("exchange"), "ok");
    assert.deepEqual(walk.takeComplaints(), []);
    // Plain HTTP cannot carry SameSite=None, so a frame on another site has no session: said plainly, not broken.
    assert.equal(await walk.use("silent"), "login_required");
    assert.deepEqual(walk.takeComplaints(), []);
    await walk.signOut();
    assert.deepEqual(walk.takeComplaints(), []);
  }));

test("a wrong password says so and shows the form again", () =>
  walking("wrong-password", async (walk) => {
    await walk.open(OWN_SITE);
    await walk.page.click("#sign-in");
    await walk.page.fill("#username", "demo");
    await walk.page.fill("#password", "not it");
    await walk.page.click("form#login button[type=submit]");
    await walk.page.waitForSelector("#login-error");
    await walk.shoot("error");
    const policy = walk.takeComplaints().filter((each) => each.includes("policy") || each.includes("exception"));
    assert.deepEqual(policy, []);
  }));

test("cancelling tells the relying party", () =>
  walking("cancel", async (walk) => {
    await walk.open(OWN_SITE);
    await walk.page.click("#sign-in");
    await walk.page.click("#cancel");
    await walk.page.waitForSelector('body[data-state="error"]');
    assert.equal(await walk.page.getAttribute("#error", "data-code"), "access_denied");
    await walk.shoot("cancelled");
  }));

test("the walk-through works with a narrow screen and no policy is broken", () =>
  walking("narrow", async (walk) => {
    await walk.page.setViewportSize({ width: 360, height: 740 });
    await walk.open(OWN_SITE);
    await walk.signIn();
    const overflow = await walk.page.evaluate(() => {
      // Ids are random; the worst one has no hyphen at which a line could break.
      for (const check of document.querySelectorAll(".checks li")) check.textContent = check.textContent.replaceAll("-", "x");
      return document.documentElement.scrollWidth - innerWidth;
    });
    assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
    assert.deepEqual(walk.takeComplaints(), []);
  }));
