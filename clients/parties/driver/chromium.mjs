// Chromium at the end of a pipe: each line of standard input is a command as JSON, and each line of standard output its
// answer. `chromium.py` writes and reads them. Tabs share their cookies, and are known by names.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const WAIT = 60_000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
const context = await browser.newContext();
context.setDefaultTimeout(WAIT);
const tabs = new Map();
// The addresses that every tab and frame asked for, and what their scripts wrote to the console.
const asked = [];
const said = [];
context.on("request", (request) => asked.push(request.url()));
context.on("console", (message) => said.push(message.text()));

async function tabOf(name) {
  if (!tabs.has(name)) tabs.set(name, await context.newPage());
  return tabs.get(name);
}

/** Fills in the provider's pages until it leads away from them. */
async function signIn(tab, { provider, email, password }) {
  await tab.fill("#username", email);
  await tab.fill("#password", password);
  await tab.click("#sign-in");
  const isAnswered = (origin) => location.origin !== origin || document.querySelector("form#consent") !== null;
  await tab.waitForFunction(isAnswered, provider);
  if (await tab.$("form#consent")) {
    await tab.click("#allow");
    await tab.waitForURL((url) => url.origin !== provider);
  }
  await tab.waitForLoadState();
}

const COMMANDS = {
  open: (tab, { url }) => tab.goto(url),
  sign_in: signIn,
  press: (tab, { selector }) => tab.click(selector),
  wait_for: (tab, { selector }) => tab.waitForSelector(selector, { state: "attached" }),
  look: () => undefined,
};

/** Carries a command out, and answers with where its tab is then. */
async function answer({ tab: name, command, ...more }) {
  const tab = await tabOf(name);
  await COMMANDS[command](tab, more);
  return { url: tab.url(), text: await tab.content(), asked: asked.splice(0), said: said.splice(0) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = await answer(JSON.parse(line)).catch((error) => ({ error: String(error.stack ?? error) }));
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
await browser.close();
