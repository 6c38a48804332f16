//! Copies all records from one store to another.

use symbolon_protocol::time::Timestamp;

use super::{Class, Export, Import, Record};
use crate::StoreError;

/// Puts every record of `source` into `target`, each as `change` returns it, except those that ended at `ended` or
/// before. After each piece, `progress` is called with the number of records of its class so far.
///
/// # Errors
/// [`StoreError`], also of `change`. The target is then incomplete.
pub async fn copy(
    source: &dyn Export,
    target: &dyn Import,
    ended: Timestamp,
    change: &(dyn Fn(Record) -> Result<Record, StoreError> + Send + Sync),
    progress: &mut (dyn FnMut(Class, u64) + Send),
) -> Result<(), StoreError> {
    let mut records = source.records(ended).await?;
    let mut so_far: Option<(Class, u64)> = None;
    while let Some(some) = records.next().await? {
        let Some(class) = some.first().map(Record::class) else { continue };
        let before = so_far.filter(|(last, _)| *last == class).map_or(0, |(_, count)| count);
        let count = before + some.len() as u64;
        target.put(some.into_iter().map(change).collect::<Result<_, _>>()?).await?;
        so_far = Some((class, count));
        progress(class, count);
    }
    Ok(())
}
