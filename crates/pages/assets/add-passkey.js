// Makes a passkey by the options in the form, and sends it with the form (WebAuthn Level 3, 5.1.3).
const form = document.getElementById("add-passkey");
const button = document.getElementById("add");

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

function optionsOf(json) {
  const excludeCredentials = json.excludeCredentials.map((known) => ({ ...known, id: bytes(known.id) }));
  return { ...json, challenge: bytes(json.challenge), user: { ...json.user, id: bytes(json.user.id) }, excludeCredentials };
}

// Some password managers answer with an object that has no `toJSON`.
function jsonOf({ id, rawId, type, response }) {
  const { clientDataJSON, attestationObject } = response;
  const members = { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject) };
  return { id, rawId: text(rawId), type, response: members };
}

function tell(id) {
  for (const known of ["passkey-failed", "passkey-exists"]) document.getElementById(known).hidden = known !== id;
}

async function add() {
  const publicKey = optionsOf(JSON.parse(form.dataset.options));
  try {
    const credential = await navigator.credentials.create({ publicKey });
    form.elements.credential.value = JSON.stringify(jsonOf(credential));
    form.submit();
  } catch (error) {
    tell(error.name === "InvalidStateError" ? "passkey-exists" : "passkey-failed");
    button.disabled = false;
  }
}

if (globalThis.PublicKeyCredential && navigator.credentials?.create) {
  document.getElementById("passkey-unsupported").hidden = true;
  button.disabled = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    tell();
    add();
  });
  // Back, from the browser's cache: the challenge was answered.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}
