// Registration and recovery in headless Chromium, as far as they go without a mailbox: with and without JavaScript, in both
// colour schemes, on a phone and on a desk; and the puzzle, which only a script solves.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { authorizationUrl, fixtures, serve, set } from "./application.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

let browser;
let site;
before(async () => {
  browser = await chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  site = await serve();
  await set({ registration: "open" });
});
after(async () => {
  await set({ registration: null, registration_puzzle: null });
  await browser?.close();
  site?.close();
});

async function visiting(options, run) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  const broken = [];
  context.on("requestfailed", (request) => broken.push(request.url()));
  context.on("console", (message) => message.type() === "error" && broken.push(message.text()));
  try {
    const page = await context.newPage();
    await page.goto(authorizationUrl(site));
    await run(page);
    assert.deepEqual(broken, [], "nothing is blocked and no script fails");
  } finally {
    await context.close();
  }
}

/** The page is no wider than the window. */
const fits = async (page) =>
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));

async function register(page, email) {
  await page.click("#register");
  await page.fill("#email", email);
  await page.fill("#given-name", "Ann");
  await page.fill("#family-name", "Smith");
  await fits(page);
  await page.click("#continue");
  await page.waitForSelector("form#mailed-code");
  assert.match(await page.textContent(".lead"), new RegExp(email.replace(".", "\\.")));
  await fits(page);
}

const WINDOWS = [
  { viewport: { width: 390, height: 844 }, colorScheme: "dark", javaScriptEnabled: false },
  { viewport: { width: 1280, height: 800 }, colorScheme: "light", javaScriptEnabled: true },
];

for (const [number, options] of WINDOWS.entries()) {
  const shape = `${options.viewport.width} px, ${options.colorScheme}, script ${options.javaScriptEnabled}`;

  test(`the login page leads to registration, whose mail is waited for (${shape})`, () =>
    visiting(options, (page) => register(page, `ann${number}@example.com`)));

  test(`the login page leads to a forgotten password and back (${shape})`, () =>
    visiting(options, async (page) => {
      await page.click("#forgot");
      await fits(page);
      await page.click("#sign-in");
      await page.click("#forgot");
      await page.fill("#username", `nobody${number}@example.com`);
      await page.click("#send");
      await page.waitForSelector("#notice");
      await fits(page);
      await page.reload();
      assert.ok(await page.isVisible("#notice"), "a reload sends nothing again");
    }));
}

test("a puzzle is solved by the page's script, and asked for without one", async () => {
  await set({ registration_puzzle: 10 });
  await visiting({}, (page) => register(page, "puzzle@example.com"));
  await visiting({ javaScriptEnabled: false }, async (page) => {
    await page.click("#register");
    assert.ok(await page.isVisible("noscript p, .notice"), "it says what is missing");
  });
  await set({ registration_puzzle: null });
});
