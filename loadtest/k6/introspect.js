// POST /introspect (RFC 7662): active tokens, exchanged ones, and tokens that must be called inactive.

import { expectActor, expectEqual, expectScope, expectStatus, json, values } from "./lib/answer.js";
import { postAsClient } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { Deck } from "./lib/mix.js";
import { SCOPE, client, exchanged, expired, issuer, pick, revoked, tokens } from "./lib/seed.js";
import { wrongAudience, wrongClient } from "./lib/seed.js";
import { summary } from "./lib/summary.js";
import { Wrong } from "./lib/wrong.js";

const INACTIVE = {
  expired: { from: expired, accepted: "expired-accepted" },
  revoked: { from: revoked, accepted: "revoked-accepted" },
  wrongAudience: { from: wrongAudience, accepted: "audience-accepted" },
  wrongClient: { from: wrongClient, accepted: "client-accepted" },
};

// The shares of the reports, in percent.
const deck = new Deck([
  ["valid", 60],
  ["exchanged", 5],
  ["expired", 12],
  ["revoked", 12],
  ["wrongAudience", 6],
  ["wrongClient", 5],
]);

function ask(target, token) {
  const response = postAsClient(target.introspection, { token });
  expectStatus(response, 200);
  const answer = json(response);
  if (typeof answer.active !== "boolean") throw new Wrong("body", "no `active`");
  return answer;
}

function introspect(target) {
  const kind = deck.draw();
  const refused = INACTIVE[kind];
  if (refused) {
    // 2.2: whatever the reason, `active` is false.
    if (ask(target, pick(refused.from)).active) throw new Wrong(refused.accepted, "called active");
    return;
  }
  const asked = pick(kind === "exchanged" ? exchanged : tokens);
  expectActive(ask(target, asked.token), asked);
}

function expectActive(answer, asked) {
  if (!answer.active) throw new Wrong("inactive", "an active token was called inactive");
  expectEqual("sub", answer.sub, asked.user_id);
  expectScope(answer.scope, SCOPE);
  expectEqual("client_id", answer.client_id, client.id);
  expectEqual("iss", answer.iss, issuer);
  if (answer.aud === undefined) throw new Wrong("aud", "missing");
  if (asked.actor === undefined) return;
  // A token that came from an exchange says who acts (RFC 8693 4.1) and for what (RFC 8707).
  expectActor(answer.act, asked.actor);
  const resource = values(answer.resource);
  if (resource.length !== 1 || resource[0] !== asked.resource) {
    throw new Wrong("resource", `${answer.resource} instead of ${asked.resource}`);
  }
}

export { options };
export const setup = () =>
  prepare(["introspection_endpoint"], { tokens, exchanged, expired, revoked, wrongAudience, wrongClient });
export default (target) => visit(() => introspect(target));
export const handleSummary = (data) => summary("introspect", data);
