//! Maps the errors of the database to those of the port.

use symbolon_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// The port's error for one of the database's.
pub(crate) fn of_database(error: &Error) -> StoreError {
    let Some(refusal) = error.as_db_error() else {
        // The connection broke, or could not be made.
        return StoreError::Unavailable(format!("PostgreSQL: {}", cause(error)));
    };
    let code = refusal.code();
    let text = || format!("PostgreSQL: {} ({})", refusal.message(), code.code());
    // 40001 (serialization failure) and 40P01 (deadlock): a conflict with another transaction.
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        return StoreError::Conflict;
    }
    // 08 connection, 25006 read-only, 53 out of resources, 55P03 lock, 57 intervention, 28 and 3D while a server is
    // being set up: the same request may work later.
    let passing = ["08", "53", "57", "28", "3D"];
    if passing.iter().any(|class| code.code().starts_with(class))
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
        || *code == SqlState::LOCK_NOT_AVAILABLE
    {
        return StoreError::Unavailable(text());
    }
    StoreError::Failed(text())
}

/// The text of an error and of its causes.
pub(super) fn cause(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
