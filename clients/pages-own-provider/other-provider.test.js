// Signing in with another provider, which is a second issuer of the same server, in headless Chromium: the button, signing up,
// somebody whom no account knows, connecting and disconnecting on the account page, and a provider that is away.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { authorizationUrl, create, createUser, set } from "../pages/application.js";
import { visits } from "../pages/look.js";
import { start } from "../pages/own-provider.js";
import { fill, isIn, signIn } from "../pages/visitor.js";

const PASSWORD = "the same password at both of them";
// The same issuer by several ids.
const PROVIDERS = {
  acme: { name: "Acme", sign_up: true },
  strict: { name: "Acme for known people" },
  routed: { name: "Acme of the domain", sign_up: true, email_domains: ["routed.example"] },
};

let browser;
let provider;
let site;
let stop;
before(async () => {
  ({ browser, provider, site, stop } = await start({
    // Without ways by mail, a provider may be the only way in.
    settings: { sign_in_methods: ["password", "passkey"] },
    environment: { SYMBOLON_OUTBOUND_ALLOW_PRIVATE: "true" },
  }));
  const issuer = `${provider.base_url}/acme`;
  await create("/issuers", { id: "acme", url: issuer }, provider);
  for (const [id, more] of Object.entries(PROVIDERS)) {
    const members = {
      client_name: "The other side",
      redirect_uris: [`${provider.base_url}/login/callback/${id}`],
      scope: "openid profile email",
      grant_types: ["authorization_code"],
    };
    const { client } = await create("/issuers/acme/clients", members, provider);
    const { client_id, client_secret } = client;
    await create("/identity-providers", { id, issuer, client_id, client_secret, ...more }, provider);
  }
  const away = { id: "away", name: "Nobody", issuer: "http://127.0.0.1:9/", client_id: "us", client_secret: "a secret" };
  await create("/identity-providers", away, provider);
});
after(() => stop?.());

const scene = { browser: () => browser, provider: () => provider };
const told = [400, 403, 409, 502, 503];
const atLogin = (page) => page.goto(authorizationUrl(site, { prompt: "login" }));
const press = (page, id) => page.click(`#providers button[value=${id}]`);

/** Somebody with an account at the other provider. */
async function there(what, locale, domain = "example.com") {
  const user = { email: `${what}-${locale}@${domain}`, password: PASSWORD };
  await create("/issuers/acme/users", { ...user, email_verified: true, name: "Ann There" }, provider);
  return user;
}

/** Signs in at the other provider, and allows what is asked for there. */
async function signInThere(page, user) {
  await page.waitForURL(/\/acme\/login/);
  await fill(page, user);
  await page.click("#sign-in");
  await page.waitForSelector("#later, form#consent");
  if (await page.$("#later")) await page.click("#later");
  await page.waitForSelector("form#consent");
  await page.click("#allow");
}

visits(
  "who signs in with another provider gets an account, and comes back to it",
  scene,
  async ({ page, context, see, locale }) => {
    const user = await there("new", locale);
    await atLogin(page);
    await see("sign-in-providers");
    await press(page, "acme");
    await signInThere(page, user);
    await isIn(page);
    await context.clearCookies({ name: "symbolon_session" });
    await page.goto(authorizationUrl(site));
    await press(page, "acme");
    await page.waitForSelector("#later, form#consent, #outcome");
    await isIn(page);
    await page.goto(`${provider.base_url}/account/profile`);
    assert.equal(await page.textContent("#email"), user.email);
  },
  { told },
);

visits(
  "who has no account is told what to do",
  scene,
  async ({ page, see, locale }) => {
    const user = await there("stranger", locale);
    await atLogin(page);
    await press(page, "strict");
    await signInThere(page, user);
    await page.waitForSelector("[role=alert]");
    await see("sign-in-provider-unknown");
    assert.equal(await page.locator("form#login").count(), 1, "another way to sign in is at hand");
  },
  { told, needs: "looks" },
);

visits(
  "a provider that is away is told, and another way is at hand",
  scene,
  async ({ page, see }) => {
    await atLogin(page);
    await press(page, "away");
    await page.waitForSelector("[role=alert]");
    await see("sign-in-provider-away");
    assert.equal(await page.locator("form#login").count(), 1);
  },
  { told, needs: "looks" },
);

visits(
  "an account is connected and disconnected on its page",
  scene,
  async ({ page, see, locale }) => {
    const own = { email: `here-${locale}@example.com`, password: PASSWORD };
    await createUser({ ...own, email_verified: true, name: "Ann Here" }, provider);
    const user = await there("connected", locale);
    await page.goto(`${provider.base_url}/account/security`);
    await signIn(page, own);
    await see("account-providers");
    await page.click("button[name=connect][value=strict]");
    await signInThere(page, user);
    await page.waitForSelector("#notice[role=status]");
    await see("account-provider-connected");
    assert.match(await page.textContent("main"), new RegExp(user.email));

    await atLogin(page);
    await press(page, "strict");
    await page.waitForSelector("#password, #later, form#consent, #outcome");
    if (await page.$("#password")) await signInThere(page, user);
    await isIn(page);
    await page.goto(`${provider.base_url}/account/profile`);
    assert.equal(await page.textContent("#email"), own.email, "it leads into the account that it was connected with");
    await page.goto(`${provider.base_url}/account/security`);
    await page.click("button[name=disconnect]");
    await page.waitForSelector("#notice[role=status]");
    assert.equal(await page.locator("button[name=disconnect]").count(), 0);
  },
  { told },
);

visits(
  "the only way to sign in stays",
  scene,
  async ({ page, see, locale }) => {
    const user = await there("only", locale);
    await atLogin(page);
    await press(page, "acme");
    await signInThere(page, user);
    await isIn(page);
    await page.goto(`${provider.base_url}/account/security`);
    await page.click("button[name=disconnect]");
    await page.waitForSelector("#notice[role=alert]");
    await see("account-provider-last");
    assert.equal(await page.locator("button[name=disconnect]").count(), 1);
  },
  { told, needs: "looks" },
);

visits(
  "an address leads to the provider of its domain",
  scene,
  async ({ page, see, locale }) => {
    const user = await there("ann", locale, "routed.example");
    await set({ sign_in_page: "identifier_first" }, provider);
    try {
      await atLogin(page);
      await see("identifier-providers");
      await page.fill("#username", user.email);
      await page.click("#next");
      await signInThere(page, user);
      await isIn(page);
      await page.goto(`${provider.base_url}/account/profile`);
      assert.equal(await page.textContent("#email"), user.email);
    } finally {
      await set({ sign_in_page: null }, provider);
    }
  },
  { told },
);
