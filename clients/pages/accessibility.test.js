// Every page in headless Chromium by axe-core's rules (WCAG 2.2 AA), in three languages, one of them from right to left, in both
// colour schemes, narrow and wide. With SYMBOLON_PICTURES_TO every combination is visited, and a picture of each page kept.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { authorizationUrl, fixtures, putLogo, serve, set } from "./application.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PICTURES = process.env.SYMBOLON_PICTURES_TO;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const MOST_BYTES = 30 * 1024;
const LOGO = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 80 20'><path fill='#0a4d8c' d='M0 0h80v20H0z'/></svg>";
// The strangest values that are accepted: everything has nearly the least contrast, and lengths are at their bounds.
const BRANDING = {
  name: "Acme",
  accent: { light: "#0a4d8c", dark: "#8cc4ff" },
  variables: PICTURES ? null : {
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
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  site = await serve();
  await set({ registration: "open", sign_in_methods: ["password", "email_code", "passkey"], branding: BRANDING });
  await putLogo("/branding/logo", "image/svg+xml", LOGO);
  await putLogo(`/clients/${site.client.client_id}/logo`, "image/svg+xml", LOGO);
  if (PICTURES) await mkdir(PICTURES, { recursive: true });
});
after(async () => {
  await set({ registration: null, sign_in_methods: null, branding: null });
  await browser?.close();
  site?.close();
});

/** Fails unless the page fits its window and is in its language. Answers with the rules that it does not keep. */
async function check(page, name, { locale, colorScheme, viewport }) {
  const [lang, dir] = await page.evaluate(() => [document.documentElement.lang, getComputedStyle(document.body).direction]);
  assert.equal(lang, locale, name);
  assert.equal(dir, locale === "ar" ? "rtl" : "ltr", name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules }), RULES);
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`);
  if (PICTURES) {
    const path = `${PICTURES}/${name}-${locale}-${colorScheme}-${viewport.width}.png`;
    await page.screenshot({ path, fullPage: true });
  }
  return told.map((text) => `${name}: ${text}`);
}

/** What somebody sees who is not signed in. */
async function strangersPages(page, see) {
  const { base_url } = fixtures;
  await page.goto(authorizationUrl(site));
  await see("sign-in");
  await page.fill("#username", fixtures.user.email);
  await page.fill("#password", "a wrong password");
  await page.click("#sign-in");
  await page.waitForSelector("[role=alert]");
  await see("sign-in-refused");
  await page.click("#forgot");
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
  await page.click("#confirm");
  await page.waitForSelector("[role=alert]");
  await see("mailed-code-refused");
  await page.goto(`${base_url}/authorize?client_id=nobody&response_type=code`);
  await see("error");
}

const ACCOUNT = ["", "profile", "email", "password", "security", "security/generator", "security/passkey"];
const MORE = ["sessions", "applications", "data"];

/** What somebody sees who signs in, looks at the account, and signs out. */
async function personsPages(page, see) {
  const { base_url } = fixtures;
  await page.goto(authorizationUrl(site, { prompt: "login consent" }));
  await page.fill("#username", fixtures.user.email);
  await page.fill("#password", fixtures.user.password);
  await page.click("#sign-in");
  await page.waitForSelector("form#consent, #later");
  if (await page.$("#later")) {
    await see("passkey-offer");
    await page.click("#later");
  }
  await page.waitForSelector("form#consent");
  await see("consent");
  for (const path of [...ACCOUNT, ...MORE]) {
    await page.goto(`${base_url}/account/${path}`.replace(/\/$/, ""));
    await see(`account-${path.replace("/", "-") || "overview"}`);
  }
  await page.goto(`${base_url}/logout`);
  await see("sign-out");
  await page.click("#confirm");
  await page.waitForLoadState();
  await see("signed-out");
}

const windows = ["en", "de", "ar"].flatMap((locale) =>
  ["light", "dark"].flatMap((colorScheme) =>
    [390, 1280].map((width) => ({ locale, colorScheme, viewport: { width, height: 900 } })),
  ),
);
// Without pictures each language, scheme and width once with each other, or nearly.
const SOME = ["en light 1280", "de dark 390", "ar light 390", "ar dark 1280"];

for (const options of windows) {
  const shape = `${options.locale} ${options.colorScheme} ${options.viewport.width}`;
  if (!PICTURES && !SOME.includes(shape)) continue;
  for (const [who, visit] of Object.entries({ strangersPages, personsPages })) {
    test(`axe-core finds nothing in ${who}: ${shape}`, async () => {
      const context = await browser.newContext(options);
      context.setDefaultTimeout(20_000);
      try {
        const page = await context.newPage();
        const told = [];
        await visit(page, async (name) => told.push(...(await check(page, name, options))));
        assert.deepEqual(told, []);
      } finally {
        await context.close();
      }
    });
  }
}

// The provider sends its pages as they are; a proxy in front of it may compress the files that pages load.
test("the sign-in page and its files take few bytes, compressed", async (t) => {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const answers = [];
    // The bytes of logos are those that somebody uploaded.
    const isPart = (response) => response.ok() && !new URL(response.url()).pathname.endsWith("/logo");
    page.on("response", (response) => isPart(response) && answers.push(response.body()));
    await page.goto(authorizationUrl(site), { waitUntil: "networkidle" });
    const bodies = await Promise.all(answers);
    const whole = bodies.reduce((sum, body) => sum + body.length, 0);
    const compressed = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
    const paints = await page.evaluate(() => performance.getEntriesByType("paint").map((entry) => entry.startTime));
    t.diagnostic(`${whole} bytes, compressed ${compressed}, first paint after ${Math.round(paints[0])} ms`);
    assert.ok(compressed > 0 && compressed < MOST_BYTES, `${compressed} bytes`);
  } finally {
    await context.close();
  }
});
