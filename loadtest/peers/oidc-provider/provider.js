#!/usr/bin/env node
// A provider that others wrote, ready for `symbolon loadtest run --seed`: npm oidc-provider in this process, with
// everything in memory. Says `ready URL pid PID` when the seed is written, and ends on SIGTERM or Ctrl-C.

import { createServer } from "node:http";
import { parseArgs } from "node:util";

import { Provider } from "oidc-provider";

import { ALGORITHMS, configuration, newClient } from "./configuration.js";
import { login } from "./login.js";
import { newPeople, plant, save } from "./seed.js";

const USAGE = `usage: node provider.js --seed FILE [--port PORT] [--algorithm ${ALGORITHMS.join("|")}]
    [--users N] [--sessions N] [--tokens N] [--families N]`;

// Connections of a load at a low rate are idle for a while; one that is closed just then would count as a failure.
const KEEP_ALIVE_MILLISECONDS = 600_000;

const COUNTS = { users: 200, sessions: 500, tokens: 1000, families: 512 };

function options() {
  const names = ["seed", "port", "algorithm", ...Object.keys(COUNTS)];
  const known = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const { values } = parseArgs({ options: known });
  const number = (name, usual, highest) => {
    const value = values[name] === undefined ? usual : Number(values[name]);
    if (Number.isInteger(value) && value >= 0 && value <= highest) return value;
    throw new Error(`--${name} ${values[name]}: not a number from 0 to ${highest}`);
  };
  const { seed, algorithm = "RS256" } = values;
  if (!seed) throw new Error("--seed is missing");
  if (!ALGORITHMS.includes(algorithm)) throw new Error(`--algorithm ${algorithm}: one of ${ALGORITHMS.join(", ")}`);
  const counts = Object.fromEntries(Object.entries(COUNTS).map(([name, usual]) => [name, number(name, usual, 1e6)]));
  if (counts.users === 0) throw new Error("--users 0: somebody must be there");
  return { seed, algorithm, counts, port: number("port", 0, 65535) };
}

/** Listens before the provider is there: its issuer names the port. Nobody is answered until then. */
function listen(server, port) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`));
  });
}

async function start({ seed: path, algorithm, counts, port }) {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MILLISECONDS });
  const issuer = await listen(server, port);
  const client = newClient();
  const people = newPeople(counts.users);
  const accounts = new Set(people.users.map((user) => user.id));
  const provider = new Provider(issuer, configuration(client, accounts, algorithm));
  provider.on("server_error", (_, error) => console.error(error));
  const names = new Map(people.users.map((user) => [user.username, user.id]));
  const pages = login(provider, names, people.password);
  const protocol = provider.callback();
  server.on("request", (request, response) => {
    const answer = request.url.startsWith("/interaction/") ? pages : protocol;
    answer(request, response);
  });
  await save(path, await plant(provider, client, people, counts, algorithm));
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.once(signal, () => {
      // Nothing is to be finished or kept.
      server.close(() => process.exit(0));
      server.closeAllConnections();
    });
  }
  console.log(`ready ${issuer} pid ${process.pid}`);
}

let chosen;
try {
  chosen = options();
} catch (error) {
  console.error(`${error.message}\n${USAGE}`);
  process.exit(2);
}
try {
  await start(chosen);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
