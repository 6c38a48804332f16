// What leads in by mail, in headless Chromium with a mailbox: registration to the end, codes and links at the sign-in page, a
// forgotten password to the new one, invitations, and a changed address or a first one.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { authorizationUrl, create, createUser, set, somebody } from "../pages/application.js";
import { visits } from "../pages/look.js";
import { codeIn, linkIn } from "../pages/mailbox.js";
import { start } from "../pages/own-provider.js";
import { fill, isIn, isRefused, openContext, outcome, signIn } from "../pages/visitor.js";

const PASSWORD = "the first password of theirs";
const TRIES = 5;
// Which ways lead in is set by each visit for which it matters.
const BY_CODE = ["password", "email_code"];
const BY_LINK = ["password", "magic_link"];

let browser;
let provider;
let site;
let stop;
before(async () => {
  ({ browser, provider, site, stop } = await start());
});
after(() => stop?.());

const scene = { browser: () => browser, provider: () => provider };
const told = [400, 403, 409, 410, 429];
const atLogin = (page) => page.goto(authorizationUrl(site, { prompt: "login" }));
/** Six digits that are not those. */
const other = (code) => String((Number(code) + 1) % 1_000_000).padStart(6, "0");

/** Types an address that is none, which a browser lets pass that does not check it. */
async function typeWrongAddress(page, form) {
  await page.$eval(form, (element) => (element.noValidate = true));
  await page.fill("#email", "nobody.example.com");
}

visits(
  "registering with the mailed code",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    await set({ registration: "open", sign_in_methods: BY_CODE }, provider);
    const email = `registered-${locale}@example.com`;
    await atLogin(page);
    await page.click("#register");
    await page.fill("#email", email);
    await page.fill("#given-name", "Ann");
    await page.fill("#family-name", "Smith");
    await page.click("#continue");
    await page.waitForSelector("form#mailed-code");
    await see("register-code");
    const code = await provider.mailTo(email, codeIn);
    await page.fill("#code", other(code));
    await page.fill("#password", PASSWORD);
    await isRefused(page, "#confirm");
    await seeAgain("register-code-refused");
    await page.fill("#code", code);
    await page.fill("#password", "password1");
    await isRefused(page, "#confirm");
    await seeAgain("register-password-refused");
    await page.fill("#code", code);
    await page.fill("#password", PASSWORD);
    await page.click("#confirm");
    await isIn(page);
    await atLogin(page);
    await signIn(page, { email, password: PASSWORD });
    await isIn(page);
  },
  { told },
);

visits(
  "what a registration must have is checked",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const team = { name: "team", type: "string", required: true, unique: true, pattern: "[a-z]+", writable_by: ["person", "administrator"] };
    await set({ registration: "open", sign_in_methods: BY_CODE, attributes: [team] }, provider);
    try {
      const [email, taken] = [`checked-${locale}@example.com`, `of${locale}`];
      await createUser({ email: `first-${locale}@example.com`, attributes: { team: taken } }, provider);
      await page.goto(`${provider.base_url}/register`);
      await page.fill("#attribute-team", "red");
      await typeWrongAddress(page, "form#register");
      await isRefused(page, "#continue");
      await see("register-email-refused");
      await page.fill("#email", email);
      await page.fill("#attribute-team", "RED");
      await isRefused(page, "#continue");
      await seeAgain("register-field-refused");
      await page.fill("#attribute-team", taken);
      await page.click("#continue");
      await page.waitForSelector("form#mailed-code");
      await page.fill("#code", await provider.mailTo(email, codeIn));
      await page.fill("#password", PASSWORD);
      await page.click("#confirm");
      await page.waitForSelector("#form-error ~ form#register");
      await seeAgain("register-value-taken");
    } finally {
      await set({ attributes: null }, provider);
    }
  },
  { told },
);

visits(
  "an address that has got an account meanwhile opens no other",
  scene,
  async ({ page, see, locale }) => {
    await set({ registration: "open", sign_in_methods: BY_CODE }, provider);
    const email = `meanwhile-${locale}@example.com`;
    await atLogin(page);
    await page.click("#register");
    await page.fill("#email", email);
    await page.click("#continue");
    await page.waitForSelector("form#mailed-code");
    const code = await provider.mailTo(email, codeIn);
    const user = await somebody("meanwhile", locale, provider);
    await page.fill("#code", code);
    await page.fill("#password", PASSWORD);
    await page.click("#confirm");
    await page.waitForSelector("#notice");
    await see("account-exists");
    await page.click("#onward");
    await signIn(page, user);
    await isIn(page);
  },
  { told },
);

visits(
  "registering with the mailed link, without a password",
  scene,
  async ({ page, context, see, seeAgain, locale }) => {
    await set({ registration: "open", sign_in_methods: BY_CODE }, provider);
    const email = `linked-${locale}@example.com`;
    await page.goto(`${provider.base_url}/register`);
    await page.fill("#email", email);
    await page.click("#continue");
    await page.waitForSelector("form#mailed-code");
    const link = await provider.mailTo(email, linkIn);
    const elsewhere = await openContext(browser, { locale, reducedMotion: "reduce" });
    try {
      const stranger = await elsewhere.newPage();
      await stranger.goto(link);
      await see("link-of-another-browser", stranger);
      assert.equal(await stranger.locator("form").count(), 0);
    } finally {
      await elsewhere.close();
    }
    const opened = await context.newPage();
    await opened.goto(link);
    await seeAgain("register-link", opened);
    await opened.click("#confirm");
    await opened.waitForSelector("#places");
  },
  { told },
);

visits(
  "a code by mail signs in",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    await set({ sign_in_methods: BY_CODE }, provider);
    const { email } = await somebody("code", locale, provider);
    const asked = async () => {
      await atLogin(page);
      await page.fill("#username", email);
      await page.click("#send-code");
      await page.waitForSelector("form#email-code");
      return provider.mailTo(email, codeIn);
    };
    const code = await asked();
    await see("email-code");
    await page.fill("#code", other(code));
    await isRefused(page, "#confirm");
    await seeAgain("email-code-refused");
    await page.fill("#code", ` ${code} `);
    await page.click("#confirm");
    await isIn(page);

    // A code can be asked for once a minute.
    await provider.pass(61);
    const second = await asked();
    for (let tried = 0; tried < TRIES; tried += 1) {
      await page.fill("#code", other(second));
      await isRefused(page, "#confirm");
    }
    assert.equal(await page.locator("#code").count(), 0, "after five tries there is no field");
    await see("email-code-spent");
    await page.click("#other-way");
    await page.waitForSelector("form#login");
  },
  { told },
);

visits(
  "a link by mail signs in",
  scene,
  async ({ page, context, see, locale }) => {
    await set({ sign_in_methods: BY_LINK }, provider);
    const { email } = await somebody("link", locale, provider);
    await page.goto(authorizationUrl(site));
    await page.fill("#username", email);
    await page.click("#magic-link");
    await page.waitForSelector("#again");
    await see("magic-link-sent");
    const opened = await context.newPage();
    const link = await provider.mailTo(email, linkIn);
    await opened.goto(link);
    await see("magic-link", opened);
    const elsewhere = await openContext(browser, { locale, reducedMotion: "reduce" });
    try {
      const stranger = await elsewhere.newPage();
      await stranger.goto(link);
      assert.match(await stranger.textContent("#typed-code"), /^\d{6}$/);
      await see("magic-link-of-another-browser", stranger);
    } finally {
      await elsewhere.close();
    }
    await opened.click("#confirm");
    await isIn(opened);
    // The tab that waited for the code is led on, too.
    await page.reload();
    await isIn(page);
  },
  { told },
);

visits(
  "a forgotten password is followed by a new one",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const { email, password: forgotten } = await somebody("forgotten", locale, provider);
    const password = "the second password of theirs";
    await atLogin(page);
    await page.click("#forgot");
    await page.fill("#username", email);
    await page.click("#send");
    await page.waitForSelector("#notice");
    const link = await provider.mailTo(email, linkIn);
    await page.goto(link);
    await see("reset-password");
    await page.fill("#password", "password1");
    await isRefused(page, "#set");
    await seeAgain("reset-password-refused");
    await page.fill("#password", password);
    await page.click("#set");
    await page.waitForSelector("#onward");
    await see("password-reset");
    await page.click("#onward");
    await fill(page, { email, password: forgotten });
    await isRefused(page, "#sign-in");
    await signIn(page, { email, password });
    await isIn(page);
    await page.goto(link);
    await see("link-over");
    assert.equal(await page.locator("form#reset-password").count(), 0, "a link sets one password");
  },
  { told },
);

visits(
  "an invitation opens an account",
  scene,
  async ({ page, see, locale }) => {
    const email = `invited-${locale}@example.com`;
    await create("/invitations", { email, language: locale }, provider);
    const link = await provider.mailTo(email, linkIn);
    await page.goto(link);
    assert.equal(await page.inputValue("#email"), email);
    await see("invitation");
    await page.fill("#given-name", "Ann");
    await page.fill("#password", PASSWORD);
    await page.click("#continue");
    await page.waitForSelector("#places");
    await page.goto(link);
    await see("invitation-over");
    assert.equal(await page.locator("form#register").count(), 0, "it was used");
    await atLogin(page);
    await signIn(page, { email, password: PASSWORD });
    await isIn(page);
  },
  { told },
);

visits(
  "a new address counts when its code was typed",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const user = await somebody("moving", locale, provider);
    const email = `moved-${locale}@example.com`;
    await page.goto(`${provider.base_url}/account/profile`);
    await signIn(page, user);
    await page.click("#change-email");
    await page.waitForSelector("form#change-email");
    await typeWrongAddress(page, "form#change-email");
    await isRefused(page, "#change");
    await see("email-change-refused");
    await page.fill("#email", email);
    await page.click("#change");
    await page.waitForSelector("form#mailed-code");
    await seeAgain("email-change-code");
    await page.fill("#code", await provider.mailTo(email, codeIn));
    await page.click("#confirm");
    await page.waitForSelector("#notice, #present");
    await see("email-proven");
    await page.goto(`${provider.base_url}/account/profile`);
    assert.equal(await page.textContent("#email"), email);
  },
  { told },
);

visits(
  "an account without an address gets one",
  scene,
  async ({ page, see, seeAgain, locale }) => {
    const [name, email] = [`nameless-${locale}`, `named-${locale}@example.com`];
    await createUser({ preferred_username: name, name: "Ann Smith", password: PASSWORD }, provider);
    await page.goto(`${provider.base_url}/account/profile`);
    await signIn(page, { email: name, password: PASSWORD });
    await page.waitForSelector("#add-email");
    await see("account-profile-without-address");
    await page.click("#add-email");
    await page.waitForSelector("form#change-email");
    assert.equal(await page.locator("#present").count(), 0, "there is none that could be named");
    await seeAgain("email-first");
    await page.fill("#email", email);
    await page.click("#change");
    await page.waitForSelector("form#mailed-code");
    await page.fill("#code", await provider.mailTo(email, codeIn));
    await page.click("#confirm");
    await page.waitForSelector("#notice");
    await page.goto(`${provider.base_url}/account/profile`);
    assert.equal(await page.textContent("#email"), email);
  },
  { told, needs: "looks" },
);

visits(
  "nobody registers where it is closed",
  scene,
  async ({ page, see }) => {
    await set({ registration: "closed" }, provider);
    await page.goto(`${provider.base_url}/register`);
    await page.waitForSelector("#notice");
    await see("registration-closed");
    await page.goto(authorizationUrl(site, { prompt: "login" }));
    assert.equal(await page.locator("#register").count(), 0);
    await page.click("#cancel");
    assert.equal(await outcome(page), "access_denied");
  },
  { told: [...told, 404], needs: "looks" },
);
