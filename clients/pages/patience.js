// How long something is waited for before it counts as missing: long, because the machine may be slow, and busy with other suites.
export const WAIT = 60_000;
const STEP = 50;

/** Waits until something is there that tells nobody when it comes, and answers with it. */
export async function eventually(what, look) {
  const end = performance.now() + WAIT;
  while (performance.now() < end) {
    const found = await look();
    if (found) return found;
    await new Promise((ready) => setTimeout(ready, STEP));
  }
  throw new Error(`in vain: ${what}`);
}
