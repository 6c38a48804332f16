// The outbox of development mode, in headless Chromium: it is empty, shows what would be sent, and its links lead on.
import { after, before } from "node:test";
import { visits } from "../pages/look.js";
import { start } from "../pages/own-provider.js";
import { eventually } from "../pages/patience.js";

let browser;
let provider;
let stop;
before(async () => {
  ({ browser, provider, stop } = await start({ isInDevelopment: true }));
});
after(() => stop?.());

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
  await eventually("a mail in the outbox", async () => {
    await outbox.reload();
    return mail.count();
  });
  await see("outbox", outbox);
  await mail.first().locator("pre a").first().click();
  await outbox.waitForSelector("form#mailed-code");
  await outbox.fill("#password", "a password after the outbox");
  await outbox.click("#confirm");
  await outbox.waitForSelector("#places");
});
