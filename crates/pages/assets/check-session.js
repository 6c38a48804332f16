// OpenID Connect Session Management 1.0 section 3.2: an application posts "client_id session_state" to this page in its
// frame, and is told whether the browser's state is still the one that the session_state was made of.
// Written for old engines too: without async functions and without spread.
const cookie = document.getElementById("check-session").dataset.cookie;

const browserState = () => {
  const pair = document.cookie.split("; ").find((pair) => pair.startsWith(`${cookie}=`));
  return pair === undefined ? "" : pair.slice(cookie.length + 1);
};

const base64url = (bytes) => {
  const text = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
};

// Rejects where the browser has no digests, or offers them to pages of secure origins alone.
const compare = (client, origin, digest, salt) =>
  Promise.resolve()
    .then(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode([client, origin, browserState(), salt].join(" "))))
    .then((bytes) => (base64url(bytes) === digest ? "unchanged" : "changed"));

// The provider compares as well, at the price of a request.
const ask = (client, origin, state) =>
  new Promise((resolve, reject) => {
    const query = { client_id: client, origin, session_state: state };
    const pairs = Object.keys(query).map((name) => `${name}=${encodeURIComponent(query[name])}`);
    const request = new XMLHttpRequest();
    request.onload = () => (request.status === 200 ? resolve(JSON.parse(request.responseText).state) : reject());
    request.onerror = reject;
    request.open("GET", `${location.pathname}?${pairs.join("&")}`);
    request.send();
  });

const answer = (event) => {
  const found = typeof event.data === "string" ? event.data.match(/^(.+) (([\w-]+)\.([\w-]+))$/) : null;
  if (found === null) return Promise.resolve("error");
  return compare(found[1], event.origin, found[3], found[4]).catch(() => ask(found[1], event.origin, found[2]));
};

// The origin of the page that embeds this one. Where the browser keeps it back, the digest alone says whose question it is.
const ancestors = location.ancestorOrigins;
const embedder =
  ancestors && ancestors.length > 0 ? ancestors[0] : document.referrer && new URL(document.referrer).origin;

addEventListener("message", (event) => {
  // A page without an origin cannot be answered, and this page's own messages are no questions.
  if (event.source === null || event.source === window || event.origin === "null") return;
  // Section 3.3: whoever asks has the origin of the page that embeds this one, and no other origin is answered.
  if (embedder && event.origin !== embedder) return;
  answer(event)
    .catch(() => "error")
    .then((text) => event.source.postMessage(text, event.origin));
});
