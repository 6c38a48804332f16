// The frame of Session Management in headless Chromium: it answers the page that embeds it, and no other origin (Session Management 1.0 3.3).
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { authorizationUrl, createUser } from "../pages/application.js";
import { start } from "../pages/own-provider.js";
import { isIn, signIn, visiting } from "../pages/visitor.js";

const USER = { email: "watched@example.com", password: "a frame looks after the session" };

let browser;
let provider;
let site;
let stop;
let stranger;
before(async () => {
  ({ browser, provider, site, stop } = await start({ settings: { session_management: true } }));
  await createUser({ ...USER, email_verified: true }, provider);
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end('<!doctype html><html lang="en"><title>A stranger</title>');
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  stranger = { origin: `http://localhost:${server.address().port}`, close: () => server.close() };
});
after(async () => {
  stranger?.close();
  await stop?.();
});

/** Embeds a page, and waits until it is there. */
const embed = (page, name, src) =>
  page.evaluate(
    ([name, src]) =>
      new Promise((ready) => {
        const frame = Object.assign(document.createElement("iframe"), { name, src, onload: ready });
        document.body.append(frame);
      }).then(() => undefined),
    [name, src],
  );

/** What the frame answers the page that embeds it. */
const answered = (page, question) =>
  page.evaluate(
    (question) =>
      new Promise((told) => {
        addEventListener("message", ({ data }) => told(data), { once: true });
        document.querySelector("iframe[name=provider]").contentWindow.postMessage(question, "*");
      }),
    question,
  );

test("the frame answers the application, and nobody else on its page", async () => {
  await visiting(browser, provider, async (page) => {
    await page.goto(authorizationUrl(site));
    await signIn(page, USER);
    await isIn(page);
    const question = `${site.client.client_id} ${new URL(page.url()).searchParams.get("session_state")}`;
    await page.goto(`${site.origin}/`);
    await embed(page, "provider", `${provider.base_url}/check-session`);
    assert.equal(await answered(page, question), "unchanged");
    assert.equal(await answered(page, `another ${question.split(" ")[1]}`), "changed");
    assert.equal(await answered(page, "no question"), "error");

    // A page of another origin, embedded beside it.
    await embed(page, "stranger", `${stranger.origin}/`);
    const frame = page.frame("stranger");
    await frame.evaluate((question) => {
      window.told = [];
      addEventListener("message", ({ data }) => window.told.push(data));
      parent.frames[0].postMessage(question, "*");
    }, question);
    // Its question came before these, which are answered.
    for (let round = 0; round < 2; round += 1) assert.equal(await answered(page, question), "unchanged");
    assert.deepEqual(await frame.evaluate(() => window.told), []);

    await page.goto(`${provider.base_url}/logout`);
    await page.click("#confirm");
    await page.waitForSelector("text=You are signed out");
    await page.goto(`${site.origin}/`);
    await embed(page, "provider", `${provider.base_url}/check-session`);
    assert.equal(await answered(page, question), "changed");
  });
});
