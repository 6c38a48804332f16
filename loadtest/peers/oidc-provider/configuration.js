// What this provider is made to do: what the scenarios of `symbolon loadtest` ask for, and nothing beside.

import { generateKeyPairSync, randomBytes } from "node:crypto";

import { memory } from "./adapter.js";

/** The scope of every request and of every seeded token. */
export const SCOPE = "openid profile email";
/** How long access tokens, refresh tokens and sessions live, in seconds. */
export const LIFETIME = 6 * 3600;
/** How long a code may wait for its redemption (RFC 6749 4.1.2), in seconds. */
const CODE_LIFETIME = 600;

const KEYS = {
  RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
};
/** What it can sign with. */
export const ALGORITHMS = Object.keys(KEYS);

/** A confidential client with every grant that the scenarios use. */
export function newClient() {
  return { id: "loadtest", secret: randomBytes(32).toString("base64url"), redirectUri: "https://rp.example/callback" };
}

function newKey(algorithm) {
  const { privateKey } = KEYS[algorithm]();
  return { ...privateKey.export({ format: "jwk" }), alg: algorithm, use: "sig", kid: randomBytes(8).toString("hex") };
}

/** Everybody's claims (OpenID Connect Core 1.0, 5.1), by the subject alone. */
function account(sub) {
  const claims = { sub, name: `User ${sub}`, email: `${sub}@example.com`, email_verified: true };
  return { accountId: sub, claims: async () => claims };
}

/** Its own grant if the session has one, otherwise a new one for all that is asked for: nobody is asked to consent. */
async function grantFor(ctx) {
  const { client, params, provider, session } = ctx.oidc;
  const id = session.grantIdFor(client.clientId);
  const found = id ? await provider.Grant.find(id) : undefined;
  if (found) return found;
  const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
  grant.addOIDCScope(params.scope);
  await grant.save();
  return grant;
}

/** The configuration for this client, people and algorithm; `accounts` holds the subjects that exist. */
export function configuration(client, accounts, algorithm) {
  return {
    adapter: memory(),
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [client.redirectUri],
        response_types: ["code"],
        grant_types: ["authorization_code", "refresh_token", "client_credentials"],
        token_endpoint_auth_method: "client_secret_basic",
        id_token_signed_response_alg: algorithm,
      },
    ],
    jwks: { keys: [newKey(algorithm)] },
    claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"] },
    responseTypes: ["code"],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: (_, caller, token) => token.clientId === caller.clientId },
      revocation: { enabled: true },
    },
    // Without keys cookies are not signed, so that one cookie is all of a session.
    cookies: { keys: [] },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => (accounts.has(sub) ? account(sub) : undefined),
    loadExistingGrant: grantFor,
    // The scope has no `offline_access`, and the refresh scenario wants rotation.
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: LIFETIME,
      AuthorizationCode: CODE_LIFETIME,
      ClientCredentials: LIFETIME,
      Grant: LIFETIME,
      IdToken: LIFETIME,
      Interaction: CODE_LIFETIME,
      RefreshToken: LIFETIME,
      Session: LIFETIME,
    },
  };
}
