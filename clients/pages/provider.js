// A provider of a test's own: with a clock that the test moves, and a mail server that keeps what it gets.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixtures } from "./application.js";

const PATIENCE = 30_000;
const STEP = 50;
// What the provider logs when it has seen that time has passed.
const FOLLOWED = /the wall clock stepped forward and was followed/g;

/** Where Debian keeps libfaketime, in a directory of the machine's architecture. */
function faketime() {
  const found = readdirSync("/usr/lib").map((directory) => `/usr/lib/${directory}/faketime/libfaketime.so.1`);
  const library = found.find(existsSync);
  if (!library) throw new Error("libfaketime is not installed");
  return library;
}

/** Waits until something is there, and answers with it. */
async function eventually(what, look) {
  const end = performance.now() + PATIENCE;
  while (performance.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((ready) => setTimeout(ready, STEP));
  }
  throw new Error(`in vain: ${what}`);
}

/** A port that nobody listens at. */
async function freePort() {
  const socket = createServer();
  await new Promise((ready) => socket.listen(0, "127.0.0.1", ready));
  const { port } = socket.address();
  await new Promise((closed) => socket.close(closed));
  return port;
}

/** A mail server (RFC 5321) that takes everything. */
async function mailServer() {
  const mails = [];
  const server = createServer((socket) => {
    let rest = "";
    let mail = null;
    const answer = (line) => {
      if (mail !== null) {
        if (line !== ".") return mail.push(line.replace(/^\.\./, "."));
        mails.push(mail.join("\n"));
        mail = null;
        return socket.write("250 taken\r\n");
      }
      if (/^data/i.test(line)) {
        mail = [];
        return socket.write("354 go on\r\n");
      }
      socket.write(/^quit/i.test(line) ? "221 bye\r\n" : "250 yes\r\n");
    };
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const lines = (rest + bytes).split("\r\n");
      rest = lines.pop();
      lines.forEach(answer);
    });
    socket.write("220 mail\r\n");
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return { mails, url: `smtp://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** The plain text of a mail: quoted-printable (RFC 2045 6.7) or as it is. */
function text(mail) {
  const part = mail.split("Content-Type: text/plain")[1];
  const head = part.slice(0, part.indexOf("\n\n"));
  const body = part.slice(head.length);
  if (!/quoted-printable/.test(head)) return body;
  return body.replaceAll("=\n", "").replace(/=([0-9A-F]{2})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
}

/** Starts a provider. Its members are those of the suite's fixtures, and what is its own. */
export async function startProvider() {
  const folder = mkdtempSync(join(tmpdir(), "symbolon-pages-"));
  const [port, management] = [await freePort(), await freePort()];
  const [mail, clock] = [await mailServer(), join(folder, "clock")];
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
      SYMBOLON_ISSUER: provider.base_url,
      SYMBOLON_LISTEN: `127.0.0.1:${port}`,
      SYMBOLON_MANAGEMENT_LISTEN: `127.0.0.1:${management}`,
      SYMBOLON_DATA_DIR: join(folder, "data"),
      SYMBOLON_ADMIN_SECRET: provider.admin_secret,
      SYMBOLON_ADMIN_ON_PUBLIC: "true",
      SYMBOLON_RATE_LIMITS: "off",
      SYMBOLON_SMTP_URL: mail.url,
      SYMBOLON_MAIL_FROM: "Example <no-reply@op.example>",
      LD_PRELOAD: faketime(),
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: "1",
      // Timeouts go by the monotonic clock, which is right.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
    },
  });
  const ended = new Promise((over) => child.once("exit", over));
  let said = "";
  for (const output of [child.stdout, child.stderr]) output.on("data", (bytes) => (said += bytes));
  await eventually("a provider that listens", () => {
    if (child.exitCode !== null) throw new Error(`the provider ended with ${child.exitCode}: ${said}`);
    return /^listening on /m.test(said);
  });
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
    /** The text of the first mail to an address, which is read but once. */
    mailTo: (address) =>
      eventually("a mail", () => {
        const place = mail.mails.findIndex((one) => one.includes(`\nTo: ${address}\n`));
        return place < 0 ? null : text(mail.mails.splice(place, 1)[0]);
      }),
    async stop() {
      child.kill("SIGTERM");
      await ended;
      mail.close();
      rmSync(folder, { recursive: true, force: true });
    },
  });
}
