// The seed file that `symbolon loadtest seed` wrote: one copy in memory for all VUs.

import { SharedArray } from "k6/data";

import { path, settings } from "./settings.js";

const VERSION = 1;
const FILE = path("SEED", "loadtest-seed.json");

// The scope of every token of the seed.
export const SCOPE = "openid profile email";

function list(name, choose) {
  return new SharedArray(name, () => {
    let seed;
    try {
      seed = JSON.parse(open(FILE));
    } catch (error) {
      throw new Error(`SEED=${FILE}: it cannot be read, or is no seed: ${error.message || error}`);
    }
    if (seed.version !== VERSION) {
      throw new Error(`SEED=${FILE}: it has version ${seed.version}, these scripts read ${VERSION}`);
    }
    return choose(seed) || [];
  });
}

const special = (name) => list(name, (seed) => seed.special && seed.special[name]);

// The issuer that the seed was planted in, the client that all scenarios use, the session cookie's name, the password
// of every user, and what signs.
const [head] = list("head", ({ issuer, client, cookie, password, algorithm, access_tokens: format }) => {
  // What such a token says cannot be looked into, and the checks rest on that.
  if (format === "opaque") throw new Error(`SEED=${FILE}: opaque access tokens are for symbolon loadtest alone`);
  return [{ issuer, client, cookie, password, algorithm }];
});
export const { issuer, client, cookie, password, algorithm } = head;

export const users = list("users", (seed) => seed.users);
export const sessions = list("sessions", (seed) => seed.sessions);
export const tokens = list("tokens", (seed) => seed.tokens);
export const families = list("families", (seed) => seed.families);

export const exchanged = special("exchanged");
export const expired = special("expired");
export const revoked = special("revoked");
export const wrongAudience = special("wrong_audience");
export const wrongClient = special("wrong_client");
export const badSignature = special("bad_signature");
export const services = special("services");

// This instance's part of a list, every INSTANCES-th of it: instances share none.
export function share(all) {
  const { instance, instances } = settings;
  return {
    length: Math.max(0, Math.ceil((all.length - instance + 1) / instances)),
    at: (index) => all[index * instances + instance - 1],
  };
}

// One at random.
export function pick(all) {
  const index = Math.floor(Math.random() * all.length);
  return all.at ? all.at(index) : all[index];
}
