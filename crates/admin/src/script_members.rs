//! Members that the load scripts of the reference system send, or that its settings have, and that have no effect here.
//!
//! Scripts for it are used unchanged, so these members are accepted. They describe how that system works inside; none of them
//! would have a meaning in this one, so nobody can rely on an effect that is missing
//! (`docs/decisions/036-unknown-members-are-refused.md`).

/// `POST /users`: the kind of account in the reference system, such as `end_user`.
pub(super) const USER: [&str; 1] = ["user_type"];

/// `idJag` of `PUT /settings/token-exchange`, unless `enabled` is true: without it these say nothing. Where it is on, clients' metadata
/// say for whom and for how long, so there they are refused.
pub(super) const ID_JAG: [&str; 4] =
    ["allowedIssuers", "maxTokenLifetime", "includeTenantClaim", "requireConfidentialClient"];

/// `PUT /settings/refresh-token-sharding`: a remark, and the order not to wait until all places know the new number, which
/// the store does not need: old tokens are found by the generation that they name.
pub(super) const REFRESH_TOKEN_SHARDING: [&str; 2] = ["notes", "skip_sync_check"];
