// GET /userinfo with a random access token (OpenID Connect Core 1.0, 5.3).

import { expectEqual, expectStatus, json } from "./lib/answer.js";
import { get } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { pick, tokens } from "./lib/seed.js";
import { summary } from "./lib/summary.js";

function userinfo(target) {
  const { token, user_id: userId } = pick(tokens);
  const response = get(target.userinfo, { Authorization: `Bearer ${token}` });
  expectStatus(response, 200);
  const answer = json(response);
  expectEqual("sub", answer.sub, userId);
  // The scope holds `email` (5.4), and the seed's users are verified.
  expectEqual("email_verified", answer.email_verified, true);
}

export { options };
export const setup = () => prepare(["userinfo_endpoint"], { tokens });
export default (target) => visit(() => userinfo(target));
export const handleSummary = (data) => summary("userinfo", data);
