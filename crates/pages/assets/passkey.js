// Passkeys (WebAuthn Level 3) on the pages. A page brings what to ask of the browser in data attributes of one form, and the
// answer goes back in that form's field, so that it leads on as any other form does. Without WebAuthn the form stays hidden.
const form = document.getElementById("passkey");

const toBytes = (text) =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const toText = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
const withIds = (list) => (list ?? []).map((one) => ({ ...one, id: toBytes(one.id) }));

const toJson = ({ id, rawId, type, response }) => {
  const parts = ["clientDataJSON", "authenticatorData", "signature", "userHandle", "attestationObject"];
  const answered = parts.filter((part) => response[part]).map((part) => [part, toText(response[part])]);
  return JSON.stringify({ id, rawId: toText(rawId), type, response: Object.fromEntries(answered) });
};

let waiting = null;

async function ask(how) {
  waiting?.abort();
  waiting = new AbortController();
  const options = JSON.parse(form.dataset.options);
  const publicKey = { ...options, challenge: toBytes(options.challenge) };
  let made;
  if (form.dataset.kind === "create") {
    publicKey.user = { ...options.user, id: toBytes(options.user.id) };
    publicKey.excludeCredentials = withIds(options.excludeCredentials);
    made = await navigator.credentials.create({ publicKey, signal: waiting.signal });
  } else {
    publicKey.allowCredentials = withIds(options.allowCredentials);
    made = await navigator.credentials.get({ publicKey, signal: waiting.signal, ...how });
  }
  if (!made) return;
  form.elements.credential.value = toJson(made);
  form.requestSubmit();
}

// The person closed the browser's window, or the time is over: the page stays as it is.
const quietly = (how) => ask(how).catch(() => {});

async function begin() {
  form.hidden = false;
  form.querySelector("button").addEventListener("click", (event) => {
    event.preventDefault();
    quietly({});
  });
  // A passkey that no account has any more: the browser need not offer it again.
  if (form.dataset.unknown) {
    const { rpId } = JSON.parse(form.dataset.options);
    PublicKeyCredential.signalUnknownCredential?.({ rpId, credentialId: form.dataset.unknown })?.catch(() => {});
  }
  const autofills = document.querySelector("input[autocomplete~=webauthn]");
  if (autofills && (await PublicKeyCredential.isConditionalMediationAvailable?.())) {
    quietly({ mediation: "conditional" });
  }
}

// Tells the server that this browser could create a passkey, so that it is offered after a password only where it can.
async function tell() {
  const field = document.querySelector("input[name=creates_passkeys]");
  if (field && (await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable?.())) field.value = "true";
}

if (window.PublicKeyCredential) {
  tell().catch(() => {});
  if (form) begin();
}
