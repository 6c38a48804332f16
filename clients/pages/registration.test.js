// Registration and recovery in headless Chromium, beside what mail.test.js shows: the way back from a forgotten password, and the puzzle,
// which only a script solves.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { authorizationUrl, serve, set } from "./application.js";
import { launch, openContext } from "./visitor.js";

let browser;
let site;
before(async () => {
  [browser, site] = [await launch(), await serve()];
  await set({ registration: "open" });
});
after(async () => {
  await set({ registration: null, registration_puzzle: null });
  await browser?.close();
  site?.close();
});

async function visiting(options, run) {
  const context = await openContext(browser, options);
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

async function register(page, email) {
  await page.click("#register");
  await page.fill("#email", email);
  await page.fill("#given-name", "Ann");
  await page.fill("#family-name", "Smith");
  await page.click("#continue");
  await page.waitForSelector("form#mailed-code");
  assert.match(await page.textContent(".lead"), new RegExp(email.replace(".", "\\.")));
}

test("a forgotten password leads back to signing in, and a reload sends nothing again", () =>
  visiting({}, async (page) => {
    await page.click("#forgot");
    await page.click("#sign-in");
    await page.click("#forgot");
    await page.fill("#username", "nobody@example.com");
    await page.click("#send");
    await page.waitForSelector("#notice");
    await page.reload();
    assert.ok(await page.isVisible("#notice"), "a reload sends nothing again");
  }));

test("a puzzle is solved by the page's script, and asked for without one", async () => {
  await set({ registration_puzzle: 10 });
  await visiting({}, (page) => register(page, "puzzle@example.com"));
  await visiting({ javaScriptEnabled: false }, async (page) => {
    await page.click("#register");
    assert.ok(await page.isVisible("noscript p, .notice"), "it says what is missing");
  });
  await set({ registration_puzzle: null });
});
