// How every page is looked at: in three languages, one of them from right to left, in both colour schemes, narrow and wide: twelve
// shapes, by axe-core's rules too (WCAG 2.2 AA): in four of the shapes, or with SYMBOLON_AXE=all in each, and where there are no scripts,
// which takes several times as long. With SYMBOLON_PICTURES_TO a picture of each is kept in that directory, or of those that
// SYMBOLON_PICTURES_OF names.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { test } from "node:test";
import axe from "axe-core";
import { openContext, visiting } from "./visitor.js";

// Each scheme at each width once, and each language.
const BY_AXE = ["en-dark-390", "en-light-1280", "de-dark-1280", "ar-light-390"];
const IS_ALL_BY_AXE = process.env.SYMBOLON_AXE === "all";
const PICTURES = process.env.SYMBOLON_PICTURES_TO;
const PICTURES_OF = process.env.SYMBOLON_PICTURES_OF?.split(" ");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const HEIGHT = 900;
const NARROW = { width: 390, height: HEIGHT };
const WIDE = { width: 1280, height: HEIGHT };
// Scheme and width change on the open page; the last one is that in which the visit goes on.
const LOOKS = [
  ["dark", NARROW],
  ["light", NARROW],
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
  const isOther = (element) => element.closest("bdi, code, pre, svg, script, style, textarea, [lang]:not(html), [dir=ltr]");
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

/** The page is no wider than its window. */
async function fits(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
}

/** Its words are of its language, and its buttons whole. */
async function reads(page, name, locale) {
  const [lang, dir] = await page.evaluate(() => [document.documentElement.lang, getComputedStyle(document.body).direction]);
  assert.deepEqual([lang, dir], [locale, locale === "ar" ? "rtl" : "ltr"], name);
  if (locale === "ar") assert.deepEqual(await page.evaluate(untranslated), [], name);
  assert.deepEqual(await page.evaluate(torn), [], name);
}

/** What is against axe-core's rules, which are put into the page once. */
async function faults(page) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  const options = { runOnly: RULES, resultTypes: ["violations"] };
  const { violations } = await page.evaluate((given) => window.axe.run(document, given), options);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n")}`);
}

/** A page in every shape. */
async function check(page, name, locale) {
  await reads(page, name, locale);
  for (const [colorScheme, viewport] of LOOKS) {
    const look = `${locale}-${colorScheme}-${viewport.width}`;
    const shape = `${name}-${look}`;
    const isKept = PICTURES && (PICTURES_OF?.includes(look) ?? true);
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    await fits(page, shape);
    if (isKept) await page.screenshot({ path: `${PICTURES}/${shape}.png`, fullPage: true });
    if (IS_ALL_BY_AXE || BY_AXE.includes(look)) assert.deepEqual(await faults(page), [], shape);
  }
}

/** A page whose like was looked at in every shape: what may differ are its words, and how wide they are. */
async function checkAgain(page, name, locale) {
  await reads(page, name, locale);
  for (const viewport of [NARROW, WIDE]) {
    await page.setViewportSize(viewport);
    await fits(page, `${name}-${locale}-${viewport.width}`);
  }
  if (IS_ALL_BY_AXE) assert.deepEqual(await faults(page), [], `${name}-${locale}`);
}

/** A page of a browser that runs no scripts, axe-core's neither: another page, which runs them, gets what this one consists of. */
async function checkWithoutScripts(page, name) {
  await fits(page, name);
  if (!IS_ALL_BY_AXE) return;
  const { href } = new URL(page.url().replace(/#.*/, ""));
  const body = (await page.content()).replace(/<script\b.*?<\/script>|<\/?noscript>/gs, "");
  const context = await openContext(page.context().browser(), { viewport: NARROW, reducedMotion: "reduce" });
  try {
    const copy = await context.newPage();
    await copy.route(
      (url) => url.href === href,
      (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body }),
    );
    await copy.goto(href);
    assert.deepEqual(await faults(copy), [], `${name} without scripts`);
  } finally {
    await context.close();
  }
}

/**
 * A visit as tests: in each language with a look at every page that it shows to `see`, and once without scripts on a phone, unless it
 * `needs` "scripts", or is there for its "looks" and posts nothing that others do not. The visit gets a page of its own, its context,
 * `see(name)` and, for a page whose template another one has shown to `see`, `seeAgain(name)`, the language, and whether there are scripts.
 * What the page's policy blocks or its scripts throw fails, as statuses from 400 on do which are not `told`.
 */
export function visits(what, { browser, provider }, run, { told = [], needs } = {}) {
  const once = (locale, hasScripts, [see, seeAgain]) => () => {
    const options = { locale, javaScriptEnabled: hasScripts, viewport: WIDE, reducedMotion: "reduce", told };
    if (!hasScripts) options.viewport = NARROW;
    return visiting(
      browser(),
      provider(),
      async (page, context) => {
        const complaints = [];
        context.on("weberror", (error) => complaints.push(String(error.error())));
        context.on("console", (message) => /Content Security Policy/.test(message.text()) && complaints.push(message.text()));
        // A page that is still loading may be without its style.
        const by = (look) => async (name, where = page) => {
          await where.waitForLoadState();
          await look(where, name, locale);
        };
        await run({ page, context, locale, hasScripts, see: by(see), seeAgain: by(seeAgain) });
        assert.deepEqual(complaints, []);
      },
      options,
    );
  };
  for (const locale of LOCALES) test(`${what}: ${locale}`, once(locale, true, [check, checkAgain]));
  if (!needs) test(`${what}: without scripts`, once(WITHOUT_SCRIPTS, false, [checkWithoutScripts, fits]));
}
