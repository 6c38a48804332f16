// POST /token by client credentials (RFC 6749 4.4).

import { claims, expectEqual, tokenAnswer, withoutPrefix } from "./lib/answer.js";
import { postAsClient } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { client, issuer } from "./lib/seed.js";
import { summary } from "./lib/summary.js";
import { Wrong } from "./lib/wrong.js";

function obtain(target) {
  const answer = tokenAnswer(postAsClient(target.token, { grant_type: "client_credentials" }));
  const said = claims(answer.access_token);
  expectEqual("iss", said.iss, issuer);
  expectEqual("client_id", said.client_id, client.id);
  // No user took part: the client is its own subject.
  expectEqual("sub", withoutPrefix(said.sub || ""), client.id);
  // 4.4.3: no refresh token; and no ID token without a user.
  if (answer.id_token || answer.refresh_token) throw new Wrong("extra_token", "an ID token or a refresh token");
}

export { options };
export const setup = () => prepare(["token_endpoint"], {});
export default (target) => visit(() => obtain(target));
export const handleSummary = (data) => summary("client-credentials", data);
