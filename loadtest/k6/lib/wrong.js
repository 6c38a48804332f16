// What can be wrong with an answer, by the kinds that it is counted by, which are those of `symbolon loadtest`. k6 tells
// counts by kind only where a threshold names the kind.

export const WRONG_KINDS = [
  ...["status", "status_400", "status_401", "status_403", "status_429", "status_503", "status_5xx", "body"],
  ...["token_type", "access_token", "iss", "sub", "client_id", "aud", "scope", "act", "exp", "nonce"],
  ...["id_token", "id_token_iss", "id_token_sub", "id_token_aud", "extra_token", "issued_token_type"],
  ...["refresh_token", "not_rotated", "email_verified", "inactive", "resource", "verdict"],
  ...["expired-accepted", "signature-accepted", "revoked-accepted", "audience-accepted", "client-accepted"],
  ...["location", "state", "code", "error", "login_required", "consent_required", "interaction_required"],
  ...["keys", "private_key", "kid", "jwks_uri", "page", "login_refused", "no_login", "circle"],
  // A mistake in a script must not pass for an answer that is right.
  "script",
];
export const FAILURE_KINDS = ["connect", "connect_timeout", "timeout", "io", "tls", "http2", "other"];

// An answer that says something else than it must. The detail is never a secret.
export class Wrong {
  constructor(kind, detail) {
    this.kind = WRONG_KINDS.includes(kind) ? kind : "script";
    this.detail = detail;
  }
}

// A request without an answer.
export class Failed {
  constructor(response) {
    this.kind = failureKind(response.error_code);
    this.detail = response.error;
  }
}

// https://grafana.com/docs/k6/latest/javascript-api/error-codes/
function failureKind(code) {
  if (code === 1050) return "timeout";
  if (code === 1211) return "connect_timeout";
  if ((code >= 1100 && code < 1200) || (code >= 1210 && code < 1220)) return "connect";
  if (code >= 1200 && code < 1300) return "io";
  if (code >= 1300 && code < 1400) return "tls";
  if (code >= 1600 && code < 1700) return "http2";
  return "other";
}
