// Requests. They follow no redirect and keep no cookies: a scenario says what it sends.

import encoding from "k6/encoding";
import http from "k6/http";

import { client, cookie } from "./seed.js";
import { Failed } from "./wrong.js";

const TIMEOUT = "30s";
// RFC 6749 2.3.1: both are encoded as in a form before they are put together.
const BASIC = `Basic ${encoding.b64encode(`${encodeURIComponent(client.id)}:${encodeURIComponent(client.secret)}`)}`;

// How long the answers of this iteration took, in ms.
let spent = 0;
export const timer = {
  reset: () => {
    spent = 0;
  },
  spent: () => spent,
};

function answered(response) {
  if (response.status === 0) throw new Failed(response);
  spent += response.timings.duration;
  return response;
}

// `fields` are header fields, `body` whether somebody reads it.
export function get(url, fields, body = true) {
  const jar = new http.CookieJar();
  const responseType = body ? "text" : "none";
  return answered(http.get(url, { headers: fields, jar, redirects: 0, timeout: TIMEOUT, responseType }));
}

// A form.
export function post(url, form, fields) {
  const jar = new http.CookieJar();
  return answered(
    http.post(url, form, { headers: fields, jar, redirects: 0, timeout: TIMEOUT, responseType: "text" }),
  );
}

// A form with the client's credentials.
export function postAsClient(url, form) {
  return post(url, form, { Authorization: BASIC });
}

// A query or a form.
export function encoded(parameters) {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.join("&");
}

// The session cookie as it was given out.
export function session(id) {
  return { Cookie: `${cookie}=${id}` };
}
