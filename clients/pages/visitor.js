// Somebody in front of headless Chromium, who must never see an error of the provider's.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { chromium } from "playwright-core";
import { WAIT } from "./patience.js";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

export const launch = () =>
  chromium.launch({ executablePath: EXECUTABLE, timeout: 2 * WAIT, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

/** A browser context that waits as long as a slow machine needs. */
export async function openContext(browser, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(WAIT);
  return context;
}

/** A visit in a browser context of its own. `told`: the statuses from 400 on that the provider may answer with, such as 403 for a wrong password. */
export async function visiting(browser, provider, run, { told = [], ...options } = {}) {
  const context = await openContext(browser, options);
  const errors = [];
  context.on("response", (response) => {
    const isOurs = response.url().startsWith(provider.base_url);
    if (isOurs && response.status() >= 400 && !told.includes(response.status())) {
      errors.push(`${response.status()} ${response.url()}`);
    }
  });
  try {
    await run(await context.newPage(), context);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

/** What the application shows in the end. */
export const outcome = (page) => page.locator("#outcome").textContent();

/** Presses a button that sends a form, and waits for the page that comes of it: that may look like the one before. */
export async function submit(page, button) {
  const isMain = (frame) => frame === page.mainFrame();
  await Promise.all([page.waitForEvent("framenavigated", isMain), page.click(button)]);
}

/** Sends a form that is refused, with a reason on the page. */
export async function isRefused(page, button) {
  await submit(page, button);
  await page.waitForSelector("[role=alert]");
}

/** Fills the sign-in page in. */
export async function fill(page, { email, password }) {
  await page.fill("#username", email);
  await page.fill("#password", password);
}

const SIGNED_IN = "form#consent, #outcome, form#second-factor, .account-foot";

/** Signs in on the sign-in page, without a passkey if one is offered. */
export async function signIn(page, user) {
  await fill(page, user);
  await page.click("#sign-in");
  await page.waitForSelector(`#later, ${SIGNED_IN}`);
  if (await page.$("#later")) {
    await page.click("#later");
    await page.waitForSelector(SIGNED_IN);
  }
}

/** To the application from wherever the sign-in led. */
export async function goOn(page) {
  await page.waitForSelector("#later, form#consent, #outcome");
  if (await page.$("#later")) {
    await page.click("#later");
    await page.waitForSelector("form#consent, #outcome");
  }
  if (await page.$("form#consent")) await page.click("#allow");
  return outcome(page);
}

/** Fails unless the way ends at the application. */
export const isIn = async (page) => assert.equal(await goOn(page), "signed-in");

/** Presses a button twice, without waiting for what the first press leads to. */
export async function pressTwice(page, button, pause) {
  await page.locator(button).scrollIntoViewIfNeeded();
  const { x, y, width, height } = await page.locator(button).boundingBox();
  const at = [x + width / 2, y + height / 2];
  await page.mouse.click(...at);
  await new Promise((ready) => setTimeout(ready, pause));
  await page.mouse.click(...at);
}

/** The code that a generator shows at a time in seconds (RFC 6238 4). */
export function totp(secret, seconds) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret.replaceAll(" ", "")].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(seconds / 30)));
  const digest = createHmac("sha1", key).update(counter).digest();
  const number = digest.readUInt32BE(digest.at(-1) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}
