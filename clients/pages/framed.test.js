// A page of another site that frames the provider's pages, in headless Chromium: the frame stays empty, so nobody can be made to press
// a button that they do not see (RFC 6749 10.13). Answers that are meant for a frame do come into it. That every page forbids it by its
// headers is shown in crates/testkit/tests/it/page_rows/guarded.rs.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { authorizationUrl, fixtures, serve } from "./application.js";
import { goOn, launch, openContext, signIn } from "./visitor.js";

let browser;
let site;
let trap;
before(async () => {
  [browser, site] = [await launch(), await serve()];
  const server = createServer((request, response) => {
    const framed = new URL(request.url, "http://trap").searchParams.get("framed")?.replaceAll("&", "&amp;");
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><html lang="en"><title>A trap</title><iframe name="framed" width="900" height="900" src="${framed}">`);
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  // Another port of the provider's own host: the same site, whose frames get its cookies.
  trap = { origin: `http://localhost:${server.address().port}`, close: () => server.close() };
});
after(async () => {
  await browser?.close();
  site?.close();
  trap?.close();
});

/** Frames an address; answers with the frame when it has what it gets. */
async function framed(page, url) {
  await page.goto(`${trap.origin}/?framed=${encodeURIComponent(url)}`, { waitUntil: "load" });
  return page.frame("framed");
}

/** Chromium shows a page of its own in place of one that may not be framed. */
async function isEmpty(page, url) {
  const frame = await framed(page, url);
  await frame.waitForURL(/^chrome-error:/);
  assert.equal(await frame.locator("form, .card").count(), 0, url);
}

test("Chromium shows no page in a frame, before and after signing in, and the answer to a silent request in one", async () => {
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    await page.goto(authorizationUrl(site, { prompt: "consent" }));
    const login = page.url();
    assert.match(login, /\/login\?/);
    await isEmpty(page, login);

    await page.goto(login);
    await signIn(page, fixtures.user);
    await page.waitForSelector("form#consent");
    const consent = page.url();
    await isEmpty(page, consent);
    await isEmpty(page, authorizationUrl(site, { prompt: "select_account" }));

    await page.goto(consent);
    assert.equal(await goOn(page), "signed-in");
    // The frame itself works: a silent request is answered in it.
    const frame = await framed(page, authorizationUrl(site, { prompt: "none" }));
    await frame.waitForSelector("#outcome");
    assert.equal(await frame.locator("#outcome").textContent(), "signed-in");
  } finally {
    await context.close();
  }
});
