// The metadata (OpenID Connect Discovery 1.0, section 4) and the key set that it names (RFC 7517 5), in turn.

import encoding from "k6/encoding";
import exec from "k6/execution";

import { expectEqual, expectStatus, json } from "./lib/answer.js";
import { get } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { issuer, tokens } from "./lib/seed.js";
import { summary } from "./lib/summary.js";
import { Wrong } from "./lib/wrong.js";

// The key that signed the seed's tokens must be published as long as they live.
const kid =
  tokens.length > 0 ? JSON.parse(encoding.b64decode(tokens[0].token.split(".")[0], "rawurl", "s")).kid : undefined;
let turn = null;

function discover(target) {
  // Half of the VUs begin with the one, half with the other.
  turn = turn === null ? exec.vu.idInInstance : turn + 1;
  if (turn % 2 === 0) expectKeys(get(target.jwks, {}));
  else expectMetadata(get(target.discovery, {}));
}

function expectMetadata(response) {
  expectStatus(response, 200);
  const metadata = json(response);
  expectEqual("iss", metadata.issuer, issuer);
  if (!metadata.jwks_uri) throw new Wrong("jwks_uri", "missing");
}

function expectKeys(response) {
  expectStatus(response, 200);
  const { keys } = json(response);
  if (!Array.isArray(keys) || keys.length === 0) throw new Wrong("keys", "an empty key set");
  for (const key of keys) {
    // RFC 7518 6: the private parameters of RSA and elliptic curves are both `d`.
    if (key.d !== undefined || key.kty === "oct") throw new Wrong("private_key", "a key that must not be published");
    if (!key.kid) throw new Wrong("kid", "a key without kid");
  }
  if (kid && !keys.some((key) => key.kid === kid))
    throw new Wrong("kid", `${kid}, which signed live tokens, is missing`);
}

export { options };
export const setup = () => prepare(["jwks_uri"], {});
export default (target) => visit(() => discover(target));
export const handleSummary = (data) => summary("discovery", data);
