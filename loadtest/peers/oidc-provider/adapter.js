// State in memory. Unlike the package's own memory adapter it drops nothing but what has expired: a load that makes
// more than a thousand codes must find all of them again.

const SWEEP_MILLISECONDS = 30_000;

// What is revoked together with its grant.
const GRANTED = new Set(["AccessToken", "AuthorizationCode", "RefreshToken"]);

/** An adapter factory with a store of its own (https://github.com/panva/node-oidc-provider, `adapter`). */
export function memory() {
  const entries = new Map(); // `Model:id` to { payload, ends } in milliseconds since 1970
  const uids = new Map(); // a session's uid to its id
  const grants = new Map(); // a grant's id to the keys of what was issued for it

  const live = (entry) => entry !== undefined && entry.ends > Date.now();

  const drop = (key) => {
    const payload = entries.get(key)?.payload;
    entries.delete(key);
    if (payload?.uid !== undefined) uids.delete(payload.uid);
    if (payload?.grantId !== undefined) grants.get(payload.grantId)?.delete(key);
  };

  const sweep = () => {
    for (const [key, entry] of entries) if (!live(entry)) drop(key);
    for (const [grant, keys] of grants) if (keys.size === 0) grants.delete(grant);
  };
  setInterval(sweep, SWEEP_MILLISECONDS).unref();

  return (model) => {
    const keyOf = (id) => `${model}:${id}`;
    const find = async (id) => {
      const entry = entries.get(keyOf(id));
      return live(entry) ? entry.payload : undefined;
    };
    return {
      find,
      findByUid: async (uid) => find(uids.get(uid)),
      async upsert(id, payload, seconds) {
        const key = keyOf(id);
        entries.set(key, { payload, ends: Date.now() + seconds * 1000 });
        if (model === "Session") uids.set(payload.uid, id);
        if (GRANTED.has(model) && payload.grantId !== undefined) {
          if (!grants.has(payload.grantId)) grants.set(payload.grantId, new Set());
          grants.get(payload.grantId).add(key);
        }
      },
      async consume(id) {
        const payload = await find(id);
        if (payload) payload.consumed = Math.floor(Date.now() / 1000);
      },
      destroy: async (id) => drop(keyOf(id)),
      async revokeByGrantId(grantId) {
        for (const key of grants.get(grantId) ?? []) drop(key);
        grants.delete(grantId);
      },
    };
  };
}
