// A device with a fingerprint reader, by the protocol of Chromium's developer tools (WebAuthn Level 3, 11).

/** Gives a page a device of its own. `isSynced`: its passkeys are kept elsewhere, too. */
export async function withFingerprint(context, page, { isSynced = false } = {}) {
  const tools = await context.newCDPSession(page);
  await tools.send("WebAuthn.enable");
  const options = {
    protocol: "ctap2",
    transport: "internal",
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
    defaultBackupEligibility: isSynced,
    defaultBackupState: isSynced,
  };
  const { authenticatorId } = await tools.send("WebAuthn.addVirtualAuthenticator", { options });
  const send = (method, more) => tools.send(`WebAuthn.${method}`, { authenticatorId, ...more });
  return {
    /** The passkeys that it has. */
    credentials: async () => (await send("getCredentials")).credentials,
    /** Whether somebody touches it whenever it asks. */
    presence: (enabled) => send("setAutomaticPresenceSimulation", { enabled }),
    /** From now on it does not know the finger. */
    refuse: () => send("setUserVerified", { isUserVerified: false }),
    /** Takes it out. */
    remove: () => send("removeVirtualAuthenticator"),
  };
}
