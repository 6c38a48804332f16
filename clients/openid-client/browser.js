// A browser without a screen: keeps cookies, follows the provider's redirects, fills in its forms.
import { readFileSync } from "node:fs";

export const fixtures = JSON.parse(readFileSync(process.env.SYMBOLON_FIXTURES, "utf8"));

const ENTITIES = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&#39;": "'" };

function unescape(text) {
  return text
    .replace(/&(?:amp|lt|gt|quot|#x27|#39);/g, (entity) => ENTITIES[entity])
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
}

function attribute(tag, name) {
  const found = tag.match(new RegExp(`\\s${name}="([^"]*)"`));
  return found ? unescape(found[1]) : undefined;
}

/** The form with this id: where it goes, and the fields that are filled in already. */
export function form(html, id) {
  for (const [, tag, inside] of html.matchAll(/(<form\b[^>]*>)([\s\S]*?)<\/form>/g)) {
    if (attribute(tag, "id") !== id) continue;
    const fields = new URLSearchParams();
    for (const [input] of inside.matchAll(/<input\b[^>]*>/g)) {
      if (attribute(input, "name")) fields.append(attribute(input, "name"), attribute(input, "value") ?? "");
    }
    return { action: attribute(tag, "action"), fields };
  }
  return undefined;
}

export class Browser {
  #cookies = new Map();

  /** Sends one request and answers with the response, redirects not followed. */
  async send(url, { method = "GET", fields } = {}) {
    const headers = { accept: "text/html,application/xhtml+xml" };
    if (this.#cookies.size) headers.cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    // What a browser says about where a form comes from.
    if (method === "POST") headers.origin = fixtures.base_url;
    const response = await fetch(url, { method, headers, body: fields, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  #keep(line) {
    const [pair, ...attributes] = line.split(";");
    const at = pair.indexOf("=");
    const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    const gone = attributes.some((each) => /^\s*max-age=(0|-\d+)\s*$/i.test(each));
    if (gone || value === "") this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }

  get cookies() {
    return new Map(this.#cookies);
  }

  /**
   * Goes to a URL of the provider and does what its pages ask for, until it leads away from the provider or shows a
   * page with nothing to fill in. Answers with `{ url }`, `{ post: { action, fields } }` or `{ page, status }`.
   */
  async visit(url, { user = fixtures.user, decision = "allow", pages = [] } = {}) {
    let request = { url: String(url) };
    for (let steps = 0; steps < 12; steps += 1) {
      const response = await this.send(request.url, request);
      const location = response.headers.get("location");
      if (location) {
        const next = new URL(location, request.url);
        if (next.origin !== new URL(fixtures.base_url).origin) return { url: next };
        request = { url: next.href };
        continue;
      }
      const page = await response.text();
      const post = form(page, "form-post");
      if (post) return { post };
      const filled = this.#fill(page, user, decision, pages);
      if (!filled) return { page, status: response.status };
      request = { url: new URL(filled.action, request.url).href, method: "POST", fields: filled.fields };
    }
    throw new Error(`the provider led in circles, last to ${request.url}`);
  }

  #fill(page, user, decision, pages) {
    const login = form(page, "login");
    if (login) {
      if (pages.includes("login")) throw new Error("the login page came twice");
      pages.push("login");
      login.fields.set("username", user.email);
      login.fields.set("password", user.password);
      return login;
    }
    const consent = form(page, "consent");
    if (consent) {
      pages.push("consent");
      consent.fields.set("decision", decision);
      return consent;
    }
    const logout = form(page, "logout");
    if (logout) {
      pages.push("logout");
      logout.fields.set("decision", "confirm");
      return logout;
    }
    return undefined;
  }
}
