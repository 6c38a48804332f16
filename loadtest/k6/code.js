// POST /token by authorization code (RFC 6749 4.1.3). A silent request in the same iteration obtains the code; it is
// checked, but the latency is that of the redemption alone.

import { expectTokens, tokenAnswer } from "./lib/answer.js";
import { redemption, silently } from "./lib/authorize.js";
import { postAsClient, timer } from "./lib/http.js";
import { options, prepare, visit } from "./lib/load.js";
import { pick, sessions, share } from "./lib/seed.js";
import { summary } from "./lib/summary.js";

const own = share(sessions);

function redeem(target) {
  const session = pick(own);
  const { code, verifier } = silently(target, session.id);
  timer.reset();
  const response = postAsClient(target.token, redemption(code, verifier));
  expectTokens(tokenAnswer(response), session.user_id);
}

export { options };
export const setup = () => prepare(["authorization_endpoint", "token_endpoint"], { sessions: own });
export default (target) => visit(() => redeem(target));
export const handleSummary = (data) => summary("code", data);
