// Plants users, sessions, access tokens and refresh tokens by the provider's own models, and tells them in the form
// that `symbolon loadtest run --seed` reads (docs/reference/seed-file.md).

import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";

import { LIFETIME, SCOPE } from "./configuration.js";

/** The people and the password of all of them. Subjects and user names differ, lest one pass for the other. */
export function newPeople(count) {
  const users = Array.from({ length: count }, (_, index) => ({ id: `sub-${index}`, username: `user${index}` }));
  return { users, password: randomBytes(16).toString("base64url") };
}

/** Plants and answers with the seed. `counts` has `sessions`, `tokens` and `families`. */
export async function plant(provider, client, { users, password }, counts, algorithm) {
  const registered = await provider.Client.find(client.id);
  const userOf = (index) => users[index % users.length].id;

  const grant = async (accountId) => {
    const one = new provider.Grant({ accountId, clientId: client.id });
    one.addOIDCScope(SCOPE);
    return one.save();
  };
  const token = async (Model, accountId) => {
    const about = { accountId, client: registered, grantId: await grant(accountId), gty: "authorization_code" };
    return new Model({ ...about, authTime: now(), scope: SCOPE }).save();
  };
  const session = async (accountId) => {
    const authorizations = { [client.id]: { sid: randomBytes(16).toString("hex"), grantId: await grant(accountId) } };
    const one = new provider.Session({ accountId, loginTs: now(), authorizations });
    await one.save(LIFETIME);
    return one.id;
  };
  const each = async (count, make) => {
    const made = [];
    for (let index = 0; index < count; index += 1) made.push(await make(userOf(index)));
    return made;
  };

  const expires_at = now() + LIFETIME;
  return {
    version: 1,
    issuer: provider.issuer,
    client: { id: client.id, secret: client.secret, redirect_uri: client.redirectUri },
    cookie: provider.cookieName("session"),
    password,
    users,
    sessions: await each(counts.sessions, async (user_id) => ({ id: await session(user_id), user_id })),
    tokens: await each(counts.tokens, async (user_id) => ({
      token: await token(provider.AccessToken, user_id),
      user_id,
      expires_at,
    })),
    families: await each(counts.families, async (user_id) => ({
      refresh_token: await token(provider.RefreshToken, user_id),
      user_id,
    })),
    algorithm,
    access_tokens: "opaque",
  };
}

function now() {
  return Math.floor(Date.now() / 1000);
}

/** Writes it whole or not at all, for its owner alone. */
export async function save(path, seed) {
  const beside = `${path}.${process.pid}`;
  try {
    await writeFile(beside, JSON.stringify(seed), { mode: 0o600, flag: "wx" });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}
