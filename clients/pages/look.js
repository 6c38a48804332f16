// How every page is looked at: by axe-core's rules (WCAG 2.2 AA), in three languages, one of them from right to left, in both
// colour schemes, narrow and wide: twelve shapes. With SYMBOLON_PICTURES_TO a picture of each is kept in that directory, or of those that
// SYMBOLON_PICTURES_OF names.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import axe from "axe-core";
import { visiting } from "./visitor.js";

const PICTURES = process.env.SYMBOLON_PICTURES_TO;
const PICTURES_OF = process.env.SYMBOLON_PICTURES_OF?.split(" ");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const HEIGHT = 900;
const WIDE = { width: 1280, height: HEIGHT };
// Scheme and width change on the open page; the last one is that in which the visit goes on.
const LOOKS = [
  ["dark", { width: 390, height: HEIGHT }],
  ["light", { width: 390, height: HEIGHT }],
  ["dark", WIDE],
  ["light", WIDE],
];

/** The languages in which every page is looked at. */
export const LOCALES = ["en", "de", "ar"];
/** The language of whoever has no scripts: its texts are the longest. */
const WITHOUT_SCRIPTS = "fr";

if (PICTURES) mkdirSync(PICTURES, { recursive: true });

/** Words that are not of the page's language: in the Arabic texts whatever is in Latin letters and longer than a name. */
function untranslated() {
  const isOther = (element) => element.closest("bdi, code, pre, svg, script, style, [lang]:not(html), [dir=ltr]");
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    if (!isOther(parentElement) && /([A-Za-z]{2,}\s+){2}[A-Za-z]{2,}/.test(textContent)) found.push(textContent.trim());
  }
  return found;
}

/** Buttons are flex boxes: text beside an element would become an item of its own, without the space between them. */
function torn() {
  const isText = ({ nodeType, textContent }) => nodeType === Node.TEXT_NODE && textContent.trim() !== "";
  const isTorn = (button) => button.childElementCount > 0 && [...button.childNodes].some(isText);
  return [...document.querySelectorAll(".button")].filter(isTorn).map(({ outerHTML }) => outerHTML);
}

async function fits(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
}

async function check(page, name, locale) {
  const [lang, dir] = await page.evaluate(() => [document.documentElement.lang, getComputedStyle(document.body).direction]);
  assert.deepEqual([lang, dir], [locale, locale === "ar" ? "rtl" : "ltr"], name);
  if (locale === "ar") assert.deepEqual(await page.evaluate(untranslated), [], name);
  assert.deepEqual(await page.evaluate(torn), [], name);
  await page.evaluate(axe.source);
  for (const [colorScheme, viewport] of LOOKS) {
    const look = `${locale}-${colorScheme}-${viewport.width}`;
    const shape = `${name}-${look}`;
    const isKept = PICTURES && (PICTURES_OF?.includes(look) ?? true);
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await fits(page, shape);
    const { violations } = await page.evaluate((rules) => window.axe.run(document, { runOnly: rules }), RULES);
    const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`);
    if (isKept) await page.screenshot({ path: `${PICTURES}/${shape}.png`, fullPage: true });
    assert.deepEqual(told, [], shape);
  }
}

/**
 * A visit as tests: in each language with a look at every page that it shows to `see`, and once without scripts on a phone, where
 * `needs` is not "scripts". The visit gets a page of its own, its context, `see(name)`, the language, and whether there are scripts.
 * What the page's policy blocks or its scripts throw fails, as statuses from 400 on do which are not `told`.
 */
export function visits(what, { browser, provider }, run, { told = [], needs } = {}) {
  const once = (locale, hasScripts, see) => () => {
    const options = { locale, javaScriptEnabled: hasScripts, viewport: WIDE, reducedMotion: "reduce", told };
    if (!hasScripts) options.viewport = { width: 390, height: HEIGHT };
    return visiting(
      browser(),
      provider(),
      async (page, context) => {
        const complaints = [];
        context.on("weberror", (error) => complaints.push(String(error.error())));
        context.on("console", (message) => /Content Security Policy/.test(message.text()) && complaints.push(message.text()));
        await run({ page, context, locale, hasScripts, see: (name, where = page) => see(where, name, locale) });
        assert.deepEqual(complaints, []);
      },
      options,
    );
  };
  for (const locale of LOCALES) test(`${what}: ${locale}`, once(locale, true, check));
  if (needs !== "scripts") test(`${what}: without scripts`, once(WITHOUT_SCRIPTS, false, fits));
}
