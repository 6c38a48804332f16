// OpenID Connect Session Management 1.0 section 3.2: an application posts "client_id session_state" to this page in its
// frame, and is told whether the browser's state is still the one that the session_state was made of.
const cookie = document.getElementById("check-session").dataset.cookie;

const browserState = () => {
  const pair = document.cookie.split("; ").find((pair) => pair.startsWith(`${cookie}=`));
  return pair === undefined ? "" : pair.slice(cookie.length + 1);
};

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

const answer = async ({ data, origin }) => {
  const [, client, digest, salt] = (typeof data === "string" && data.match(/^(.+) ([\w-]+)\.([\w-]+)$/)) || [];
  // Browsers offer digests to pages of secure origins alone.
  if (salt === undefined || !crypto.subtle) return "error";
  const text = [client, origin, browserState(), salt].join(" ");
  const found = base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return found === digest ? "unchanged" : "changed";
};

// The origin of the page that embeds this one. Where the browser keeps it back, the digest alone says whose question it is.
const embedder = location.ancestorOrigins?.[0] ?? (document.referrer && new URL(document.referrer).origin);

addEventListener("message", async (event) => {
  // A page without an origin cannot be answered, and this page's own messages are no questions.
  if (event.source === null || event.source === window || event.origin === "null") return;
  // Section 3.3: whoever asks has the origin of the page that embeds this one, and no other origin is answered.
  if (embedder && event.origin !== embedder) return;
  event.source.postMessage(await answer(event).catch(() => "error"), event.origin);
});
