//! Pages of listings: `page` and `limit` in, `pagination` out.

use serde_json::{Value, json};
use symbolon_store::port::{Page, PageRequest};

use crate::call::Call;
use crate::error::AdminError;

/// Entries per page by default.
const DEFAULT_LIMIT: u32 = 20;
/// The most entries per page; a higher `limit` is reduced to this.
const MAX_LIMIT: u32 = 100;
/// The highest page number.
const MAX_PAGE: u32 = 10_000_000;
/// The longest `search` text, in bytes.
const MAX_SEARCH: usize = 256;

/// Reads `page`, `limit` and `search`.
///
/// # Errors
/// 400 that names the parameter.
pub(super) fn requested(call: &Call) -> Result<PageRequest, AdminError> {
    let page = number(call, "page")?.unwrap_or(1);
    let limit = limit(call)?;
    let search = call.query::<String>("search")?;
    if page > MAX_PAGE {
        return Err(AdminError::invalid("page is beyond what there can be"));
    }
    if search.as_ref().is_some_and(|text| text.len() > MAX_SEARCH) {
        return Err(AdminError::invalid("search must be at most 256 bytes"));
    }
    Ok(PageRequest { page, limit, search })
}

/// Reads `limit`.
///
/// # Errors
/// 400 that names the parameter.
pub(super) fn limit(call: &Call) -> Result<u32, AdminError> {
    Ok(number(call, "limit")?.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT))
}

fn number(call: &Call, name: &str) -> Result<Option<u32>, AdminError> {
    match call.query::<u32>(name)? {
        Some(0) => Err(AdminError::invalid(format!("{name} counts from 1"))),
        given => Ok(given),
    }
}

/// The page of a listing that has this one record, or none.
pub(super) fn only<T>(record: Option<T>, request: &PageRequest) -> Page<T> {
    let total = u64::from(record.is_some());
    Page { items: record.into_iter().filter(|_| request.page == 1).collect(), total }
}

/// The `pagination` member of an answer.
pub(super) fn pagination(request: &PageRequest, total: u64) -> Value {
    let limit = u64::from(request.limit.max(1));
    let pages = total.div_ceil(limit);
    json!({
        "page": request.page,
        "limit": request.limit,
        "total": total,
        "totalPages": pages,
        "hasNext": u64::from(request.page) < pages,
        "hasPrev": request.page > 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(page: u32, limit: u32, total: u64) -> Value {
        pagination(&PageRequest { page, limit, search: None }, total)
    }

    #[test]
    fn pages_are_counted_up() {
        let first = page(1, 20, 41);
        assert_eq!(
            (&first["totalPages"], &first["hasNext"], &first["hasPrev"]),
            (&json!(3), &json!(true), &json!(false))
        );
        let last = page(3, 20, 41);
        assert_eq!((&last["hasNext"], &last["hasPrev"]), (&json!(false), &json!(true)));
        assert_eq!(page(1, 20, 0)["totalPages"], 0);
        assert_eq!(page(1, 20, 0)["hasNext"], false);
    }

    #[test]
    fn one_record_is_on_the_first_page() {
        let on = |page| only(Some(7), &PageRequest { page, limit: 20, search: None });
        assert_eq!(on(1), Page { items: vec![7], total: 1 });
        assert_eq!(on(2), Page { items: vec![], total: 1 });
        assert_eq!(only::<u8>(None, &PageRequest { page: 1, limit: 20, search: None }).total, 0);
    }
}
