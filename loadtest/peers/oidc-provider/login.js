// The login page: one form for a name and a password, in place of the package's pages for development.

import { timingSafeEqual } from "node:crypto";

const MAX_FORM_BYTES = 8192;

/** Answers `/interaction/...`; `people` maps user names to subjects, and `password` is everybody's. */
export function login(provider, people, password) {
  return async (request, response) => {
    try {
      // Refuses whoever does not bring the cookie of this very interaction.
      await provider.interactionDetails(request, response);
      if (request.method !== "POST") return page(response, 200);
      const form = new URLSearchParams(await body(request));
      const accountId = people.get(form.get("username") ?? "");
      if (accountId === undefined || !equal(form.get("password") ?? "", password)) return page(response, 401);
      const result = { login: { accountId } };
      return await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
    } catch (error) {
      const status = error.statusCode ?? error.status ?? 500;
      if (status >= 500) console.error(error);
      response.writeHead(status, { "content-type": "text/plain" });
      return response.end(error.error ?? "login failed");
    }
  };
}

function page(response, status) {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
  response.end(`<!doctype html>
<title>Sign in</title>
<form method="post">
${status === 200 ? "" : "<p>No such name and password.</p>\n"}<input type="text" name="username" required>
<input type="password" name="password" required>
<button>Sign in</button>
</form>
`);
}

async function body(request) {
  let text = "";
  for await (const part of request.setEncoding("utf8")) {
    text += part;
    if (text.length > MAX_FORM_BYTES) throw Object.assign(new Error("form"), { status: 413 });
  }
  return text;
}

function equal(one, other) {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
