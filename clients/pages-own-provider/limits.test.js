// Where a limit holds somebody off for a while, in headless Chromium: at the sign-in page, and on the page for a request that is not answered.
// Both say so, and lead on when the time has passed.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { authorizationUrl, somebody } from "../pages/application.js";
import { visits } from "../pages/look.js";
import { start } from "../pages/own-provider.js";
import { fill, isIn, isRefused, signIn } from "../pages/visitor.js";

// Longer than a visit takes on a slow machine, and shorter than a page may be left open.
const LIMIT = "1/5m";
const UNTIL_THE_NEXT_ONE = 301;

let browser;
let provider;
let site;
let stop;
before(async () => {
  const limits = { SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT: LIMIT, SYMBOLON_RATE_LIMIT_LOGOUT_ADDRESS: LIMIT };
  ({ browser, provider, site, stop } = await start({ environment: { SYMBOLON_RATE_LIMITS: "on", ...limits } }));
});
after(() => stop?.());

const scene = { browser: () => browser, provider: () => provider };
const told = [403, 429];

visits(
  "who mistypes a password often waits before the right one is looked at",
  scene,
  async ({ page, see, locale }) => {
    const user = await somebody("mistyping", locale, provider);
    for (const password of ["a wrong password", user.password]) {
      await page.goto(authorizationUrl(site));
      await fill(page, { ...user, password });
      await isRefused(page, "#sign-in");
    }
    await see("sign-in-held-off");
    await provider.pass(UNTIL_THE_NEXT_ONE);
    await signIn(page, user);
    await isIn(page);
  },
  { told },
);

visits(
  "a request beyond a limit is told to wait",
  scene,
  async ({ page, see }) => {
    await page.goto(`${provider.base_url}/logout`);
    const answer = await page.goto(`${provider.base_url}/logout`);
    assert.equal(answer.status(), 429);
    await page.waitForSelector("#hint");
    await see("error-busy");
    await provider.pass(UNTIL_THE_NEXT_ONE);
    await page.reload();
    assert.equal(await page.locator("#hint").count(), 0);
  },
  { told, needs: "looks" },
);
