// Signs in at a party with Chromium and takes the picture of its page that the recipe shows.
// usage: node picture.mjs URL FILE EMAIL PASSWORD [--bearer TOKEN] [--press SELECTOR]
// `clients/run BINARY parties/openid-client` installs Playwright for it.
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { bearer: { type: "string" }, press: { type: "string" } },
});
const [url, path, email, password] = positionals;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
try {
  const page = await browser.newPage({ viewport: { width: 800, height: 360 } });
  page.setDefaultTimeout(20_000);
  if (values.bearer) await page.setExtraHTTPHeaders({ authorization: `Bearer ${values.bearer}` });
  await page.goto(url);
  if (values.press) await page.click(values.press);
  if (!values.bearer) {
    await page.fill("#username", email);
    await page.fill("#password", password);
    await page.click("#sign-in");
    await page.waitForLoadState();
    if (await page.$("form#consent")) await page.click("#allow");
    await page.waitForURL((now) => now.origin === new URL(url).origin);
    await page.waitForLoadState();
  }
  await page.screenshot({ path });
} finally {
  await browser.close();
}
