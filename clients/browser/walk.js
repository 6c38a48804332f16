// One Chromium, and one walk through the page of development mode.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

export const fixtures = JSON.parse(readFileSync(process.env.SYMBOLON_FIXTURES, "utf8"));
const SCREENSHOTS = new URL("./screenshots/", import.meta.url).pathname;
const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
const WAIT = 60_000;

/** Starts the browser; a sandbox needs rights that containers do not give. */
export function launch() {
  if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE} is missing: install Debian's package chromium-headless-shell`);
  mkdirSync(SCREENSHOTS, { recursive: true });
  return chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** A page whose complaints are collected: console errors, refused by policy, exceptions, requests that broke. */
export class Walk {
  constructor(page, name) {
    this.page = page;
    this.name = name;
    this.complaints = [];
    this.shots = 0;
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => this.complaints.push(`exception: ${error.message}`));
    page.on("response", (response) => {
      if (response.status() >= 400) this.complaints.push(`${response.status()} ${response.url()}`);
    });
    page.setDefaultTimeout(WAIT);
  }

  static async start(browser, name) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 1000 } });
    const page = await context.newPage();
    // Violations of the policy in every frame, from before its first script.
    await page.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy: ${event.effectiveDirective} refused ${event.blockedURI}`);
      });
    });
    return new Walk(page, name);
  }

  async shoot(what) {
    this.shots += 1;
    const path = `${SCREENSHOTS}${this.name}-${this.shots}-${what}.png`;
    await this.page.screenshot({ path, fullPage: true });
  }

  async state(expected) {
    await this.page.waitForSelector(`body[data-state="${expected}"], body[data-state="error"]`);
    const found = await this.page.getAttribute("body", "data-state");
    if (found !== expected) throw new Error(`state ${found}: ${await this.page.textContent("#error")}`);
  }

  /** Opens the page, and waits until its script runs. */
  async open(url) {
    await this.page.goto(url);
    await this.page.waitForSelector('body[data-state="signed-out"] #sign-in:enabled');
  }

  /** Presses Sign in, fills in the provider's pages, and waits for the tokens. */
  async signIn() {
    const { page } = this;
    const username = await page.getAttribute("#demo-username", "data-value");
    const password = await page.getAttribute("#demo-password", "data-value");
    await page.click("#sign-in");
    await page.waitForSelector("form#login");
    await this.shoot("login");
    await page.fill("#username", username);
    await page.fill("#password", password);
    await page.click("form#login button[type=submit]");
    await page.waitForSelector('form#consent, body[data-state="signed-in"], #login-error');
    if (await page.$("form#consent")) {
      await this.shoot("consent");
      await page.click("#allow");
    }
    await this.state("signed-in");
    await this.shoot("signed-in");
  }

  /** Presses a button of the fourth step, and answers with the outcome that its card shows. */
  async use(id) {
    await this.page.click(`#${id}`);
    await this.page.waitForSelector(`#result-${id}[data-outcome]:not([aria-busy])`);
    const outcome = await this.page.getAttribute(`#result-${id}`, "data-outcome");
    await this.shoot(`${id}-${outcome}`);
    return outcome;
  }

  /** The JSON documents that a card shows. */
  async json(id) {
    const texts = await this.page.$$eval(`#result-${id} pre.json`, (all) => all.map((each) => each.dataset.json));
    return texts.filter(Boolean).map((text) => JSON.parse(text));
  }

  async signOut() {
    await this.page.click("#sign-out");
    await this.page.waitForSelector('form#logout, body[data-state="signed-out"]');
    if (await this.page.$("form#logout")) await this.page.click("#confirm");
    await this.state("signed-out");
    await this.shoot("signed-out");
  }

  /** What the page complained about, and forgets it. */
  takeComplaints() {
    return this.complaints.splice(0);
  }

  async close() {
    await this.page.context().close();
  }
}
