// GET /authorize?prompt=none with PKCE, in a random session.

import { silently } from "./lib/authorize.js";
import { options, prepare, visit } from "./lib/load.js";
import { pick, sessions, share } from "./lib/seed.js";
import { summary } from "./lib/summary.js";

const own = share(sessions);

export { options };
export const setup = () => prepare(["authorization_endpoint"], { sessions: own });
export default (target) => visit(() => silently(target, pick(own).id));
export const handleSummary = (data) => summary("silent", data);
