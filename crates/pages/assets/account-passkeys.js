// Tells the browser which passkeys the account still has, so that it stops offering the others (WebAuthn Level 3,
// 5.1.10.3).
const list = document.getElementById("passkeys");
const { PublicKeyCredential } = globalThis;
if (list && PublicKeyCredential?.signalAllAcceptedCredentials) {
  const { rpId, userId, credentials } = list.dataset;
  const allAcceptedCredentialIds = credentials ? credentials.split(" ") : [];
  // A browser that cannot do it for this account changes nothing.
  PublicKeyCredential.signalAllAcceptedCredentials({ rpId, userId, allAcceptedCredentialIds }).catch(() => {});
}
