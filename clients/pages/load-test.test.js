// The pages of a load test in headless Chromium: the live one draws its course until the end, and the report prints.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { fixtures } from "./application.js";
import { launch, openContext } from "./visitor.js";

// Long enough to be looked at, and to have a course.
const DURATION = "3s";
// A4 at 96 dots an inch, as Chromium prints it.
const PAPER = { width: 794, height: 1123 };

let browser;
const folder = mkdtempSync(join(tmpdir(), "symbolon-live-"));
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A load of a provider that it starts itself: where it is watched, and its end. */
async function load() {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("SYMBOLON_"));
  const lenient = ["--warm-up", "0s", "--only-thresholds", "--threshold", "failure_share<=0"];
  const places = ["--live", "127.0.0.1:0", "--out", "report", "--data-parent", folder];
  const child = spawn(
    fixtures.binary,
    ["loadtest", "run", "userinfo", "--rate", "50", "--duration", DURATION, ...lenient, ...places],
    { cwd: folder, stdio: ["ignore", "ignore", "pipe"], env: { ...Object.fromEntries(own), XDG_STATE_HOME: folder } },
  );
  const ended = new Promise((over) => child.once("exit", over));
  let said = "";
  const address = await new Promise((found, failed) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      said += `${line}\n`;
      if (line.startsWith("live: ")) found(line.slice("live: ".length).trim());
    });
    ended.then(() => failed(new Error(`it ended before it was watched: ${said}`)));
  });
  return { address, ended };
}

/** A page that must not complain, and what it asks for. */
async function visiting(run) {
  const context = await openContext(browser, { viewport: PAPER });
  const [page, complaints, asked] = [await context.newPage(), [], []];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("request", (request) => asked.push(request.url()));
  try {
    await run(page, asked);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

test("the live page draws its course until the end, and the report prints", async () => {
  // The page is there before the load is, which is soon over.
  await visiting(async (page, asked) => {
    const { address, ended } = await load();
    await page.goto(address);
    // The first is a level line, which has no height and so does not count as visible.
    await page.waitForSelector("#course svg path, #course svg polyline", { state: "attached" });
    const drawn = () => page.$eval("#course", (course) => course.innerHTML);
    // Two courses that differ: the page's own script has swapped what changed.
    const first = await drawn();
    await page.waitForFunction((before) => document.getElementById("course").innerHTML !== before, first);
    await page.waitForFunction(() => document.body.innerText.includes("The report is report/report.html."));
    const end = await page.innerText("body");
    assert.match(end, /userinfo 50\/s/);
    assert.equal(await page.textContent("#connection"), "", "the end is no trouble of the connection's");
    assert.deepEqual([...new Set(asked.map((url) => new URL(url).origin))], [new URL(address).origin]);
    assert.equal(await ended, 0);
  });

  await visiting(async (page, asked) => {
    const report = pathToFileURL(join(folder, "report", "report.html")).href;
    await page.goto(report);
    await page.emulateMedia({ media: "print" });
    // Nothing sticks out of the paper, and nothing is asked of anybody.
    const wide = await page.$$eval("body *", (all) =>
      all.filter((one) => one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80)),
    );
    assert.deepEqual(wide, []);
    assert.deepEqual(asked, [report]);
    const paper = (await page.pdf({ format: "A4" })).toString("latin1");
    assert.ok((paper.match(/\/Type\s*\/Page\b/g) ?? []).length >= 2, "it has several sheets");
  });
});
