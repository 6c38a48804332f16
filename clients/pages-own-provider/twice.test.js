// Buttons pressed twice and Enter pressed twice, in headless Chromium, with and without JavaScript: on the way to the application, which
// takes its time, after each pause; and on the other pages once.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { authorizationUrl, change, createUser, serve } from "../pages/application.js";
import { codeIn, linkIn } from "../pages/mailbox.js";
import { start } from "../pages/own-provider.js";
import { fill, isIn, outcome, pressTwice, signIn, totp, visiting } from "../pages/visitor.js";

const PAUSES = [50, 150, 300];
// So long that the second press comes while the application has not answered yet.
const CALLBACK_TAKES = 800;
const AT_A_TIME = 4;
const USER = { email: "twice@example.com", password: "pressed twice, signed in once" };

let browser;
let provider;
let site;
let stop;
before(async () => {
  const settings = { registration: "open", sign_in_methods: ["password", "magic_link"] };
  ({ browser, provider, site, stop } = await start({ settings, takes: CALLBACK_TAKES }));
  await createUser({ ...USER, email_verified: true }, provider);
});
after(() => stop?.());

const atLogin = (page, more) => page.goto(authorizationUrl(site, more));
const isRefused = async (page) => assert.equal(await outcome(page), "access_denied");

async function atFilledLogin(page) {
  await atLogin(page);
  await fill(page, USER);
}

async function atConsent(page) {
  await atLogin(page, { prompt: "consent" });
  await signIn(page, USER);
}

async function atLogout(page) {
  await atConsent(page);
  await page.goto(`${provider.base_url}/logout`);
}

/** Enter twice in the field for the password. */
async function enterTwice(page, _, pause) {
  await page.focus("#password");
  await page.keyboard.press("Enter");
  await new Promise((ready) => setTimeout(ready, pause));
  await page.keyboard.press("Enter");
}

const PRESSES = [
  ["#sign-in", atFilledLogin, pressTwice, isIn],
  ["Enter", atFilledLogin, enterTwice, isIn],
  ["#cancel", atLogin, pressTwice, isRefused],
  ["#allow", atConsent, pressTwice, isIn],
  ["#deny", atConsent, pressTwice, isRefused],
  ["#confirm", atLogout, pressTwice, (page) => page.waitForSelector("text=You are signed out")],
];

const ROUNDS = [true, false].flatMap((javaScriptEnabled) =>
  PAUSES.flatMap((pause) => PRESSES.map((press) => ({ press, pause, javaScriptEnabled }))),
);

/** What went wrong in a round, if anything did. */
async function problem({ press: [button, reach, press, check], pause, javaScriptEnabled }) {
  const run = async (page) => {
    await reach(page);
    await press(page, button, pause);
    await check(page);
  };
  try {
    await visiting(browser, provider, run, { javaScriptEnabled });
    return null;
  } catch (error) {
    return `${button}, ${pause} ms, JavaScript ${javaScriptEnabled}: ${error}`;
  }
}

test(`${ROUNDS.length} of ${ROUNDS.length} rounds end where they were pressed to`, async () => {
  const [waiting, ended] = [[...ROUNDS], []];
  const visitor = async () => {
    while (waiting.length > 0) ended.push(await problem(waiting.shift()));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, visitor));
  assert.equal(ended.length, ROUNDS.length);
  assert.deepEqual(ended.filter((problem) => problem !== null), []);
});

/** Somebody whom no other test knows. */
async function somebody(name) {
  const user = { email: `${name}@example.com`, password: "the password of somebody else" };
  await createUser({ ...user, email_verified: true }, provider);
  return user;
}

const OTHERS = {
  "an account of several": async (page, name) => {
    const [first, second] = [await somebody(name), await somebody(`${name}-beside`)];
    await atLogin(page);
    await signIn(page, first);
    await isIn(page);
    await atLogin(page, { prompt: "select_account" });
    await page.click("#other");
    await signIn(page, second);
    await isIn(page);
    await atLogin(page, { prompt: "select_account" });
    await pressTwice(page, `#accounts button:has-text("${first.email}")`, 150);
    await isIn(page);
  },
  "registering, and the code by mail": async (page, name) => {
    const email = `${name}@example.com`;
    await atLogin(page);
    await page.click("#register");
    await page.fill("#email", email);
    await pressTwice(page, "#continue", 150);
    await page.waitForSelector("form#mailed-code");
    await page.fill("#code", await provider.mailTo(email, codeIn));
    await page.fill("input[name=password]", "a password that is long enough");
    await pressTwice(page, "#confirm", 150);
    await isIn(page);
  },
  "the link by mail": async (page, name) => {
    const { email } = await somebody(name);
    await atLogin(page);
    await page.fill("#username", email);
    await pressTwice(page, "#magic-link", 150);
    await page.waitForSelector("#again");
    await page.goto(await provider.mailTo(email, linkIn));
    await pressTwice(page, "#confirm", 150);
    await isIn(page);
  },
  "saving the profile, and ending the other sessions": async (page, name) => {
    const user = await somebody(name);
    await visiting(browser, provider, async (elsewhere) => {
      await elsewhere.goto(`${provider.base_url}/account`);
      await signIn(elsewhere, user);
      await page.goto(`${provider.base_url}/account/profile`);
      await signIn(page, user);
      await page.fill("#nickname", name);
      await pressTwice(page, "#save", 150);
      await page.waitForSelector("#notice[role=status]");
      assert.equal(await page.inputValue("#nickname"), name);
      await page.goto(`${provider.base_url}/account/sessions`);
      await pressTwice(page, "#end-others", 150);
      await page.waitForSelector("#notice[role=status]");
      assert.equal(await page.locator("#end-others").count(), 0);
      await elsewhere.goto(`${provider.base_url}/account`);
      await elsewhere.waitForSelector("form#login");
    });
  },
  "a second factor": async (page, name) => {
    const [user, own] = [await somebody(name), await serve(provider, { takes: CALLBACK_TAKES })];
    const confirm = (secret) => page.fill("#code", totp(secret, provider.now()));
    try {
      await change(`/clients/${own.client.client_id}`, { settings: { second_factor: "required" } }, provider);
      await page.goto(authorizationUrl(own));
      await signIn(page, user);
      const secret = await page.locator("#secret").textContent();
      await confirm(secret);
      await page.click("#confirm");
      await page.click("#continue");
      await isIn(page);
      // A code counts once: the next one is of the next half minute.
      await provider.pass(60);
      await page.goto(authorizationUrl(own, { prompt: "login" }));
      await signIn(page, user);
      await confirm(secret);
      await pressTwice(page, "#confirm", 150);
      await isIn(page);
    } finally {
      own.close();
    }
  },
};

describe("on the other pages", { concurrency: AT_A_TIME }, () => {
  for (const javaScriptEnabled of [true, false]) {
    for (const [number, [what, run]] of Object.entries(OTHERS).entries()) {
      const name = `visitor${number}${javaScriptEnabled ? "" : "-without"}`;
      test(`${what}, ${javaScriptEnabled ? "with" : "without"} JavaScript`, () =>
        visiting(browser, provider, (page) => run(page, name), { javaScriptEnabled }));
    }
  }
});
