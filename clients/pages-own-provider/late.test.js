// Pages that somebody left open until their seal was over, in headless Chromium, one of each kind without JavaScript, too: every button leads
// on to the application, or begins anew. The provider's clock is moved, once for all of them; nobody waits.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { authorizationUrl, change, createUser, serve } from "../pages/application.js";
import { start } from "../pages/own-provider.js";
import { fill, goOn, outcome, signIn, totp, visiting } from "../pages/visitor.js";

const USER = { email: "late@example.com", password: "it was left open for an hour" };
const CAREFUL = { email: "careful@example.com", password: "two factors are better" };

// The seal of a page lives for ten minutes.
const [JUST_IN_TIME, LATE, VERY_LATE] = [1, 2, 3];
const SECONDS = { [JUST_IN_TIME]: 570, [LATE]: 3_600, [VERY_LATE]: 3_600 };

let browser;
let provider;
let site;
let stop;
before(async () => {
  ({ browser, provider, site, stop } = await start());
  for (const user of [USER, CAREFUL]) await createUser({ ...user, email_verified: true }, provider);
});
after(() => stop?.());

/** The time passes for everybody at once, as soon as everybody waits for it. */
class Tide {
  #here;
  #level = 0;
  #waiting = [];

  constructor(visitors) {
    this.#here = visitors;
  }

  /** Waits until it is so late. */
  until(level) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ level, resolve, reject });
      this.#rise();
    });
  }

  /** One visitor waits no more. */
  leave() {
    this.#here -= 1;
    this.#rise();
  }

  async #rise() {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#here) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      this.#level += 1;
      await provider.pass(SECONDS[this.#level]);
    } catch (error) {
      return waiting.forEach(({ reject }) => reject(error));
    }
    this.#waiting = waiting.filter(({ level }) => level > this.#level);
    waiting.filter(({ level }) => level <= this.#level).forEach(({ resolve }) => resolve());
  }
}

const atLogin = (page, more) => page.goto(authorizationUrl(site, more));

async function atConsent(page) {
  await atLogin(page, { prompt: "consent" });
  await signIn(page, USER);
  await page.waitForSelector("form#consent");
}

/** Somebody who types a wrong password, for which the sign-in page comes again. */
async function mistype(page) {
  await fill(page, { ...USER, password: "a wrong one" });
  await page.click("#sign-in");
  await page.waitForSelector("#login-error");
  assert.equal(await page.inputValue("#username"), USER.email, "what was typed is kept");
}

async function isIn(page) {
  await signIn(page, USER);
  assert.equal(await goOn(page), "signed-in");
}

const pressing = (button, end) => async (page, tide) => {
  await atConsent(page);
  await tide.until(LATE);
  await page.click(button);
  assert.equal(await outcome(page), end);
};

/**
 * What somebody does, and how it ends. `told`: 403, where a wrong password is told. `isAlsoWithout`: it is done without scripts, too. That a
 * page is over is found by the provider, not by a script, so one page of each kind is enough: signing in, the consent, the account.
 */
const VISITS = [
  [
    "a right password signs in",
    async (page, tide) => {
      await atLogin(page);
      await tide.until(LATE);
      await isIn(page);
    },
  ],
  [
    "a wrong password is told, and much later a right one signs in",
    async (page, tide) => {
      await atLogin(page);
      await tide.until(LATE);
      await mistype(page);
      await tide.until(VERY_LATE);
      await isIn(page);
    },
    { told: [403], isAlsoWithout: true },
  ],
  [
    "after a wrong password just in time a right one signs in",
    async (page, tide) => {
      await atLogin(page);
      await tide.until(JUST_IN_TIME);
      await mistype(page);
      await tide.until(LATE);
      await isIn(page);
    },
    { told: [403] },
  ],
  [
    "#cancel leads back to the application",
    async (page, tide) => {
      await atLogin(page);
      await tide.until(LATE);
      await page.click("#cancel");
      assert.equal(await outcome(page), "access_denied");
    },
  ],
  ["#allow does what it says", pressing("#allow", "signed-in"), { isAlsoWithout: true }],
  ["#deny does what it says", pressing("#deny", "access_denied")],
  [
    "signing out signs out",
    async (page, tide) => {
      await atConsent(page);
      await page.goto(`${provider.base_url}/logout`);
      await tide.until(LATE);
      await page.click("#confirm");
      await page.waitForSelector("text=You are signed out");
    },
  ],
  [
    "a reload shows the page again",
    async (page, tide) => {
      await atLogin(page);
      await tide.until(LATE);
      await page.reload();
      await isIn(page);
    },
  ],
  [
    "the profile is saved as it was typed",
    async (page, tide) => {
      await page.goto(`${provider.base_url}/account/profile`);
      await signIn(page, USER);
      await page.fill("#nickname", "Somebody late");
      await tide.until(LATE);
      await page.click("#save");
      await page.waitForSelector("#notice[role=status]");
      assert.equal(await page.inputValue("#nickname"), "Somebody late");
    },
    { isAlsoWithout: true },
  ],
  [
    "a new password needs the present one first, and the page comes again",
    async (page, tide) => {
      await page.goto(`${provider.base_url}/account/password`);
      await signIn(page, USER);
      await page.fill("#present", USER.password);
      await page.fill("#new", "quite another password");
      await page.fill("#again", "quite another password");
      await tide.until(LATE);
      await page.click("#change");
      await signIn(page, USER);
      await page.waitForSelector("#present");
    },
  ],
  ["a second factor begins anew with the password", secondFactor],
];

/** A second factor: begun anew with the password. */
async function secondFactor(page, tide) {
  const own = await serve(provider);
  const confirm = async (secret) => {
    await page.fill("#code", totp(secret, provider.now()));
    await page.click("#confirm");
  };
  try {
    await change(`/clients/${own.client.client_id}`, { settings: { second_factor: "required" } }, provider);
    await page.goto(authorizationUrl(own));
    await signIn(page, CAREFUL);
    const secret = await page.locator("#secret").textContent();
    await confirm(secret);
    await page.click("#continue");
    assert.equal(await goOn(page), "signed-in");

    await page.goto(authorizationUrl(own, { prompt: "login" }));
    await signIn(page, CAREFUL);
    await page.waitForSelector("form#second-factor");
    await tide.until(LATE);
    await confirm(secret);
    await page.waitForSelector("form#login");
    await signIn(page, CAREFUL);
    await confirm(secret);
    assert.equal(await goOn(page), "signed-in");
  } finally {
    own.close();
  }
}

const tests = VISITS.flatMap(([what, visit, { told, isAlsoWithout } = {}]) => {
  const withScripts = [`${what}, with JavaScript`, visit, { told }];
  const without = [`${what}, without JavaScript`, visit, { told, javaScriptEnabled: false }];
  return isAlsoWithout ? [withScripts, without] : [withScripts];
});

describe("an hour later", { concurrency: tests.length }, () => {
  const tide = new Tide(tests.length);
  for (const [what, visit, options] of tests) {
    test(what, async () => {
      try {
        await visiting(browser, provider, (page) => visit(page, tide), options);
      } finally {
        tide.leave();
      }
    });
  }
});
