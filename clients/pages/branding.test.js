// Logos and styles in headless Chromium: pages load nothing from elsewhere, and an SVG runs and loads nothing.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { authorizationUrl, change, fixtures, putLogo, serve, set } from "./application.js";
import { launch, openContext, signIn } from "./visitor.js";

let browser;
let site;
let elsewhere;
const asked = [];
before(async () => {
  [browser, site] = [await launch(), await serve()];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.setHeader("content-type", "image/svg+xml").end("<svg xmlns='http://www.w3.org/2000/svg'/>");
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  elsewhere = { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
});
after(async () => {
  await set({ branding: null });
  await browser?.close();
  site?.close();
  elsewhere?.close();
});

/** A drawing that tries everything that the upload does not refuse. */
function drawing() {
  const { origin } = elsewhere;
  return `<?xml version="1.0"?>
<?xml-stylesheet href="${origin}/sheet.css" type="text/css"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 40 40" width="40" height="40"
     onload="document.title='ran';fetch('${origin}/onload')">
<style>@import url(${origin}/import.css); @font-face { font-family: f; src: url(${origin}/font) } text { font-family: f }
path { fill: #0a4d8c } rect { fill: url(${origin}/paint#p) }</style>
<path d="M0 0h40v40H0z"/><text y="9">x</text><rect width="4" height="4"/>
<image href="${origin}/image.png" width="4" height="4"/><use xlink:href="${origin}/use.svg#u"/>
<a href="javascript:document.title='ran'"><path id="link" d="M0 0h40v40H0z"/></a>
</svg>`;
}

test("pages load nothing from elsewhere, whatever a client says of itself", async () => {
  const { client } = site;
  const { origin } = elsewhere;
  await change(`/clients/${client.client_id}`, { logo_uri: `${origin}/logo.png`, policy_uri: `${origin}/p`, tos_uri: `${origin}/t` });
  await set({ branding: { help_uri: `${origin}/help`, policy_uri: `${origin}/p`, variables: { radius: "0px" } } });
  await putLogo("/branding/logo", "image/svg+xml", drawing());
  await putLogo(`/clients/${client.client_id}/logo`, "image/svg+xml", drawing());
  asked.length = 0;
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    const shown = (selector) => page.$eval(selector, (image) => image.complete && image.naturalWidth > 0);
    await page.goto(authorizationUrl(site, { prompt: "login consent" }), { waitUntil: "networkidle" });
    assert.ok((await shown("img.logo")) && (await shown("img.client-logo")), "both logos are drawn");
    await signIn(page, fixtures.user);
    await page.waitForSelector("form#consent");
    await page.waitForLoadState("networkidle");
    assert.ok(await shown("img.client-logo"));
    for (const path of ["", "/profile", "/security", "/applications", "/sessions", "/data"]) {
      await page.goto(`${fixtures.base_url}/account${path}`, { waitUntil: "networkidle" });
    }
    const foreign = requests.filter((url) => !url.startsWith(`${fixtures.base_url}/`));
    assert.ok(requests.length > 20, `${requests.length} requests`);
    assert.deepEqual(foreign, []);
    assert.deepEqual(asked, []);
  } finally {
    await context.close();
  }
});

test("an SVG that is opened by itself runs and loads nothing", async () => {
  const { path } = await putLogo("/branding/logo", "image/svg+xml", drawing());
  asked.length = 0;
  const context = await openContext(browser);
  try {
    const page = await context.newPage();
    const answer = await page.goto(`${fixtures.base_url}${path}`, { waitUntil: "networkidle" });
    assert.equal(answer.headers()["content-type"], "image/svg+xml");
    await page.mouse.click(20, 20);
    await page.waitForTimeout(200);
    assert.equal(page.url(), `${fixtures.base_url}${path}`);
    assert.notEqual(await page.title(), "ran");
    assert.deepEqual(asked, []);
  } finally {
    await context.close();
  }
});

test("a client's colours are on the pages of its requests and on no others", async () => {
  await set({ branding: { name: "Acme", variables: { ground: { light: "#ffffff" } } } });
  const branding = { name: "Shop", variables: { ground: { light: "#fffbe6" }, radius: "2px", sans: ["serif"] } };
  await change(`/clients/${site.client.client_id}`, { branding });
  const context = await openContext(browser, { colorScheme: "light" });
  try {
    const page = await context.newPage();
    const look = () =>
      page.evaluate(() => {
        const [body, card] = [document.body, document.querySelector("main.card")].map((element) => getComputedStyle(element));
        return [body.backgroundColor, card.borderRadius, document.querySelector(".brand").textContent.trim()];
      });
    await page.goto(authorizationUrl(site, { prompt: "login" }));
    assert.deepEqual(await look(), ["rgb(255, 251, 230)", "2px", "Shop"]);
    await page.goto(`${fixtures.base_url}/logout`);
    assert.deepEqual(await look(), ["rgb(255, 255, 255)", "14px", "Acme"]);
  } finally {
    await context.close();
    await change(`/clients/${site.client.client_id}`, { branding: null });
  }
});
