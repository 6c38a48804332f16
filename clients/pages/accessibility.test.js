// Every page that needs no mailbox in headless Chromium, in its twelve shapes, under branding at its bounds; and how much the sign-in page
// weighs, and how soon it is there.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { NAMED, authorizationUrl, fixtures, putLogo, serve, set } from "./application.js";
import { visits } from "./look.js";
import { isIn, isRefused, launch, openContext, outcome, signIn, submit } from "./visitor.js";

// Pictures are of the pages as they come.
const IS_BRANDED = !process.env.SYMBOLON_PICTURES_TO;
const MOST_BYTES = 30 * 1024;
const LOADS = 5;
const LOGO = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 80 20'><path fill='#0a4d8c' d='M0 0h80v20H0z'/></svg>";
// The strangest values that are accepted: everything has nearly the least contrast, and lengths are at their bounds.
const BRANDING = {
  name: "Acme",
  accent: { light: "#0a4d8c", dark: "#8cc4ff" },
  variables: {
    ground: { light: "#ffffff", dark: "#000000" },
    surface: { light: "#ffffff", dark: "#000000" },
    sunken: { light: "#ffffff", dark: "#000000" },
    tint: { light: "#ffffff", dark: "#000000" },
    ink: { light: "#767676", dark: "#757575" },
    muted: { light: "#767676", dark: "#757575" },
    line: { light: "#ffffff", dark: "#000000" },
    edge: { light: "#949494", dark: "#5a5a5a" },
    danger: { light: "#d93025", dark: "#e5483b" },
    "danger-tint": { light: "#ffffff", dark: "#000000" },
    radius: "32px",
    "control-radius": "24px",
    spacing: "64px",
    sans: ["ui-monospace", "monospace"],
    shadow: "none",
  },
  help_uri: "https://acme.example/help",
  policy_uri: "https://acme.example/privacy",
  tos_uri: "https://acme.example/terms",
  intro: "One account for everything at Acme",
  foot: "Acme Ltd, Example Street 1",
};

let browser;
let site;
before(async () => {
  [browser, site] = [await launch(), await serve()];
  await set({ registration: "open", sign_in_methods: ["password", "email_code", "passkey"] });
  await set({ branding: IS_BRANDED ? BRANDING : NAMED });
  if (!IS_BRANDED) return;
  await putLogo("/branding/logo", "image/svg+xml", LOGO);
  await putLogo(`/clients/${site.client.client_id}/logo`, "image/svg+xml", LOGO);
});
after(async () => {
  await set({ registration: null, sign_in_methods: null, branding: null });
  await browser?.close();
  site?.close();
});

const scene = { browser: () => browser, provider: () => fixtures };
const told = [400, 403];

/** What somebody sees who is not signed in. */
async function strangersPages({ page, see, hasScripts }) {
  const { base_url } = fixtures;
  await page.goto(authorizationUrl(site));
  await see("sign-in");
  const ofPasskeys = page.locator("#use-passkey:visible, noscript p:visible");
  if (!hasScripts) assert.equal(await ofPasskeys.count(), 0, "without scripts nothing of passkeys is shown beside the password");
  await page.fill("#username", fixtures.user.email);
  await page.fill("#password", "a wrong password");
  await isRefused(page, "#sign-in");
  await see("sign-in-refused");
  await page.click("#forgot");
  await page.waitForSelector("#send");
  await see("forgotten");
  await page.fill("#username", "nobody@example.com");
  await page.click("#send");
  await page.waitForSelector("#notice");
  await see("forgotten-sent");
  await page.goto(`${base_url}/register`);
  await see("register");
  await page.fill("#email", "new@example.com");
  await page.click("#continue");
  await page.waitForSelector("form#mailed-code");
  await see("mailed-code");
  await page.fill("#code", "000000");
  await page.fill("#password", "a password that nobody else has");
  await isRefused(page, "#confirm");
  await see("mailed-code-refused");
  await page.goto(`${base_url}/authorize?client_id=nobody&response_type=code`);
  await see("error");
  await page.goto(`${base_url}/`);
  await page.waitForSelector("#discovery");
  await see("root");
}

const ACCOUNT = ["", "profile", "email", "password", "security", "security/generator", "security/passkey"];
const MORE = ["sessions", "applications", "data"];

/** What somebody sees who signs in, looks at the account, and signs out. */
async function personsPages({ page, see }) {
  const { base_url } = fixtures;
  await page.goto(authorizationUrl(site, { prompt: "login consent" }));
  await signIn(page, fixtures.user);
  await page.waitForSelector("form#consent");
  await see("consent");
  for (const path of [...ACCOUNT, ...MORE]) {
    await page.goto(`${base_url}/account/${path}`.replace(/\/$/, ""));
    await see(`account-${path.replace("/", "-") || "overview"}`);
  }
  await page.goto(`${base_url}/logout`);
  await see("sign-out");
  await submit(page, "#confirm");
  await see("signed-out");
}

/** An answer that a form brings to the application: by itself where scripts run, which is held back for a look. */
async function formsPage({ page, see, hasScripts }) {
  await page.goto(authorizationUrl(site));
  await signIn(page, fixtures.user);
  await isIn(page);
  await page.route(/\/form-post/, (route) => route.abort());
  await page.goto(authorizationUrl(site, { response_mode: "form_post" }));
  await page.waitForSelector("form#form-post");
  await see("form-post");
  await page.click("form#form-post button");
  assert.equal(await outcome(page), "signed-in");
  if (!hasScripts) return;
  await page.unrouteAll();
  await page.goto(authorizationUrl(site, { response_mode: "form_post" }), { waitUntil: "commit" });
  assert.equal(await outcome(page), "signed-in", "nobody has pressed the button");
}

visits("a stranger's pages", scene, strangersPages, { told });
visits("a person's pages", scene, personsPages, { told });
visits("an answer by a form", scene, formsPage);

// What comes over the wire, headers among it: files compressed, the page itself not, because it holds secrets whose length would show.
test("the sign-in page and its files take few bytes on the wire", async (t) => {
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    const parts = [];
    // The bytes of logos are those that somebody uploaded.
    const isPart = (response) => response.ok() && !new URL(response.url()).pathname.endsWith("/logo");
    page.on("response", (response) => isPart(response) && parts.push(response));
    await page.goto(authorizationUrl(site), { waitUntil: "networkidle" });
    const sum = (numbers) => numbers.reduce((one, other) => one + other, 0);
    const sizes = await Promise.all(parts.map((response) => response.request().sizes()));
    const whole = sum((await Promise.all(parts.map((response) => response.body()))).map(({ length }) => length));
    const bodies = sum(sizes.map(({ responseBodySize }) => responseBodySize));
    const headers = sum(sizes.map(({ responseHeadersSize }) => responseHeadersSize));
    t.diagnostic(`${bodies} bytes and ${headers} of headers in ${parts.length} answers, ${whole} bytes when unpacked`);
    assert.ok(bodies > 0 && bodies < whole, "files come compressed");
    assert.ok(bodies + headers < MOST_BYTES, `${bodies + headers} bytes`);
  } finally {
    await context.close();
  }
});

/** When something of a page was first to be seen, in milliseconds after a browser with an empty cache set out for it (Paint Timing 4). */
async function paintedAfter(url) {
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    await page.goto(url);
    return await page.evaluate(async () => {
      const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
      while (!painted()) await new Promise((ready) => setTimeout(ready, 5));
      return painted().startTime;
    });
  } finally {
    await context.close();
  }
}

// For who reads the output: no test judges a time. Whatever else the machine does makes a load slower and none faster, so the best of several is told,
// beside that of a page of one word. The page is three requests, one after another: the application's, the page, its style sheet; that of a word is one.
test("how soon the sign-in page is painted is told", async (t) => {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<!doctype html><p>word"));
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const bare = `http://127.0.0.1:${server.address().port}/`;
  const [times, words] = [[], []];
  try {
    while (times.length < LOADS) {
      words.push(await paintedAfter(bare));
      times.push(await paintedAfter(authorizationUrl(site)));
    }
  } finally {
    server.close();
  }
  const usual = (all) => all.toSorted((one, other) => one - other)[Math.floor(all.length / 2)];
  const figure = (all) => `${Math.round(Math.min(...all))} ms at best, usually ${Math.round(usual(all))}`;
  t.diagnostic(`first paint after ${figure(times)}; of a word after ${figure(words)}; ${LOADS} loads of each`);
});
