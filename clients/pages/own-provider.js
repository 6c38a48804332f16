// What the tests of a file share that need a provider of their own: it, a browser, and an application.
import { NAMED, serve, set } from "./application.js";
import { startProvider } from "./provider.js";
import { launch } from "./visitor.js";

/**
 * Starts all of it, and answers with how it is stopped. `settings`: those of the issuer, beside its name; `takes`: as long as the application
 * takes; the rest is told to the provider's start. A file awaits it in its only `before`: node starts each such hook of a file at once, and
 * does not wait for the one before it, so that a second one would find no provider.
 */
export async function start({ settings = {}, takes, ...more } = {}) {
  let browser;
  let provider;
  let site;
  const stop = async () => {
    await browser?.close();
    site?.close();
    await provider?.stop();
  };
  try {
    browser = await launch();
    provider = await startProvider(more);
    site = await serve(provider, { takes });
    await set({ branding: NAMED, ...settings }, provider);
  } catch (error) {
    // Whatever still ran would keep the process of the tests from ending.
    await stop();
    throw error;
  }
  return { browser, provider, site, stop };
}
