// POST /token by refresh token, with rotation (RFC 6749 6, RFC 9700 4.14.2). Every VU of every instance has families of
// its own and uses them in turn: a token that two present ends its family.

import exec from "k6/execution";

import { expectUserToken, tokenAnswer } from "./lib/answer.js";
import { postAsClient } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { families, share } from "./lib/seed.js";
import { settings } from "./lib/settings.js";
import { summary } from "./lib/summary.js";
import { Wrong } from "./lib/wrong.js";

const shared = share(families);
let own = null;
let turn = 0;

function ownFamilies() {
  const mine = [];
  for (let index = exec.vu.idInInstance - 1; index < shared.length; index += settings.vus) {
    mine.push({ ...shared.at(index) });
  }
  return mine;
}

function refresh(target) {
  own = own || ownFamilies();
  turn = (turn + 1) % own.length;
  const family = own[turn];
  const form = { grant_type: "refresh_token", refresh_token: family.refresh_token };
  const answer = tokenAnswer(postAsClient(target.token, form));
  const next = answer.refresh_token;
  if (!next) throw new Wrong("refresh_token", "missing");
  if (next === family.refresh_token) throw new Wrong("not_rotated", "the same refresh token again");
  family.refresh_token = next;
  expectUserToken(answer.access_token, family.user_id);
}

export { options };
export function setup() {
  if (shared.length < settings.vus) {
    throw new Error(
      `VUS=${settings.vus}: this instance's part of the seed has ${shared.length} families, one per VU is needed`,
    );
  }
  return prepare(["token_endpoint"], { families: shared });
}
export default (target) => visit(() => refresh(target));
export const handleSummary = (data) => summary("refresh", data);
