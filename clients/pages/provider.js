// A provider of a test's own: with a clock that the test moves, and a mailbox.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixtures } from "./application.js";
import { openMailbox, textOf } from "./mailbox.js";
import { eventually } from "./patience.js";

// What the provider logs when it has seen that time has passed.
const FOLLOWED = /the wall clock stepped forward and was followed/g;

/** Where Debian keeps libfaketime, in a directory of the machine's architecture. */
function faketime() {
  const found = readdirSync("/usr/lib").map((directory) => `/usr/lib/${directory}/faketime/libfaketime.so.1`);
  const library = found.find(existsSync);
  if (!library) throw new Error("libfaketime is not installed");
  return library;
}

/** A port that nobody listens at. */
async function freePort() {
  const socket = createServer();
  await new Promise((ready) => socket.listen(0, "127.0.0.1", ready));
  const { port } = socket.address();
  await new Promise((closed) => socket.close(closed));
  return port;
}

/**
 * Starts a provider. Its members are those of the suite's fixtures, and what is its own. `isInDevelopment`: in development mode,
 * which it is without an issuer in its settings.
 */
export async function startProvider({ environment = {}, isInDevelopment = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "symbolon-pages-"));
  const [port, management] = [await freePort(), await freePort()];
  const [mail, clock] = [await openMailbox(), join(folder, "clock")];
  const provider = { base_url: `http://localhost:${port}`, admin_secret: fixtures.admin_secret };
  let ahead = 0;
  const setClock = () => {
    // Renamed into place, because libfaketime must not read half of it.
    writeFileSync(`${clock}.new`, `+${ahead}s\n`);
    renameSync(`${clock}.new`, clock);
  };
  setClock();
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("SYMBOLON_"));
  const child = spawn(fixtures.binary, ["serve"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...Object.fromEntries(own),
      ...(isInDevelopment ? {} : { SYMBOLON_ISSUER: provider.base_url }),
      SYMBOLON_LISTEN: `127.0.0.1:${port}`,
      SYMBOLON_MANAGEMENT_LISTEN: `127.0.0.1:${management}`,
      SYMBOLON_DATA_DIR: join(folder, "data"),
      SYMBOLON_ADMIN_SECRET: provider.admin_secret,
      SYMBOLON_ADMIN_ON_PUBLIC: "true",
      SYMBOLON_RATE_LIMITS: "off",
      // Passwords of tests need not cost what those of people do.
      SYMBOLON_ARGON2_MEMORY: "64KiB",
      SYMBOLON_ARGON2_ITERATIONS: "1",
      SYMBOLON_SMTP_URL: mail.url,
      SYMBOLON_MAIL_FROM: "Example <no-reply@op.example>",
      LD_PRELOAD: faketime(),
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: "1",
      // Timeouts go by the monotonic clock, which is right.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      ...environment,
    },
  });
  const ended = new Promise((over) => child.once("exit", over));
  let said = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (bytes) => (said += bytes));
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    mail.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually("a provider that listens", () => {
      if (child.exitCode !== null) throw new Error(`the provider ended with ${child.exitCode}: ${said}`);
      return /^listening on /m.test(said);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const steps = () => said.match(FOLLOWED)?.length ?? 0;
  return Object.assign(provider, {
    /** The provider's time in seconds. */
    now: () => Date.now() / 1000 + ahead,
    /** Lets so many seconds pass at the provider, and waits until it knows. */
    async pass(seconds) {
      const before = steps();
      ahead += seconds;
      setClock();
      await eventually("a clock that is followed", () => steps() > before);
    },
    /** What is read in the text of the first mail to an address in which there is something to read; the mail is gone then. */
    mailTo: (address, read = (text) => text) =>
      eventually(`a mail to ${address}`, () => {
        for (const [place, one] of mail.mails.entries()) {
          const found = one.includes(`\nTo: ${address}\n`) && read(textOf(one));
          if (!found) continue;
          mail.mails.splice(place, 1);
          return found;
        }
        return null;
      }),
    stop,
  });
}
