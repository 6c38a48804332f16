// POST /token by token exchange (RFC 8693): 20 audiences, 4 scopes, 10 resources, actor tokens of services, and subject
// tokens that must be refused.

import { expectActor, expectEqual, expectStatus, expectUserToken, json, tokenAnswer, values } from "./lib/answer.js";
import { postAsClient } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { Deck } from "./lib/mix.js";
import { badSignature, client, expired, pick, revoked, services, tokens } from "./lib/seed.js";
import { summary } from "./lib/summary.js";
import { Wrong } from "./lib/wrong.js";

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const SCOPES = ["openid", "openid profile", "openid email", "openid profile email"];
const AUDIENCES = Array.from({ length: 20 }, (_, index) => `https://service-${index}.example.com`);
const RESOURCES = Array.from({ length: 10 }, (_, index) => `https://api.example.com/resource-${index}`);

const REFUSED = {
  expired: { from: expired, accepted: "expired-accepted" },
  badSignature: { from: badSignature, accepted: "signature-accepted" },
  revoked: { from: revoked, accepted: "revoked-accepted" },
};

// The shares of the reports, in percent.
const deck = new Deck([
  ["standard", 56],
  ["actor", 14],
  ["expired", 10],
  ["badSignature", 10],
  ["revoked", 10],
]);

function form(subjectToken) {
  return {
    grant_type: GRANT,
    subject_token: subjectToken,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
    scope: pick(SCOPES),
    audience: pick(AUDIENCES),
    resource: pick(RESOURCES),
  };
}

function exchange(target) {
  const kind = deck.draw();
  const refused = REFUSED[kind];
  if (refused) {
    expectRefused(postAsClient(target.token, form(pick(refused.from))), refused.accepted);
    return;
  }
  const subject = pick(tokens);
  const asked = form(subject.token);
  let actor = client.id;
  if (kind === "actor") {
    const service = pick(services);
    actor = service.client_id;
    Object.assign(asked, { actor_token: service.token, actor_token_type: ACCESS_TOKEN });
  }
  expectIssued(postAsClient(target.token, asked), { asked, subject, actor });
}

// A subject token that is no good is `invalid_grant`; a token instead is `accepted`.
function expectRefused(response, accepted) {
  if (response.status >= 200 && response.status < 300) throw new Wrong(accepted, "a token was issued for it");
  expectStatus(response, 400);
  expectEqual("verdict", json(response).error, "invalid_grant");
}

function expectIssued(response, { asked, subject, actor }) {
  const answer = tokenAnswer(response);
  expectEqual("issued_token_type", answer.issued_token_type, ACCESS_TOKEN);
  const said = expectUserToken(answer.access_token, subject.user_id, asked.scope);
  // 2.1: for the audience that was asked for, and for nothing else but the resource.
  const audience = values(said.aud);
  if (
    !audience.includes(asked.audience) ||
    !audience.every((one) => one === asked.audience || one === asked.resource)
  ) {
    throw new Wrong("aud", `${said.aud} instead of ${asked.audience} and ${asked.resource}`);
  }
  // 4.1: delegation names who acts; without an actor token that is the client.
  expectActor(said.act, actor);
  if (!(said.exp <= subject.expires_at)) {
    throw new Wrong("exp", `${said.exp} after the subject token's ${subject.expires_at}`);
  }
}

export { options };
export const setup = () => prepare(["token_endpoint"], { tokens, expired, badSignature, revoked, services });
export default (target) => visit(() => exchange(target));
export const handleSummary = (data) => summary("exchange", data);
