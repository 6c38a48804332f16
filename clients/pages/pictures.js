// Makes the pictures in docs/pictures out of those that the tests keep: each page in the shapes that SYMBOLON_PICTURES_OF names.
//
//     node pictures.js DIRECTORY-OF-THE-TESTS docs/pictures
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./visitor.js";

const SHAPES = process.env.SYMBOLON_PICTURES_OF.split(" ");
const SCALE = 0.55;
const QUALITY = 55;

/** What is shown, and under which heading. */
const PAGES = {
  "Signing in": {
    "sign-in": "everything at once",
    "sign-in-refused": "a wrong password",
    identifier: "the name first",
    "identifier-ways": "and then the ways that are offered",
    "sign-in-by-passkey": "a passkey alone",
    "sign-in-passkey-unknown": "a passkey that was removed from the account",
    "sign-in-by-mail": "mail alone",
    "email-code": "a code by mail",
    "email-code-spent": "after five wrong codes",
    "magic-link-sent": "a link by mail",
    "magic-link": "the link, opened in the browser that asked",
    "magic-link-of-another-browser": "and in another one",
    "sign-in-providers": "with other providers",
    "sign-in-provider-unknown": "somebody whom no account knows",
    "select-account": "several accounts in one browser",
    consent: "what an application asks for",
  },
  "A second factor": {
    "second-factor": "a code of the generator, or a recovery code",
    "second-factor-remember": "where browsers may be remembered",
    "second-factor-passkey": "a passkey as the second factor",
    "second-factor-setup": "set up on the way to an application that needs two",
    "recovery-codes": "the recovery codes, which are shown once",
  },
  "Registration and recovery": {
    register: "opening an account",
    "register-code": "the mailed code, and a password",
    invitation: "an invitation",
    "invitation-over": "an invitation that was used",
    forgotten: "a forgotten password",
    "reset-password-with-code": "the new one, with the second factor",
    "link-of-another-browser": "a link that another browser asked for",
  },
  "The account": {
    "account-overview": "where it begins",
    "account-profile": "the profile",
    "account-email": "another address",
    "account-password": "another password",
    "account-security-with-passkeys": "passkeys",
    "account-security-with-generator": "a generator of codes, and its recovery codes",
    "account-provider-connected": "connected providers",
    "account-sessions-of-two-devices": "sessions",
    "account-applications-with-one": "applications",
    "account-data-with-password": "a copy of the data, and the end of the account",
    "account-deleted": "the account was deleted",
  },
  "And the rest": {
    "sign-out-of-several": "signing out of one of several accounts",
    "signed-out": "signed out",
    error: "a request that cannot be answered",
    outbox: "the outbox of development mode",
  },
};

const [taken, pictures] = process.argv.slice(2);
if (!pictures) throw new Error("usage: node pictures.js DIRECTORY-OF-THE-TESTS docs/pictures");
const folder = join(pictures, "pages");

/** One picture of a page in its shapes, side by side. */
async function draw(page, devtools, name) {
  const shots = SHAPES.map((shape) => readFileSync(join(taken, `${name}-${shape}.png`)).toString("base64"));
  const images = shots.map((shot) => `<img src="data:image/png;base64,${shot}">`).join("");
  const style = `body { display: inline-flex; gap: 12px; align-items: start; margin: 0; padding: 12px; background: #c9c9c9 } img { zoom: ${SCALE} }`;
  await page.setContent(`<style>${style}</style><body>${images}`, { waitUntil: "load" });
  const clip = await page.evaluate(() => {
    const { width, height } = document.body.getBoundingClientRect();
    return { x: 0, y: 0, width: Math.ceil(width), height: Math.ceil(height), scale: 1 };
  });
  const options = { format: "webp", quality: QUALITY, captureBeyondViewport: true, clip };
  const { data } = await devtools.send("Page.captureScreenshot", options);
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, "base64"));
}

function readme() {
  const lines = [
    "# Pictures of the pages",
    "",
    "Each in English on a desk, in German in the dark on a phone, and in Arabic on a phone. The tests look at every page in twelve shapes: three",
    "languages, both colour schemes, 390 and 1,280 px wide; at four of these by axe-core's rules, too. `clients/pictures target/debug/symbolon` draws",
    "the pictures anew, and writes this page. [walk-through.png](walk-through.png) is the page of development mode.",
  ];
  for (const [heading, pages] of Object.entries(PAGES)) {
    lines.push("", `## ${heading}`);
    for (const [name, words] of Object.entries(pages)) lines.push("", `${words[0].toUpperCase()}${words.slice(1)}:`, "", `![${words}](pages/${name}.webp)`);
  }
  return `${lines.join("\n")}\n`;
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const browser = await launch();
try {
  const page = await browser.newPage();
  const devtools = await page.context().newCDPSession(page);
  for (const name of Object.values(PAGES).flatMap(Object.keys)) await draw(page, devtools, name);
} finally {
  await browser.close();
}
writeFileSync(join(pictures, "README.md"), readme());
