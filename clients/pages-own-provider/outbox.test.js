// The outbox of development mode, in headless Chromium: it is empty, shows what would be sent, and its links lead on.
import { after, before } from "node:test";
import { NAMED, set } from "../pages/application.js";
import { visits } from "../pages/look.js";
import { startProvider } from "../pages/provider.js";
import { launch } from "../pages/visitor.js";

let browser;
let provider;
before(async () => {
  [browser, provider] = [await launch(), await startProvider({ isInDevelopment: true })];
  await set({ branding: NAMED }, provider);
});
after(async () => {
  await browser?.close();
  await provider?.stop();
});

const scene = { browser: () => browser, provider: () => provider };

// First, since there is one outbox for everybody: it is empty until somebody registers.
visits(
  "the outbox is empty",
  scene,
  async ({ page, see }) => {
    await page.goto(`${provider.base_url}/outbox`);
    await page.waitForSelector("#empty");
    await see("outbox-empty");
  },
  { needs: "looks" },
);

visits("somebody registers with what the outbox shows", scene, async ({ page, context, see, locale }) => {
  const email = `outbox-${locale}@example.com`;
  const outbox = await context.newPage();
  await outbox.goto(`${provider.base_url}/outbox`);
  await page.goto(`${provider.base_url}/register`);
  await page.fill("#email", email);
  await page.click("#continue");
  await page.waitForSelector("form#mailed-code");
  const mail = outbox.locator("section.mail").filter({ hasText: email });
  const end = Date.now() + 20_000;
  while ((await mail.count()) === 0 && Date.now() < end) {
    await outbox.waitForTimeout(100);
    await outbox.reload();
  }
  await see("outbox", outbox);
  await mail.first().locator("pre a").first().click();
  await outbox.waitForSelector("form#mailed-code");
  await outbox.fill("#password", "a password after the outbox");
  await outbox.click("#confirm");
  await outbox.waitForSelector("#places");
});
