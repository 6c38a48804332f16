// What the tests of a file have in common that need a provider of their own: it, a browser, and an application.
import { after, before } from "node:test";
import { NAMED, serve, set } from "./application.js";
import { startProvider } from "./provider.js";
import { launch } from "./visitor.js";

// There before the first test of the file, which is a process of its own.
export let browser;
export let provider;
export let site;

/** Where its visits take place. */
export const scene = { browser: () => browser, provider: () => provider };

/** Starts all of it before the tests, with `settings` of the issuer, and stops it after them. The rest is told to the provider's start. */
export function withOwnProvider({ settings = {}, ...start } = {}) {
  before(async () => {
    [browser, provider] = [await launch(), await startProvider(start)];
    site = await serve(provider);
    await set({ branding: NAMED, ...settings }, provider);
  });
  after(async () => {
    await browser?.close();
    site?.close();
    await provider?.stop();
  });
}
